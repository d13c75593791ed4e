"""The minimal client in plain Python: json over the pipes of an asyncio subprocess, futures by id."""

import asyncio
import json
from asyncio.subprocess import PIPE
from typing import Any

from bench_client import SERVER, drive


async def main() -> None:
    server = await asyncio.create_subprocess_exec(*SERVER, stdin=PIPE, stdout=PIPE)
    to_server, from_server = server.stdin, server.stdout
    if to_server is None or from_server is None:
        raise RuntimeError("the server was started without pipes")
    loop = asyncio.get_running_loop()
    waiting: dict[int, asyncio.Future[Any]] = {}
    last_id = 0

    def request(method: str, params: dict[str, object]) -> asyncio.Future[Any]:
        nonlocal last_id
        last_id += 1
        future = waiting[last_id] = loop.create_future()
        message = {"jsonrpc": "2.0", "id": last_id, "method": method, "params": params}
        to_server.write(json.dumps(message).encode() + b"\n")
        return future

    async def reader() -> None:
        while line := await from_server.readline():
            message = json.loads(line)
            if future := waiting.pop(message.get("id"), None):
                future.set_result(message["result"])

    async def call(text: str) -> str:
        result = await request(
            "tools/call", {"name": "echo", "arguments": {"text": text}}
        )
        return str(result["content"][0]["text"])

    reading = asyncio.create_task(reader())
    client = {"name": "floor", "version": "1"}
    await request(
        "initialize",
        {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": client},
    )
    to_server.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    await drive(call)
    to_server.close()
    await server.wait()
    await reading


asyncio.run(main())
