"""What the checks are made of. A check's name is the same in every client of this folder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fixture import FIXTURE
from peer import Json, Lists, OnProgress, Peer, RpcError

FENCE_MS = 200

Check = Callable[[Peer, Json], Awaitable[None]]
"""A check: gets the connected client and the result of `initialize`; raises when something is wrong."""


class Registry:
    """Takes in functions as checks, by decorator; keeps their order."""

    def __init__(self) -> None:
        self.checks: dict[str, Check] = {}

    def __call__(self, name: str) -> Callable[[Check], Check]:
        def register(function: Check) -> Check:
            self.checks[name] = function
            return function

        return register


def equal(what: str, seen: object, wanted: object) -> None:
    if seen != wanted:
        raise AssertionError(f"{what} is {seen!r}, wanted {wanted!r}")


async def refused(code: int, request: Awaitable[Any]) -> RpcError:
    """Awaits a request which the server must refuse with this code."""
    try:
        result = await request
    except RpcError as error:
        equal("the error's code", error.code, code)
        return error
    raise AssertionError(f"wanted error {code}, got the result {result!r}")


async def call_text(peer: Peer, name: str, arguments: Json, on_progress: OnProgress | None = None) -> str:
    """The text of a tool's only content block; the call must not have failed."""
    result = await peer.call(name, arguments, on_progress)
    if result.get("isError"):
        raise AssertionError(f"{name} failed: {result}")
    blocks = result["content"]
    equal(f"number of content blocks of {name}", len(blocks), 1)
    equal("type of the block", blocks[0]["type"], "text")
    return str(blocks[0]["text"])


async def fence(peer: Peer) -> None:
    """Gives the server time, by its own clock, to send what it must not send."""
    equal("sleep", await call_text(peer, "sleep", {"ms": FENCE_MS}), "slept")


async def has_all(peer: Peer, what: Lists, key: str) -> list[Json]:
    items = await peer.list_all(what)
    names = [item[key] for item in items]
    equal(f"{what} named twice", sorted(name for name in set(names) if names.count(name) > 1), [])
    equal(f"{what} missing", [item[key] for item in FIXTURE[what] if item[key] not in names], [])
    return items
