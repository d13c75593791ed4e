"""Checks: what goes both ways: logging, sampling, roots."""

from __future__ import annotations

import json

from check import Registry, call_text, equal, fence
from fixture import LEVELS
from peer import Json, Peer, RpcError

check = Registry()


# proves: LOG-03, LOG-05
@check("logging.set_level")
async def logging_set_level(peer: Peer, _: Json) -> None:
    for level in ("warning", "debug", "emergency"):
        await peer.set_level(level)
        start = len(peer.inbox.logs)
        wanted = LEVELS[LEVELS.index(level) :]
        equal("log_all", await call_text(peer, "log_all", {}), "ok")
        await peer.inbox.until("the log messages", lambda s=start, w=wanted: len(peer.inbox.logs) >= s + len(w))  # type: ignore[misc]
        await fence(peer)
        equal(f"levels logged at {level}", [log["level"] for log in peer.inbox.logs[start:]], wanted)


# proves: JRPC-25, SAMP-02
@check("sampling")
async def sampling(peer: Peer, _: Json) -> None:
    start = len(peer.inbox.sampling)
    equal("answer", await call_text(peer, "ask_sampling", {"prompt": "why?"}), "sampled: why?")
    equal("number of requests", len(peer.inbox.sampling) - start, 1)
    request = peer.inbox.sampling[start]
    equal(
        "maxTokens is a whole number above 0", isinstance(request["maxTokens"], int) and request["maxTokens"] > 0, True
    )
    equal("role", request["messages"][0]["role"], "user")


@check("sampling.refused")
async def sampling_refused(peer: Peer, _: Json) -> None:
    # What the tool makes of the refusal is its author's business, but it must be told, and the session lives on.
    try:
        result = await peer.call("ask_sampling", {"prompt": "refuse"})
    except RpcError:
        result = {"isError": True}
    equal("isError", result.get("isError"), True)
    equal("echo after that", await call_text(peer, "echo", {"text": "still here"}), "still here")


# proves: JRPC-25
@check("roots.list")
async def roots_list(peer: Peer, _: Json) -> None:
    equal("roots", json.loads(await call_text(peer, "ask_roots", {})), peer.inbox.roots)


@check("roots.list_changed")
async def roots_list_changed(peer: Peer, _: Json) -> None:
    peer.inbox.roots = ["file:///data/other"]
    await peer.roots_changed()
    equal("roots", json.loads(await call_text(peer, "ask_roots", {})), peer.inbox.roots)


@check("session.no_faults")
async def session_no_faults(peer: Peer, _: Json) -> None:
    equal("what the SDK found wrong during the session", peer.inbox.faults, [])
