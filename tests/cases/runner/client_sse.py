"""Drives an SDK client over HTTP+SSE."""
import asyncio
from typing import Any, ClassVar

from . import http
from .client import Client
from .driver import Steps
from .wire import Message, Step, brief, compact, put_ids_in_text


class SseClient(Client):
    """The driver is an HTTP server; the client opens a stream and posts."""

    def __init__(self, case: dict[str, Any], options: dict[str, Any]) -> None:
        super().__init__(case, options)
        self.on_get: Message = {"status": 200, "headers": {"content-type": "text/event-stream"}}
        self.on_post: Message = {"status": 202}
        self.stream: asyncio.StreamWriter | None = None
        self.endpoint_sent = False
        self.connections: set[asyncio.StreamWriter] = set()

    async def listen(self) -> None:
        self.listener = await asyncio.start_server(self.accepted, "127.0.0.1", 0, limit=1 << 26)
        self.port = self.listener.sockets[0].getsockname()[1]
        self.base = f"http://127.0.0.1:{self.port}"

    async def unlisten(self) -> None:
        for writer in list(self.connections):
            writer.transport.abort()
        self.listener.close()

    def address(self, target: str, headers: dict[str, str]) -> Message:
        return {"sse": {"url": self.base + target, "headers": headers}}

    async def accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.add(writer)
        try:
            while await self.one_request(reader, writer):
                pass
        except (OSError, ValueError, asyncio.IncompleteReadError):
            pass
        finally:
            self.connections.discard(writer)
            if writer is not self.stream:
                writer.close()

    async def one_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """True if the connection can take another request."""
        first, headers = await http.read_head(reader)
        if len(first) < 2:
            return False
        method, path = first[:2]
        body = b""
        if "chunked" in headers.get("transfer-encoding", ""):
            while size := int((await reader.readline()).split(b";")[0], 16):
                body += await reader.readexactly(size)
                await reader.readline()
            await reader.readline()
        else:
            body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.requests.append({"method": method, "path": path, "headers": headers})
        self.note("<-", f"{method} {path} {brief(headers)}")
        reply = self.reply_to(method)
        text = reply.get("body", "").encode()
        head = {"date": "Thu, 01 Jan 2026 00:00:00 GMT"} | reply.get("headers", {})
        is_stream = method == "GET" and reply["status"] == 200 and "event-stream" in head.get("content-type", "").lower()
        if not is_stream and reply["status"] != 204:
            head["content-length"] = str(len(text))
        if is_stream:
            head["connection"] = "close"
        try:
            writer.write(f"HTTP/1.1 {reply['status']} Status\r\n".encode())
            writer.write("".join(f"{n}: {v}\r\n" for n, v in head.items()).encode() + b"\r\n" + (b"" if is_stream else text))
            await writer.drain()
            self.note("->", f"status {reply['status']}")
        finally:
            if method == "POST":
                self.took(body)
        if is_stream:
            self.stream = writer
            self.changed()
            await reader.read()  # the client closes, or never
            self.note("..", "the client closed the stream")
            return False
        return headers.get("connection", "").lower() != "close"

    def reply_to(self, method: str) -> Message:
        if method == "GET":
            return self.on_get
        return self.on_post if method == "POST" else {"status": 405}

    async def greet(self) -> None:
        if not self.endpoint_sent:
            await self.send_bytes(b"event: endpoint\ndata: /m?sid=1\n\n")

    def framed(self, text: str, eol: str) -> bytes:
        return f"event: message\ndata: {text}\n\n".encode()

    async def write(self, data: bytes) -> None:
        await self.need(lambda: self.stream, "the client opened no stream")
        assert self.stream is not None
        self.capture.wrote_events(data)
        self.endpoint_sent = True
        try:
            self.stream.write(data)
            await asyncio.wait_for(self.stream.drain(), 15)
        except (OSError, TimeoutError) as e:
            self.note("..", f"not written: {e!r}")

    async def end_output(self) -> None:
        await self.need(lambda: self.stream, "the client opened no stream")
        assert self.stream is not None
        self.stream.transport.abort()

    async def ping(self) -> bool:
        self.on_post = {"status": 202}
        return await super().ping()

    async def do_sse(self, step: Step) -> None:
        await self.begin()
        text = put_ids_in_text(step["sse"], self.ids).replace("$BASE", self.base)
        self.note("->", repr(text[:200]))
        await self.send_bytes(text.encode(), step.get("pieces", 1), step.get("pause_ms", 0))

    async def do_sse_reply(self, step: Step) -> None:
        message = self.response_to(step["sse_reply"], step)
        self.note("->", brief(message))
        await self.send_bytes(step["template"].replace("$JSON", compact(message)).encode())

    STEPS: ClassVar[Steps] = {"sse": do_sse, "sse_reply": do_sse_reply} | Client.STEPS
