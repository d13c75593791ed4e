"""Builds the Rust programs and installs the SDKs of other languages, from their registries, in pinned versions."""

import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
PYTHON_PEERS = ("mcp2", "mcp1", "fastmcp")
NODE_PEERS = ("ts1", "ts2")


class BuildError(Exception):
    """Something needed could not be built; the text says what and why."""


def say(text: str) -> None:
    """Tells the person who waits what is going on; stdout is for results."""
    print(text, file=sys.stderr, flush=True)


def tool(name: str) -> str:
    found = shutil.which(name)
    if not found:
        raise BuildError(f"{name} is needed and is not on PATH")
    return found


def run(command: list[str], cwd: Path | None = None) -> str:
    """The stdout of a command; its stderr is passed on."""
    done = subprocess.run(
        command, cwd=cwd, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise BuildError(
            f"exit status {done.returncode}: {' '.join(command)}\n{done.stdout}"
        )
    return done.stdout


def cargo(crate: Path, profile: str = "release") -> dict[str, str]:
    """Builds a crate; its executables by name. Where they are is cargo's to say: target folders can be moved."""
    if not (crate / "Cargo.toml").is_file():
        raise BuildError(f"there is no crate in {crate}")
    say(f"cargo build --profile {profile}: {crate.name}")
    command = [
        tool("cargo"),
        "build",
        "--profile",
        profile,
        "--message-format=json-render-diagnostics",
    ]
    executables = {}
    for line in run(command, crate).splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message.get("executable"):
            executables[message["target"]["name"]] = message["executable"]
    return executables


def driver() -> str:
    return cargo(BENCH / "driver")["driver"]


def install_python(env: Path) -> dict[str, str]:
    """A virtual environment for each Python peer; the interpreter of each by name."""
    interpreters = {}
    for name in PYTHON_PEERS:
        folder, wanted = env / name, BENCH / "python" / f"requirements-{name}.txt"
        interpreters[name] = str(folder / "bin" / "python")
        if up_to_date(folder, wanted):
            continue
        say(f"pip install: {wanted.name}")
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        run(
            [
                interpreters[name],
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "-r",
                str(wanted),
            ]
        )
        remember(folder, wanted)
    return interpreters


def install_node(env: Path) -> dict[str, Path]:
    """A folder of packages for each Node peer, with the programs copied in: ES modules look for packages beside
    themselves. The folder of each by name."""
    folders = {}
    for name in NODE_PEERS:
        folder, wanted = env / name, BENCH / "node" / name / "package.json"
        folders[name] = folder
        if not up_to_date(folder, wanted):
            say(f"npm install: {name}")
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            shutil.copy(wanted, folder)
            run(
                [
                    tool("npm"),
                    "install",
                    "--no-audit",
                    "--no-fund",
                    "--no-package-lock",
                    "--silent",
                ],
                folder,
            )
            remember(folder, wanted)
        for program in (BENCH / "node").glob("*.mjs"):
            shutil.copy(program, folder)
    return folders


def up_to_date(folder: Path, wanted: Path) -> bool:
    stamp = folder / "installed-from"
    return stamp.is_file() and stamp.read_text() == wanted.read_text()


def remember(folder: Path, wanted: Path) -> None:
    """Written last, so that an installation that was cut off is done again."""
    (folder / "installed-from").write_text(wanted.read_text())
