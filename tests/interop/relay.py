#!/usr/bin/env python3
"""Stands between a client and a server on stdio: relay.py [--offer REVISION] [--capture FILE] -- SERVER…

--offer    The clients of this folder offer the newest revision they know, as clients in the field do. A server that
           knows more than 2024-11-05 would accept it; with this option `initialize` asks for REVISION instead.
--capture  Appends every message of both directions to FILE, as JSON lines for tests/checks/schema_traffic.py, with
           the server as the side under test. --session names the connection in it.

All else passes unchanged. The exit code is the server's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
from typing import IO, Any, TextIO

REVISION = "2024-11-05"


class Capture:
    """Writes what passes; without a file it does nothing."""

    def __init__(self, path: str | None, session: str) -> None:
        self._file: TextIO | None = open(path, "a", encoding="utf-8") if path else None  # noqa: SIM115  until the end
        self._session = session
        self._lock = threading.Lock()

    def line(self, side: str, line: bytes) -> None:
        if self._file is None:
            return
        entry: dict[str, Any] = {"from": side, "under_test": side == "server", "revision": REVISION}
        entry["session"] = self._session
        text = line.decode("utf-8", "replace").rstrip("\n")
        try:
            entry["message"] = json.loads(text)
        except ValueError:
            entry["text"] = text  # no message: the schema check reports it
        with self._lock:
            self._file.write(json.dumps(entry, ensure_ascii=False) + "\n")
            self._file.flush()


def offering(revision: str | None, line: bytes) -> bytes:
    """The line; if it is `initialize` and a revision is given, with that revision."""
    if revision is None or b'"initialize"' not in line:
        return line
    message = json.loads(line)
    if message.get("method") != "initialize":
        return line
    message["params"]["protocolVersion"] = revision
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"


def to_server(pipe: IO[bytes], revision: str | None, capture: Capture) -> None:
    try:
        for received in sys.stdin.buffer:
            line = offering(revision, received)
            capture.line("client", line)
            pipe.write(line)
            pipe.flush()
    except BrokenPipeError:
        return  # the server has gone; its exit code tells how
    finally:
        try:
            pipe.close()
        except BrokenPipeError:
            pass


def main() -> int:
    parser = argparse.ArgumentParser(description="passes MCP messages on between a client and a server on stdio")
    parser.add_argument("--offer", metavar="REVISION")
    parser.add_argument("--capture", metavar="FILE")
    parser.add_argument("--session", default="relay", metavar="NAME")
    parser.add_argument("server", nargs="+", metavar="SERVER")
    options = parser.parse_args()
    capture = Capture(options.capture, options.session)
    server = subprocess.Popen(options.server, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None and server.stdout is not None
    threading.Thread(target=to_server, args=(server.stdin, options.offer, capture), daemon=True).start()
    try:
        for line in server.stdout:
            capture.line("server", line)
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
    except BrokenPipeError:
        pass  # the client has gone; the end of its stdin ends the server
    return server.wait()


if __name__ == "__main__":
    # Not sys.exit: the thread may still wait for the client's next line, and nothing is left to be done.
    os._exit(main())
