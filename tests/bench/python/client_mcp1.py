"""mcp 1.x client."""

# mypy: disable-error-code="import-not-found,unused-ignore"
import asyncio

from bench_client import SERVER, drive
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    server = StdioServerParameters(command=SERVER[0], args=SERVER[1:])
    async with (
        stdio_client(server) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()

        async def call(text: str) -> str:
            result = await session.call_tool("echo", {"text": text})
            return str(result.content[0].text)

        await drive(call)


asyncio.run(main())
