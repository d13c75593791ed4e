"""The official Python client drives a server of ours, and shows what each side says: official_client.py SERVER…"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import anyio
from mcp import Client, MCPDeprecationWarning, MCPError, StdioServerParameters, types

# Logging belongs to the revision that is spoken here; the SDK calls it deprecated because of a later one.
warnings.simplefilter("ignore", MCPDeprecationWarning)


def say(who: str, text: str) -> None:
    """Shows who says what, without the control characters that a peer might send to a terminal."""
    clean = "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)
    print(f"{who:>10} │ " + clean.replace("\n", f"\n{'':10} │ "), flush=True)


def client_says(text: str) -> None:
    say("python >", text)


def server_says(text: str) -> None:
    say("< ours", text)


def must(holds: bool, what: str) -> None:
    """Fails the demonstration if something is not as it must be."""
    if not holds:
        sys.exit(f"not as expected: {what}")


def texts(result: types.CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, types.TextContent))


async def on_log(params: types.LoggingMessageNotificationParams) -> None:
    server_says(f"log, {params.level}: {params.data}")


async def on_progress(progress: float, total: float | None, message: str | None) -> None:
    server_says(f"progress {progress:g} of {total:g}")


async def call(client: Client, name: str, arguments: dict[str, Any]) -> str:
    client_says(f"tools/call {name} {arguments}")
    result = await client.call_tool(name, arguments, progress_callback=on_progress)
    server_says(texts(result))
    must(not result.is_error, "the tool succeeds")
    return texts(result)


async def talk(client: Client) -> None:
    info = client.server_info
    if info is None:
        sys.exit("the server did not say who it is")
    server_says(f"I am {info.name} {info.version}, speaking {client.protocol_version}: {client.instructions}")
    await client.set_logging_level("info")

    client_says("tools/list")
    tools = (await client.list_tools()).tools
    server_says(", ".join(tool.name for tool in tools))
    must(await call(client, "add", {"a": 19, "b": 23}) == "42", "a sum")
    await call(client, "count_down", {"from": 3})
    client_says("tools/call add {'a': 'one'}")
    try:
        refused = await client.call_tool("add", {"a": "one"})
        must(bool(refused.is_error), "arguments that break the schema are refused")
        server_says(texts(refused))
    except MCPError as error:
        server_says(f"error {error.code}: {error.message}")

    client_says("resources/list, resources/templates/list")
    resources = (await client.list_resources()).resources
    templates = (await client.list_resource_templates()).resource_templates
    server_says(", ".join([resource.uri for resource in resources] + [each.uri_template for each in templates]))
    for uri, wanted in [(resources[0].uri, "A server of a few lines."), ("example://squares/12", "144")]:
        client_says(f"resources/read {uri}")
        contents = (await client.read_resource(uri)).contents[0]
        must(isinstance(contents, types.TextResourceContents) and contents.text == wanted, "the resource's text")
        server_says(wanted)

    client_says("prompts/list")
    prompts = (await client.list_prompts()).prompts
    server_says(", ".join(prompt.name for prompt in prompts))
    client_says('completion/complete: language of review, "R…"')
    completed = await client.complete(types.PromptReference(name="review"), {"name": "language", "value": "R"})
    server_says(", ".join(completed.completion.values))
    must(completed.completion.values == ["Rust"], "the values that fit")
    client_says("prompts/get review {'language': 'Rust'}")
    for message in (await client.get_prompt("review", {"language": "Rust"})).messages:
        text = message.content.text if isinstance(message.content, types.TextContent) else ""
        must(text == "Review this Rust code.", "the prompt's text")
        server_says(f"{message.role}: {text}")


async def main(command: list[str]) -> None:
    server = StdioServerParameters(command=command[0], args=command[1:])
    async with Client(server, logging_callback=on_log) as client:
        await talk(client)
    say("", "the session is closed")


if len(sys.argv) < 2:
    sys.exit(__doc__)
anyio.run(main, sys.argv[1:])
