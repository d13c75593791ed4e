"""Checks: tools."""

from __future__ import annotations

from base64 import b64decode

import anyio
from check import Registry, call_text, equal, fence, has_all, refused
from fixture import INVALID_PARAMS, PNG_HEAD
from peer import Json, Peer

LONG_SLEEP_MS = 600_000

check = Registry()


# proves: TOOL-02
@check("tools.list")
async def tools_list(peer: Peer, _: Json) -> None:
    for tool in await has_all(peer, "tools", "name"):
        equal(f"type of the inputSchema of {tool['name']}", tool["inputSchema"].get("type"), "object")


# proves: PAGE-05
@check("tools.list.bad_cursor")
async def tools_list_bad_cursor(peer: Peer, _: Json) -> None:
    await refused(INVALID_PARAMS, peer.list_page("tools", "garbage"))


# proves: TOOL-04
@check("tools.call.echo")
async def tools_call_echo(peer: Peer, _: Json) -> None:
    equal("echo", await call_text(peer, "echo", {"text": "hi"}), "hi")


# proves: STDIO-02, STDIO-08
@check("tools.call.unicode")
async def tools_call_unicode(peer: Peer, _: Json) -> None:
    text = 'line\nfeed\r\n\ttab \\ "quote" é 日本語 \U0001f600 \u2028\u2029 \x7f \x00'
    equal("echo", await call_text(peer, "echo", {"text": text}), text)


@check("tools.call.large")
async def tools_call_large(peer: Peer, _: Json) -> None:
    text = "ü" * 524_288
    if await call_text(peer, "echo", {"text": text}) != text:
        raise AssertionError("1 MiB of text did not come back unchanged")


# proves: JRPC-06
@check("tools.call.concurrent")
async def tools_call_concurrent(peer: Peer, _: Json) -> None:
    answers: dict[str, str] = {}

    async def one(text: str) -> None:
        answers[text] = await call_text(peer, "echo", {"text": text})

    async with anyio.create_task_group() as calls:
        for number in range(50):
            calls.start_soon(one, f"call {number}")
    equal("answers that went to the wrong call", {k: v for k, v in answers.items() if k != v}, {})
    equal("number of answers", len(answers), 50)


@check("tools.call.add")
async def tools_call_add(peer: Peer, _: Json) -> None:
    equal("2 + 3", await call_text(peer, "add", {"a": 2, "b": 3}), "5")
    equal("1.5 + 0.25", await call_text(peer, "add", {"a": 1.5, "b": 0.25}), "1.75")


# proves: TOOL-07
@check("tools.call.fail")
async def tools_call_fail(peer: Peer, _: Json) -> None:
    result = await peer.call("fail", {})
    equal("isError", result.get("isError"), True)
    equal("the text has the author's message", "disk full" in result["content"][0]["text"], True)


# proves: TOOL-04
@check("tools.call.empty")
async def tools_call_empty(peer: Peer, _: Json) -> None:
    result = await peer.call("empty", {})
    equal("content", result["content"], [])
    equal("isError", result.get("isError", False), False)


@check("tools.call.image")
async def tools_call_image(peer: Peer, _: Json) -> None:
    block = (await peer.call("image", {}))["content"][0]
    equal("type", block["type"], "image")
    equal("mimeType", block["mimeType"], "image/png")
    equal("bytes", b64decode(block["data"], validate=True), PNG_HEAD)


# proves: TOOL-05
@check("tools.call.unknown")
async def tools_call_unknown(peer: Peer, _: Json) -> None:
    await refused(INVALID_PARAMS, peer.call("nope", {}))


# proves: TOOL-06
@check("tools.call.bad_arguments")
async def tools_call_bad_arguments(peer: Peer, _: Json) -> None:
    await refused(INVALID_PARAMS, peer.call("add", {"a": "two", "b": 3}))
    await refused(INVALID_PARAMS, peer.call("echo", {}))


# proves: PROG-05, PROG-11, PROG-14
@check("tools.progress")
async def tools_progress(peer: Peer, _: Json) -> None:
    seen: list[tuple[float, float | None]] = []

    def on_progress(progress: float, total: float | None) -> None:
        seen.append((progress, total))
        peer.inbox.tell()

    equal("progress", await call_text(peer, "progress", {"steps": 5}, on_progress), "done")
    await peer.inbox.until("5 progress notifications", lambda: len(seen) >= 5)
    equal("progress", seen, [(step, 5) for step in range(1, 6)])


# proves: PROG-12
@check("tools.progress.unasked")
async def tools_progress_unasked(peer: Peer, _: Json) -> None:
    before = len(peer.inbox.progress)
    equal("progress", await call_text(peer, "progress", {"steps": 3}), "done")
    await fence(peer)
    equal("progress that nobody asked for", peer.inbox.progress[before:], [])


# proves: CANC-03
@check("tools.cancel")
async def tools_cancel(peer: Peer, _: Json) -> None:
    before = len(peer.inbox.faults)
    await peer.cancelled_call("sleep", {"ms": LONG_SLEEP_MS})
    await fence(peer)
    said = peer.inbox.faults[before:]
    del peer.inbox.faults[before:]  # so that `session.no_faults` does not report it once more
    equal("what the server said about the cancelled call", said, [])
    equal("echo after that", await call_text(peer, "echo", {"text": "still here"}), "still here")


# proves: TOOL-14
@check("tools.list_changed")
async def tools_list_changed(peer: Peer, _: Json) -> None:
    before = {tool["name"] for tool in await peer.list_all("tools")}
    method = "notifications/tools/list_changed"
    start = peer.inbox.list_changes.count(method)
    equal("add_tools", await call_text(peer, "add_tools", {"n": 3}), "ok")
    await peer.inbox.until(method, lambda: peer.inbox.list_changes.count(method) > start)
    equal("new tools", len({tool["name"] for tool in await peer.list_all("tools")} - before), 3)
    await fence(peer)
    equal("at most one notification for each tool", peer.inbox.list_changes.count(method) - start <= 3, True)
