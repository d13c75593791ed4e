"""What a client must be able to do so that the checks can run on it, whatever SDK it is made with.

All results are JSON as it stood on the wire (camelCase), as far as the SDK shows it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import anyio

Json = dict[str, Any]
Lists = Literal["tools", "resources", "resourceTemplates", "prompts"]
OnProgress = Callable[[float, float | None], None]

DEADLINE_S = 20


class RpcError(Exception):
    """The server answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any) -> None:
        super().__init__(f"error {code}: {message}")
        self.code = code
        self.data = data


class Inbox:
    """What the server sent by itself, in the order in which it came, and what the client has to offer it."""

    def __init__(self) -> None:
        self.logs: list[Json] = []
        self.updated: list[str] = []
        self.list_changes: list[str] = []
        self.sampling: list[Json] = []
        self.progress: list[Json] = []
        self.faults: list[str] = []
        self.roots: list[str] = ["file:///data/r", "file:///data/a%20b"]
        self._news = anyio.Event()

    def tell(self) -> None:
        """To be called after each change, so that `until` looks again."""
        self._news.set()
        self._news = anyio.Event()

    async def until(self, what: str, condition: Callable[[], bool]) -> None:
        """Waits until `condition` holds; `AssertionError` naming `what` when it does not within the deadline."""
        with anyio.move_on_after(DEADLINE_S):
            while not condition():
                await self._news.wait()
            return
        raise AssertionError(f"waited {DEADLINE_S} s in vain for {what}")

    def notification(self, method: str, params: Json) -> None:
        """Files a notification under its kind."""
        match method:
            case "notifications/message":
                self.logs.append(params)
            case "notifications/resources/updated":
                self.updated.append(str(params["uri"]))
            case "notifications/progress":
                self.progress.append(params)
            case "notifications/cancelled":
                pass
            case _ if method.endswith("/list_changed"):
                self.list_changes.append(method)
            case _:
                self.faults.append(f"notification {method} is not of this revision")
        self.tell()

    def answer(self, params: Json) -> str | None:
        """The text with which the client's model answers; `None` = the user refuses."""
        self.sampling.append(params)
        prompt = str(params["messages"][0]["content"]["text"])
        return None if prompt == "refuse" else f"sampled: {prompt}"


class Peer(ABC):
    """A connected client. Every method raises `RpcError` when the server answers with an error."""

    def __init__(self, inbox: Inbox) -> None:
        self.inbox = inbox

    @abstractmethod
    async def initialize(self) -> Json: ...

    @abstractmethod
    async def ping(self) -> None: ...

    @abstractmethod
    async def list_page(self, what: Lists, cursor: str | None) -> Json: ...

    @abstractmethod
    async def call(self, name: str, arguments: Json, on_progress: OnProgress | None = None) -> Json: ...

    @abstractmethod
    async def cancelled_call(self, name: str, arguments: Json) -> None:
        """Starts this call and cancels it as users of the SDK do, after the server has it."""

    @abstractmethod
    async def read(self, uri: str) -> Json: ...

    @abstractmethod
    async def subscribe(self, uri: str) -> None: ...

    @abstractmethod
    async def unsubscribe(self, uri: str) -> None: ...

    @abstractmethod
    async def get_prompt(self, name: str, arguments: dict[str, str] | None) -> Json: ...

    @abstractmethod
    async def complete(self, prompt: str, argument: str, value: str) -> Json: ...

    @abstractmethod
    async def set_level(self, level: str) -> None: ...

    @abstractmethod
    async def roots_changed(self) -> None: ...

    @abstractmethod
    async def request(self, method: str) -> Json:
        """A request of a method that the SDK does not know."""

    async def list_all(self, what: Lists) -> list[Json]:
        """The items of all pages."""
        items: list[Json] = []
        cursor: str | None = None
        for _ in range(50):
            page = await self.list_page(what, cursor)
            items += page[what]
            cursor = page.get("nextCursor")
            if cursor is None:
                return items
        raise AssertionError(f"{what}: no end after 50 pages")


Connect = Callable[[list[str], Inbox, Callable[[Peer], Awaitable[None]]], Awaitable[None]]
"""Starts the server of that command line, runs the function with a peer not yet initialised, and closes."""
