"""The fixture server, made with the Python SDK `mcp` 2.x (low-level: it checks no arguments, so this file does)."""

from __future__ import annotations

import json
import sys
import warnings
from base64 import b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import anyio
import jsonschema  # type: ignore[import-untyped]
from mcp import MCPDeprecationWarning, MCPError, types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
import fixture

Context = ServerRequestContext[Any]
Params = TypeVar("Params")
Result = TypeVar("Result")
state = fixture.State()


def handler(
    function: Callable[[Context, Params], Awaitable[Result]],
) -> Callable[[Context, Params], Awaitable[Result]]:
    """Turns the fixture's own error into the SDK's."""

    async def wrapped(context: Context, params: Params) -> Result:
        try:
            return await function(context, params)
        except fixture.FixtureError as error:
            raise MCPError(error.code, error.message, error.data) from None

    return wrapped


def check_cursor(params: types.PaginatedRequestParams | None) -> None:
    fixture.check_cursor(params.cursor if params else None)


@handler
async def list_tools(_: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    check_cursor(params)
    return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in state.tools])


@handler
async def list_resources(_: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    check_cursor(params)
    items = fixture.FIXTURE["resources"]
    return types.ListResourcesResult(resources=[types.Resource.model_validate(item) for item in items])


@handler
async def list_templates(_: Context, params: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
    check_cursor(params)
    items = fixture.FIXTURE["resourceTemplates"]
    return types.ListResourceTemplatesResult(
        resource_templates=[types.ResourceTemplate.model_validate(item) for item in items]
    )


@handler
async def list_prompts(_: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    check_cursor(params)
    items = fixture.FIXTURE["prompts"]
    return types.ListPromptsResult(prompts=[types.Prompt.model_validate(item) for item in items])


def text(value: str) -> list[types.ContentBlock]:
    return [types.TextContent(type="text", text=value)]


async def run_tool(context: Context, name: str, arguments: dict[str, Any]) -> list[types.ContentBlock]:
    session = context.session
    match name:
        case "echo":
            return text(arguments["text"])
        case "add":
            return text(fixture.number_text(arguments["a"] + arguments["b"]))
        case "sleep":
            await anyio.sleep(arguments["ms"] / 1000)
            return text("slept")
        case "progress":
            for step in range(1, arguments["steps"] + 1):
                await session.report_progress(step, arguments["steps"])
            return text("done")
        case "fail":
            raise RuntimeError("disk full")
        case "empty":
            return []
        case "image":
            return [types.ImageContent(data=b64encode(fixture.PNG_HEAD).decode(), mime_type="image/png")]
        case "log_all":
            for level in state.levels_to_send():
                await session.send_log_message(cast("types.LoggingLevel", level), level)
            return text("ok")
        case "touch":
            if arguments["uri"] in state.subscriptions:
                await session.send_resource_updated(arguments["uri"])
            return text("ok")
        case "ask_sampling":
            message = types.SamplingMessage(role="user", content=types.TextContent(text=arguments["prompt"]))
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
        case _:
            return text(name)


@handler
async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    definition = next((tool for tool in state.tools if tool["name"] == params.name), None)
    if definition is None:
        raise fixture.FixtureError(fixture.INVALID_PARAMS, f"unknown tool {params.name!r}")
    arguments = params.arguments or {}
    try:
        jsonschema.validate(arguments, definition["inputSchema"])
    except jsonschema.ValidationError as error:
        raise fixture.FixtureError(fixture.INVALID_PARAMS, f"arguments of {params.name!r}: {error.message}") from None
    try:
        return types.CallToolResult(content=await run_tool(context, params.name, arguments))
    except Exception as error:  # noqa: BLE001  a failed tool is a result that says so
        return types.CallToolResult(content=text(str(error)), is_error=True)


@handler
async def read_resource(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    mime_type, content = fixture.read(params.uri)
    if isinstance(content, str):
        part: types.TextResourceContents | types.BlobResourceContents = types.TextResourceContents(
            uri=params.uri, mime_type=mime_type, text=content
        )
    else:
        part = types.BlobResourceContents(uri=params.uri, mime_type=mime_type, blob=b64encode(content).decode())
    return types.ReadResourceResult(contents=[part])


@handler
async def subscribe(_: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    fixture.check_known(params.uri)
    state.subscriptions.add(params.uri)
    return types.EmptyResult()


@handler
async def unsubscribe(_: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    state.subscriptions.discard(params.uri)
    return types.EmptyResult()


@handler
async def get_prompt(_: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    content = types.TextContent(text=fixture.prompt_text(params.name, params.arguments or {}))
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


@handler
async def complete(_: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    completion = fixture.completion(params.ref.model_dump(), params.argument.name)
    return types.CompleteResult(completion=types.Completion.model_validate(completion))


@handler
async def set_level(_: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    state.set_level(params.level)
    return types.EmptyResult()


async def main() -> None:
    # Logging, sampling, roots and subscriptions are "deprecated" as of a later revision only.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    server: Server[Any] = Server(
        fixture.FIXTURE["name"],
        version=fixture.FIXTURE["version"],
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_set_logging_level=set_level,
    )
    options = server.create_initialization_options(
        NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
    )
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, options)


if __name__ == "__main__":
    anyio.run(main)
