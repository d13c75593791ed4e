"""The command line."""

import argparse
import sys
from pathlib import Path

from . import all_peers, build, rust, side_by_side
from .measure import Peer
from .report import read, report
from .sdks import sdks

TARGET = build.BENCH / "target"


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="run.py", description="Benchmarks; README.md says what the figures mean."
    )
    commands = top.add_subparsers(dest="command", required=True)

    one = commands.add_parser(
        "rust",
        help="ours beside rmcp and the minimal programs, on one CPU, with the goals",
    )
    one.add_argument(
        "--quick",
        action="store_true",
        help="about a minute in place of four to five; wider spreads",
    )
    one.add_argument(
        "--ours-server",
        metavar="CMD",
        help="command line of our server (default: built from ours/)",
    )
    one.add_argument(
        "--ours-client",
        metavar="CMD",
        help="command line of our client (default: built from ours/)",
    )
    one.add_argument(
        "--without-ours",
        action="store_true",
        help="measure only what ours is compared with",
    )
    one.add_argument(
        "--cpu",
        type=int,
        default=rust.last_cpu(),
        help="the CPU to run on (default: the last one)",
    )
    one.add_argument(
        "--out",
        type=Path,
        default=TARGET / "rust",
        help="folder for results.jsonl and table.md",
    )

    many = commands.add_parser("peers", help="all existing SDKs")
    many.add_argument(
        "--out",
        type=Path,
        default=TARGET / "peers.jsonl",
        help="file to append the results to",
    )
    many.add_argument(
        "--suite", default=",".join(all_peers.SUITES), help="some of: %(default)s"
    )
    many.add_argument("--only", default="", metavar="A,B", help="only these programs")
    many.add_argument("--skip", default="", metavar="A,B", help="not these programs")
    many.add_argument(
        "--add",
        action="append",
        default=[],
        metavar="NAME=KIND:CMD",
        help="one more; KIND: stdio, client, sse ({port} in CMD)",
    )
    many.add_argument(
        "--rounds",
        type=int,
        default=3,
        help="undisturbed runs wanted of each test (default: 3)",
    )
    many.add_argument(
        "--minutes", type=float, default=60, help="the end in any case (default: 60)"
    )

    told = commands.add_parser("report", help="tables of recorded results")
    told.add_argument("files", nargs="+", type=Path)
    told.add_argument(
        "--rounds",
        type=int,
        default=3,
        help="runs to go by where too few are undisturbed (default: 3)",
    )

    ready = commands.add_parser("setup", help="install and build what peers needs")
    for command in (many, ready):
        command.add_argument(
            "--env",
            type=Path,
            default=TARGET / "peers",
            help="folder for the SDKs of Python and Node",
        )
    return top


def main() -> int:
    args = parser().parse_args()
    try:
        if args.command == "rust":
            return rust_command(args)
        if args.command == "peers":
            return peers_command(args)
        if args.command == "setup":
            sdks(build.driver(), args.env.resolve())
        if args.command == "report":
            print(report(read(args.files), args.rounds), end="")
        return 0
    except build.BuildError as fault:
        print(f"run.py: {fault}", file=sys.stderr)
        return 2


def rust_command(args: argparse.Namespace) -> int:
    server, client = (
        (None, None)
        if args.without_ours
        else rust.ours(args.ours_server, args.ours_client)
    )
    driver, plan = build.driver(), rust.QUICK if args.quick else rust.FULL
    peers = rust.programs(driver, server, client)
    rows, faults = rust.measure(
        driver, peers, plan, args.cpu, args.out / "results.jsonl"
    )
    page = side_by_side.page(rows, args.cpu, plan.passes, plan.grow)
    (args.out / "table.md").write_text(page)
    print(page, end="")
    for fault in faults:
        print(f"FAILED: {fault}")
    build.say(f"written: {args.out}/results.jsonl, {args.out}/table.md")
    return 1 if faults else 0


def peers_command(args: argparse.Namespace) -> int:
    driver = build.driver()
    peers = [*sdks(driver, args.env.resolve()), *(added(text) for text in args.add)]
    only, skip = (
        {name for name in text.split(",") if name} for text in (args.only, args.skip)
    )
    unknown = (only | skip) - {peer.name for peer in peers}
    if unknown:
        raise build.BuildError(
            f"there is no program named {', '.join(sorted(unknown))}; there are {', '.join(dict.fromkeys(p.name for p in peers))}"
        )
    suites = args.suite.split(",")
    if not set(suites) <= set(all_peers.SUITES):
        raise build.BuildError(
            f"--suite {args.suite}: the suites are {', '.join(all_peers.SUITES)}"
        )
    chosen = [
        peer
        for peer in peers
        if (not only or peer.name in only) and peer.name not in skip
    ]
    all_peers.measure(driver, chosen, suites, args.rounds, args.minutes, args.out)
    print(report(read([args.out]), args.rounds), end="")
    return 0


def added(text: str) -> Peer:
    name, _, rest = text.partition("=")
    kind, _, command = rest.partition(":")
    if kind not in ("stdio", "client", "sse") or not command:
        raise build.BuildError(
            f"--add {text}: NAME=KIND:CMD is needed, with the KIND stdio, client or sse"
        )
    return Peer(name, kind, command)
