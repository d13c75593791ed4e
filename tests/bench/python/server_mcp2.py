"""mcp 2.x, the high-level server. Usage: server_mcp2.py [PORT]"""

# mypy: disable-error-code="import-not-found,unused-ignore"
from bench_server import LOG, PORT, register
from mcp.server import MCPServer

server = MCPServer("bench", version="1", log_level=LOG)
register(server)
if PORT:
    server.run("sse", port=PORT)
else:
    server.run()
