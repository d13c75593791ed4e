"""Checks: the handshake and what every session can do."""

from __future__ import annotations

from check import Registry, equal, fence, refused
from fixture import FIXTURE
from peer import Json, Peer

METHOD_NOT_FOUND = -32601
REVISION = "2024-11-05"
CAPABILITIES = {"experimental", "logging", "prompts", "resources", "tools"}

check = Registry()


# proves: LIFE-01, VER-04, VER-05
@check("initialize.revision")
async def initialize_revision(_: Peer, initialized: Json) -> None:
    equal("protocolVersion", initialized["protocolVersion"], REVISION)


# proves: LIFE-03
@check("initialize.server_info")
async def initialize_server_info(_: Peer, initialized: Json) -> None:
    equal("serverInfo.name", initialized["serverInfo"]["name"], FIXTURE["name"])
    if not initialized["serverInfo"]["version"]:
        raise AssertionError("serverInfo.version is empty")


# proves: CAP-01, RES-01, PROM-01, TOOL-01
@check("initialize.capabilities")
async def initialize_capabilities(_: Peer, initialized: Json) -> None:
    capabilities = initialized["capabilities"]
    equal("tools.listChanged", capabilities["tools"].get("listChanged"), True)
    equal("prompts.listChanged", capabilities["prompts"].get("listChanged"), True)
    equal("resources.listChanged", capabilities["resources"].get("listChanged"), True)
    equal("resources.subscribe", capabilities["resources"].get("subscribe"), True)
    equal("has logging", "logging" in capabilities, True)


# proves: CAP-08
@check("initialize.no_later_members")
async def initialize_no_later_members(_: Peer, initialized: Json) -> None:
    later = set(initialized["capabilities"]) - CAPABILITIES
    equal("capabilities that this revision does not have", later, set())


# proves: PING-01
@check("ping")
async def ping(peer: Peer, _: Json) -> None:
    await peer.ping()


# proves: JRPC-14
@check("method.unknown")
async def method_unknown(peer: Peer, _: Json) -> None:
    await refused(METHOD_NOT_FOUND, peer.request("no/such"))


@check("session.quiet")
async def session_quiet(peer: Peer, _: Json) -> None:
    await fence(peer)
    equal("lists said to have changed, though nothing has", peer.inbox.list_changes, [])
