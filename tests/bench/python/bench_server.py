"""What the Python bench servers share: their command line, and the tools of every bench server."""

import os
import sys
from typing import Any

PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 0
"""0: over stdio."""

LOG = os.environ.get("BENCH_LOG", "INFO")
"""INFO is the SDKs' default, with which they write to stderr for each request."""


def register(server: Any) -> None:
    """`server` is the high-level server of whichever SDK; their decorators are called alike."""

    def echo(text: str) -> str:
        """Echo the text"""
        return text

    def add(a: int, b: int) -> int:
        """Add two integers"""
        return a + b

    def static() -> str:
        """A static text"""
        return "static text"

    def greet(who: str) -> str:
        """Greet somebody"""
        return f"Greet {who}"

    server.tool()(echo)
    server.tool()(add)
    server.resource("bench://static", mime_type="text/plain")(static)
    server.prompt()(greet)
    for n in range(int(os.environ.get("BENCH_TOOLS", "0"))):

        def extra(name: str, count: int, flag: bool = False) -> str:
            return f"{name} {count}"

        description = f"Tool number {n}: joins a name and a count"
        server.tool(name=f"tool_{n:03}", description=description)(extra)
