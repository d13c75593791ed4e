"""The minimal server in plain Python: json and a readline loop. `--batch` reads what there is and joins its replies."""

import json
import os
import sys
from typing import Any


def tool(
    name: str, description: str, properties: dict[str, object], required: list[str]
) -> dict[str, object]:
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": description, "inputSchema": schema}


STRING, INTEGER = {"type": "string"}, {"type": "integer"}
EXTRA = {
    "name": STRING,
    "count": INTEGER,
    "flag": {"type": "boolean", "default": False},
}
TOOLS = [
    tool("echo", "Echo the text", {"text": STRING}, ["text"]),
    tool("add", "Add two integers", {"a": INTEGER, "b": INTEGER}, ["a", "b"]),
    *(
        tool(
            f"tool_{n:03}",
            f"Tool number {n}: joins a name and a count",
            EXTRA,
            ["name", "count"],
        )
        for n in range(int(os.environ.get("BENCH_TOOLS", "0")))
    ),
]
INITIALIZED: dict[str, object] = {
    "protocolVersion": "2024-11-05",
    "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
    "serverInfo": {"name": "floor", "version": "1"},
}


def dispatch(message: dict[str, Any]) -> dict[str, object]:
    params = message.get("params") or {}
    method = message["method"]
    if method == "tools/call":
        arguments = params["arguments"]
        text = (
            arguments["text"]
            if params["name"] == "echo"
            else str(arguments["a"] + arguments["b"])
        )
        return {"content": [{"type": "text", "text": text}]}
    if method == "initialize":
        return INITIALIZED
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "resources/read":
        return {
            "contents": [
                {
                    "uri": "bench://static",
                    "mimeType": "text/plain",
                    "text": "static text",
                }
            ]
        }
    if method == "prompts/get":
        return {
            "messages": [
                {
                    "role": "user",
                    "content": {
                        "type": "text",
                        "text": "Greet " + params["arguments"]["who"],
                    },
                }
            ]
        }
    return {}


def reply(line: bytes) -> str:
    """A line; empty for a notification."""
    message = json.loads(line)
    if "id" not in message:
        return ""
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": dispatch(message)}
    return json.dumps(answer, separators=(",", ":"), ensure_ascii=False) + "\n"


def serve() -> None:
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    while line := requests.readline():
        if text := reply(line):
            replies.write(text.encode())
            replies.flush()


def serve_batch() -> None:
    rest = b""
    while chunk := os.read(0, 1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        out = "".join(map(reply, filter(None, lines))).encode()
        while out:
            out = out[os.write(1, out) :]


if "--batch" in sys.argv:
    serve_batch()
else:
    serve()
