"""fastmcp. Usage: server_fastmcp.py [PORT]"""

# mypy: disable-error-code="import-not-found,unused-ignore"
from bench_server import LOG, PORT, register
from fastmcp import FastMCP

server = FastMCP("bench", version="1")
register(server)
if PORT:
    server.run("sse", show_banner=False, port=PORT, log_level=LOG)
else:
    server.run("stdio", show_banner=False, log_level=LOG)
