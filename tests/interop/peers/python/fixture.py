"""What the two Python servers share: the data of the fixture and the parts that need no SDK."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

FIXTURE: dict[str, Any] = json.loads((Path(__file__).parents[2] / "fixture.json").read_text("utf-8"))
LEVELS: list[str] = FIXTURE["levels"]

PNG_HEAD = bytes([0x89, 0x50, 0x4E, 0x47])
BINARY = bytes([0xFB, 0xFF, 0xFE, 0xFF])
COMPLETIONS = 150
MAX_COMPLETIONS = 100

INVALID_PARAMS = -32602
RESOURCE_NOT_FOUND = -32002


class FixtureError(Exception):
    """A request the fixture refuses.

    `code` is the JSON-RPC error code, `data` what goes with it; each server turns this into its SDK's own error.
    """

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class State:
    """What a session can change: its log level, its subscriptions, and the tools added at run time."""

    def __init__(self) -> None:
        self.level = 0
        self.subscriptions: set[str] = set()
        self.tools: list[dict[str, Any]] = list(FIXTURE["tools"])

    def set_level(self, level: str) -> None:
        self.level = LEVELS.index(level)

    def levels_to_send(self) -> list[str]:
        return LEVELS[self.level :]

    def add_tool(self) -> None:
        number = len(self.tools) - len(FIXTURE["tools"]) + 1
        self.tools.append({"name": f"extra{number}", "inputSchema": {"type": "object"}})

    def is_extra(self, name: str) -> bool:
        return any(tool["name"] == name for tool in self.tools[len(FIXTURE["tools"]) :])


def check_cursor(cursor: str | None) -> None:
    """No list here has a second page, so the fixture never gave a cursor out."""
    if cursor is not None:
        raise FixtureError(INVALID_PARAMS, f"cursor {cursor!r} did not come from this server")


def number_text(value: float) -> str:
    """A sum as text; whole numbers without a fraction."""
    return str(int(value)) if value == int(value) else str(value)


def read(uri: str) -> tuple[str, str | bytes]:
    """The MIME type and the content of a resource; raises `FixtureError` for an unknown URI."""
    if uri == "test://static/text":
        return "text/plain", "hello"
    if uri == "test://static/bin":
        return "application/octet-stream", BINARY
    prefix = "test://items/"
    item = uri.removeprefix(prefix)
    if uri.startswith(prefix) and item and not set("/?#") & set(item):
        return "text/plain", "item:" + unquote(item)
    raise FixtureError(RESOURCE_NOT_FOUND, f"resource {uri} not found", {"uri": uri})


def check_known(uri: str) -> None:
    """Raises `FixtureError` for a URI that `read` does not know."""
    read(uri)


def prompt_text(name: str, arguments: dict[str, str]) -> str:
    """The text of a prompt's only message; raises `FixtureError` for an unknown prompt or a missing argument."""
    if name == "noargs":
        return "hi"
    if name != "greet":
        raise FixtureError(INVALID_PARAMS, f"unknown prompt {name!r}")
    if "name" not in arguments:
        raise FixtureError(INVALID_PARAMS, "prompt 'greet' needs the argument 'name'")
    return "hello " + arguments["name"]


def completion(ref: dict[str, Any], argument: str) -> dict[str, Any]:
    """The `completion` member of the result; raises `FixtureError` for anything but `name` of `greet`."""
    if ref.get("type") != "ref/prompt" or ref.get("name") != "greet":
        raise FixtureError(INVALID_PARAMS, f"nothing to complete for {ref}")
    if argument not in ("name", "style"):
        raise FixtureError(INVALID_PARAMS, f"prompt 'greet' has no argument {argument!r}")
    if argument == "style":
        return {"values": [], "total": 0, "hasMore": False}
    values = [f"name{number}" for number in range(MAX_COMPLETIONS)]
    return {"values": values, "total": COMPLETIONS, "hasMore": True}
