"""Checks: resources, prompts and completion."""

from __future__ import annotations

from base64 import b64decode

from check import Registry, call_text, equal, fence, has_all, refused
from fixture import BINARY, INVALID_PARAMS, RESOURCE_NOT_FOUND
from peer import Json, Peer

check = Registry()


# proves: RES-02
@check("resources.list")
async def resources_list(peer: Peer, _: Json) -> None:
    await has_all(peer, "resources", "uri")


# proves: TMPL-01
@check("resources.templates.list")
async def resources_templates_list(peer: Peer, _: Json) -> None:
    await has_all(peer, "resourceTemplates", "uriTemplate")


async def read_one(peer: Peer, uri: str) -> Json:
    contents = (await peer.read(uri))["contents"]
    equal("number of contents", len(contents), 1)
    equal("uri", contents[0]["uri"], uri)
    part: Json = contents[0]
    return part


# proves: RES-03
@check("resources.read.text")
async def resources_read_text(peer: Peer, _: Json) -> None:
    equal("text", (await read_one(peer, "test://static/text"))["text"], "hello")


# proves: RES-04, RES-08
@check("resources.read.blob")
async def resources_read_blob(peer: Peer, _: Json) -> None:
    part = await read_one(peer, "test://static/bin")
    equal("bytes", b64decode(part["blob"], validate=True), BINARY)
    equal("mimeType", part["mimeType"], "application/octet-stream")


# proves: RES-16
@check("resources.read.template")
async def resources_read_template(peer: Peer, _: Json) -> None:
    equal("text", (await read_one(peer, "test://items/7"))["text"], "item:7")
    equal("text", (await read_one(peer, "test://items/a%20b"))["text"], "item:a b")


# proves: RES-05
@check("resources.read.unknown")
async def resources_read_unknown(peer: Peer, _: Json) -> None:
    error = await refused(RESOURCE_NOT_FOUND, peer.read("test://none"))
    equal("data", error.data, {"uri": "test://none"})


# proves: SUB-02
@check("resources.subscribe")
async def resources_subscribe(peer: Peer, _: Json) -> None:
    uri = "test://static/text"
    start = len(peer.inbox.updated)
    await peer.subscribe(uri)
    equal("touch", await call_text(peer, "touch", {"uri": uri}), "ok")
    await peer.inbox.until("the update", lambda: len(peer.inbox.updated) > start)
    await fence(peer)
    equal("updates", peer.inbox.updated[start:], [uri])


# proves: SUB-03, SUB-06
@check("resources.unsubscribe")
async def resources_unsubscribe(peer: Peer, _: Json) -> None:
    uri = "test://static/text"
    await peer.subscribe(uri)
    await peer.unsubscribe(uri)
    start = len(peer.inbox.updated)
    equal("touch", await call_text(peer, "touch", {"uri": uri}), "ok")
    await fence(peer)
    equal("updates", peer.inbox.updated[start:], [])


# proves: SUB-10
@check("resources.subscribe.unknown")
async def resources_subscribe_unknown(peer: Peer, _: Json) -> None:
    await refused(RESOURCE_NOT_FOUND, peer.subscribe("test://none"))


# proves: PROM-02
@check("prompts.list")
async def prompts_list(peer: Peer, _: Json) -> None:
    prompts = {prompt["name"]: prompt for prompt in await has_all(peer, "prompts", "name")}
    arguments = {item["name"]: item.get("required", False) for item in prompts["greet"]["arguments"]}
    equal("arguments of greet", arguments, {"name": True, "style": False})


async def prompt_text(peer: Peer, name: str, arguments: dict[str, str] | None) -> str:
    messages = (await peer.get_prompt(name, arguments))["messages"]
    equal("number of messages", len(messages), 1)
    equal("role", messages[0]["role"], "user")
    return str(messages[0]["content"]["text"])


# proves: PROM-03, PROM-07
@check("prompts.get.greet")
async def prompts_get_greet(peer: Peer, _: Json) -> None:
    equal("text", await prompt_text(peer, "greet", {"name": "Ada", "style": "formal"}), "hello Ada")
    equal("text", await prompt_text(peer, "greet", {"name": "Ada"}), "hello Ada")


@check("prompts.get.noargs")
async def prompts_get_noargs(peer: Peer, _: Json) -> None:
    equal("text", await prompt_text(peer, "noargs", None), "hi")


# proves: PROM-05
@check("prompts.get.missing_argument")
async def prompts_get_missing_argument(peer: Peer, _: Json) -> None:
    await refused(INVALID_PARAMS, peer.get_prompt("greet", {"style": "formal"}))


# proves: PROM-05
@check("prompts.get.unknown")
async def prompts_get_unknown(peer: Peer, _: Json) -> None:
    await refused(INVALID_PARAMS, peer.get_prompt("nope", None))


# proves: COMP-01, COMP-02, COMP-03
@check("completion.complete")
async def completion_complete(peer: Peer, _: Json) -> None:
    completion = (await peer.complete("greet", "name", ""))["completion"]
    equal("number of values", len(completion["values"]), 100)
    equal("hasMore", completion.get("hasMore"), True)
    equal("total", completion.get("total", 150), 150)


# proves: COMP-10
@check("completion.unknown_prompt")
async def completion_unknown_prompt(peer: Peer, _: Json) -> None:
    await refused(INVALID_PARAMS, peer.complete("nope", "name", ""))


# proves: COMP-10
@check("completion.unknown_argument")
async def completion_unknown_argument(peer: Peer, _: Json) -> None:
    await refused(INVALID_PARAMS, peer.complete("greet", "nope", ""))
