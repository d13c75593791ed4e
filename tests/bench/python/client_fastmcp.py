"""fastmcp client."""

# mypy: disable-error-code="import-not-found,unused-ignore"
import asyncio

from bench_client import SERVER, drive
from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main() -> None:
    async with Client(
        StdioTransport(command=SERVER[0], args=SERVER[1:], keep_alive=False)
    ) as client:

        async def call(text: str) -> str:
            result = await client.call_tool("echo", {"text": text})
            return str(result.content[0].text)

        await drive(call)


asyncio.run(main())
