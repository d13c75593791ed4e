"""The commands of all existing SDKs that are measured, and of the minimal programs in their languages."""

from collections.abc import Iterator
from pathlib import Path

from . import build
from .measure import Peer

VARIANTS = ("-quiet", "-1thread", "-lowlevel", "-batch")
"""Endings of programs that are measured for calls on one CPU only."""


def is_variant(peer: Peer) -> bool:
    return peer.name.endswith(VARIANTS)


def sdks(driver: str, env: Path) -> list[Peer]:
    """Builds and installs all of them below `env` where that is not done yet."""
    python, node = build.install_python(env), build.install_node(env)
    return [*rust(driver), *python_peers(python), *node_peers(node)]


def rust(driver: str) -> Iterator[Peer]:
    rmcp = build.cargo(build.BENCH / "rust-rmcp")
    rmcp_sse = build.cargo(build.BENCH / "rust-rmcp-sse")
    yield Peer("floor-rust", "stdio", f"'{driver}' serve-floor")
    yield Peer("floor-rust-batch", "stdio", f"'{driver}' serve-floor --batch")
    yield Peer("floor-rust", "client", f"'{driver}' client-floor")
    yield Peer("floor-rust", "sse", f"'{driver}' serve-sse-floor --port {{port}}")
    for name, env in (("rmcp", ()), ("rmcp-1thread", ("BENCH_RT=current",))):
        yield Peer(name, "stdio", f"'{rmcp['rmcp-server']}'", env)
        yield Peer(name, "client", f"'{rmcp['rmcp-client']}'", env)
    yield Peer("rmcp-0.10", "sse", f"'{rmcp_sse['rmcp-sse-server']}' {{port}}")


def python_peers(interpreters: dict[str, str]) -> Iterator[Peer]:
    def command(interpreter: str, program: str) -> str:
        return f"'{interpreters[interpreter]}' '{build.BENCH / 'python' / program}'"

    yield Peer("floor-python", "stdio", command("mcp2", "floor_server.py"))
    yield Peer(
        "floor-python-batch", "stdio", command("mcp2", "floor_server.py") + " --batch"
    )
    yield Peer("floor-python", "client", command("mcp2", "floor_client.py"))
    yield Peer("mcp2-lowlevel", "stdio", command("mcp2", "server_mcp2_low.py"))
    for name in build.PYTHON_PEERS:
        server = command(name, f"server_{name}.py")
        yield Peer(name, "client", command(name, f"client_{name}.py"))
        # At their default level, INFO, these write lines to stderr for each request.
        for suffix, env in (("", ()), ("-quiet", ("BENCH_LOG=WARNING",))):
            yield Peer(name + suffix, "stdio", server, env)
            if name != "fastmcp" or not suffix:
                yield Peer(name + suffix, "sse", server + " {port}", env)


def node_peers(folders: dict[str, Path]) -> Iterator[Peer]:
    def command(folder: str, program: str) -> str:
        return f"'{build.tool('node')}' '{folders[folder] / program}'"

    yield Peer("floor-node", "stdio", command("ts1", "floor_server.mjs"))
    yield Peer(
        "floor-node-batch", "stdio", command("ts1", "floor_server.mjs") + " --batch"
    )
    yield Peer("floor-node", "client", command("ts1", "floor_client.mjs"))
    for name in build.NODE_PEERS:
        yield Peer(name, "stdio", command(name, f"server_{name}.mjs"))
        yield Peer(name, "sse", command(name, f"server_{name}.mjs") + " {port}")
        yield Peer(name, "client", command(name, f"client_{name}.mjs"))
