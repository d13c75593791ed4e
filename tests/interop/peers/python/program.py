"""The program around the checks, the same for all Python SDKs.

Output: one line `ok N - name` or `not ok N - name: why` for each check, then the plan `1..N`; the exit code is 0 only if
all are ok.
"""

from __future__ import annotations

import sys

import anyio
import exchanges
import handshake
import offers
import tools
from check import Check
from peer import DEADLINE_S, Connect, Inbox, Peer, RpcError

CHECKS: dict[str, Check] = handshake.check.checks | tools.check.checks | offers.check.checks | exchanges.check.checks


def reason(error: BaseException) -> str:
    """One line that says what went wrong; the first of a group that says more than that it is a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    said = str(error) if isinstance(error, AssertionError | RpcError) else f"{type(error).__name__}: {error}"
    return " ".join(said.split())[:500]


class Report:
    """Prints a line for each check and counts the failures."""

    def __init__(self) -> None:
        self.done = 0
        self.failed = 0

    def line(self, name: str, error: BaseException | None) -> None:
        self.done += 1
        self.failed += error is not None
        why = f": {reason(error)}" if error else ""
        print(f"{'not ok' if error else 'ok'} {self.done} - {name}{why}", flush=True)


async def run_checks(peer: Peer, report: Report) -> None:
    with anyio.fail_after(DEADLINE_S):
        initialized = await peer.initialize()
    for name, function in CHECKS.items():
        try:
            with anyio.fail_after(2 * DEADLINE_S):
                await function(peer, initialized)
        except Exception as error:  # noqa: BLE001  whatever it is, the check has failed
            report.line(name, error)
        else:
            report.line(name, None)


def main(connect: Connect) -> None:
    """The program: `client.py -- SERVER_COMMAND…`."""
    argv = sys.argv[1:]
    argv = argv[1:] if argv[:1] == ["--"] else argv
    if not argv:
        sys.exit("usage: client.py -- SERVER_COMMAND [ARGUMENT…]")
    report = Report()

    async def session() -> None:
        await connect(argv, Inbox(), lambda peer: run_checks(peer, report))

    failure: Exception | None = None
    try:
        anyio.run(session)
    except Exception as error:  # noqa: BLE001  whatever it is, the session has failed
        failure = error
    # A session that broke off leaves the rest undone: each of those checks failed.
    for name in list(CHECKS)[report.done :]:
        report.line(name, failure or AssertionError("not run"))
    report.line("session.close", failure)
    print(f"1..{report.done}")
    sys.exit(1 if report.failed else 0)
