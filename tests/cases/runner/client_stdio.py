"""Drives an SDK client over stdio."""
import asyncio
import base64
import json
import os
import sys
import tempfile
from typing import Any

from .client import Client
from .wire import Json, Message

RELAY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "relay.py")


class StdioClient(Client):
    """The client starts relay.py as its server; the relay connects back over a Unix socket."""

    def __init__(self, case: dict[str, Any], options: dict[str, Any]) -> None:
        super().__init__(case, options)
        self.relay: asyncio.StreamWriter | None = None
        self.relay_pid: int | None = None

    async def listen(self) -> None:
        self.buffer = b""
        self.folder = tempfile.TemporaryDirectory(prefix="fc-")
        self.path = os.path.join(self.folder.name, "s")
        self.listener = await asyncio.start_unix_server(self.relayed, self.path, limit=1 << 26)

    async def unlisten(self) -> None:
        if self.relay:
            self.relay.transport.abort()
        self.listener.close()
        self.folder.cleanup()

    def address(self, target: str, headers: dict[str, str]) -> Message:
        return {"stdio": {"argv": [sys.executable, "-I", "-S", RELAY, self.path]}}

    async def relayed(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.relay is not None:
            self.note("..", "the client started a second server")
        self.relay = writer
        while line := await reader.readline():
            note = json.loads(line)
            if "hello" in note:
                self.relay_pid = note["hello"]
                self.changed()
            elif "in" in note:
                self.buffer += base64.b64decode(note["in"])
                while b"\n" in self.buffer:
                    raw, self.buffer = self.buffer.split(b"\n", 1)
                    self.took(raw)
            elif "in_eof" in note:
                self.note("<-", "end of input")
        self.note("..", "the server process has ended")
        self.changed()

    async def tell_relay(self, **order: Json) -> None:
        await self.need(lambda: self.relay_pid, "the client started no server process")
        assert self.relay is not None
        try:
            self.relay.write(json.dumps(order).encode() + b"\n")
            await asyncio.wait_for(self.relay.drain(), 15)
        except (OSError, TimeoutError) as e:
            self.note("..", f"not written: {e!r}")

    def framed(self, text: str, eol: str) -> bytes:
        return (text + eol).encode()

    async def write(self, data: bytes) -> None:
        self.capture.wrote_lines(data)
        await self.tell_relay(out=base64.b64encode(data).decode())

    async def end_output(self) -> None:
        await self.tell_relay(exit=0)
