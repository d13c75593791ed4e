"""mcp 2.x, the low-level server: no validation by function signatures, text content only, echo only. Stdio only."""

# mypy: disable-error-code="import-not-found,unused-ignore"
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

ECHO = types.Tool(
    name="echo",
    description="Echo the text",
    input_schema={
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
)


async def list_tools(_context: Any, _params: Any) -> Any:
    return types.ListToolsResult(tools=[ECHO])


async def call_tool(_context: Any, params: Any) -> Any:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=params.arguments["text"])]
    )


async def main() -> None:
    server = Server(
        "bench", version="1", on_list_tools=list_tools, on_call_tool=call_tool
    )
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


anyio.run(main)
