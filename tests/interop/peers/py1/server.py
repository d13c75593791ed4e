"""The fixture server, made with the Python SDK `mcp` 1.x (low-level server, its own argument check)."""

# The SDK's decorators have no types.
# mypy: disable-error-code="no-untyped-call, untyped-decorator"

from __future__ import annotations

import json
import sys
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import anyio
from mcp import McpError, types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.stdio import stdio_server
from pydantic import AnyUrl

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
import fixture

server: Server[Any, Any] = Server(fixture.FIXTURE["name"], version=fixture.FIXTURE["version"])
state = fixture.State()


def rpc_error(error: fixture.FixtureError) -> McpError:
    return McpError(types.ErrorData(code=error.code, message=error.message, data=error.data))


def check_cursor(request: types.PaginatedRequest[Any] | None) -> None:
    # The SDK itself lists the tools before a call, and then there is no request.
    params = request.params if request else None
    try:
        fixture.check_cursor(params.cursor if params else None)
    except fixture.FixtureError as error:
        raise rpc_error(error) from None


@server.list_tools()
async def list_tools(request: types.ListToolsRequest) -> types.ListToolsResult:
    check_cursor(request)
    return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in state.tools])


@server.list_resources()
async def list_resources(request: types.ListResourcesRequest) -> types.ListResourcesResult:
    check_cursor(request)
    return types.ListResourcesResult(
        resources=[types.Resource.model_validate(item) for item in fixture.FIXTURE["resources"]]
    )


@server.list_resource_templates()
async def list_resource_templates() -> list[types.ResourceTemplate]:
    return [types.ResourceTemplate.model_validate(item) for item in fixture.FIXTURE["resourceTemplates"]]


@server.list_prompts()
async def list_prompts(request: types.ListPromptsRequest) -> types.ListPromptsResult:
    check_cursor(request)
    return types.ListPromptsResult(prompts=[types.Prompt.model_validate(item) for item in fixture.FIXTURE["prompts"]])


def text(value: str) -> list[types.ContentBlock]:
    return [types.TextContent(type="text", text=value)]


@server.call_tool()
async def call_tool(name: str, arguments: dict[str, Any]) -> Sequence[types.ContentBlock]:
    session = server.request_context.session
    match name:
        case "echo":
            return text(arguments["text"])
        case "add":
            return text(fixture.number_text(arguments["a"] + arguments["b"]))
        case "sleep":
            await anyio.sleep(arguments["ms"] / 1000)
            return text("slept")
        case "progress":
            meta = server.request_context.meta
            if meta is not None and meta.progressToken is not None:
                for step in range(1, arguments["steps"] + 1):
                    await session.send_progress_notification(meta.progressToken, step, arguments["steps"])
            return text("done")
        case "fail":
            raise RuntimeError("disk full")
        case "empty":
            return []
        case "image":
            data = b64encode(fixture.PNG_HEAD).decode()
            return [types.ImageContent(type="image", data=data, mimeType="image/png")]
        case "log_all":
            for level in state.levels_to_send():
                await session.send_log_message(cast("types.LoggingLevel", level), level)
            return text("ok")
        case "touch":
            if arguments["uri"] in state.subscriptions:
                await session.send_resource_updated(AnyUrl(arguments["uri"]))
            return text("ok")
        case "ask_sampling":
            message = types.SamplingMessage(
                role="user", content=types.TextContent(type="text", text=arguments["prompt"])
            )
            answer = await session.create_message([message], max_tokens=100)
            return text(answer.content.text if isinstance(answer.content, types.TextContent) else "no text came back")
        case "ask_roots":
            roots = (await session.list_roots()).roots
            return text(json.dumps([str(root.uri) for root in roots], separators=(",", ":")))
        case "add_tools":
            for _ in range(arguments["n"]):
                state.add_tool()
                await session.send_tool_list_changed()
            return text("ok")
        case _ if state.is_extra(name):
            return text(name)
        case _:
            raise ValueError(f"unknown tool {name!r}")


@server.read_resource()
async def read_resource(uri: AnyUrl) -> list[ReadResourceContents]:
    try:
        mime_type, content = fixture.read(str(uri))
    except fixture.FixtureError as error:
        raise rpc_error(error) from None
    return [ReadResourceContents(content=content, mime_type=mime_type)]


@server.subscribe_resource()
async def subscribe(uri: AnyUrl) -> None:
    try:
        fixture.check_known(str(uri))
    except fixture.FixtureError as error:
        raise rpc_error(error) from None
    state.subscriptions.add(str(uri))


@server.unsubscribe_resource()
async def unsubscribe(uri: AnyUrl) -> None:
    state.subscriptions.discard(str(uri))


@server.get_prompt()
async def get_prompt(name: str, arguments: dict[str, str] | None) -> types.GetPromptResult:
    try:
        content = fixture.prompt_text(name, arguments or {})
    except fixture.FixtureError as error:
        raise rpc_error(error) from None
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=content))
    return types.GetPromptResult(messages=[message])


@server.completion()
async def complete(
    ref: types.PromptReference | types.ResourceTemplateReference,
    argument: types.CompletionArgument,
    context: types.CompletionContext | None,
) -> types.Completion:
    try:
        return types.Completion.model_validate(fixture.completion(ref.model_dump(), argument.name))
    except fixture.FixtureError as error:
        raise rpc_error(error) from None


@server.set_logging_level()
async def set_level(level: types.LoggingLevel) -> None:
    state.set_level(level)


async def main() -> None:
    options = server.create_initialization_options(
        NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
    )
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, options)


if __name__ == "__main__":
    anyio.run(main)
