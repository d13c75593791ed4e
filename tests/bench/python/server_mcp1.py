"""mcp 1.x, the high-level server. Usage: server_mcp1.py [PORT]"""

# mypy: disable-error-code="import-not-found,unused-ignore"
from bench_server import LOG, PORT, register
from mcp.server.fastmcp import FastMCP

server = FastMCP("bench", log_level=LOG, port=PORT or 8000)
register(server)
server.run("sse" if PORT else "stdio")
