"""mcp 2.x client, with the initialize handshake (mode="legacy")."""

# mypy: disable-error-code="import-not-found,unused-ignore"
import asyncio

from bench_client import SERVER, drive
from mcp import Client
from mcp.client.stdio import StdioServerParameters


async def main() -> None:
    async with Client(
        StdioServerParameters(command=SERVER[0], args=SERVER[1:]), mode="legacy"
    ) as client:

        async def call(text: str) -> str:
            result = await client.call_tool("echo", {"text": text})
            return str(result.content[0].text)

        await drive(call)


asyncio.run(main())
