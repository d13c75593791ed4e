// @modelcontextprotocol/sdk 1.x. Usage: server_ts1.mjs [PORT]
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import { PORT, register, serveSse } from './bench_server.mjs';

const build = () => {
    const server = new McpServer({ name: 'bench', version: '1' });
    register(server, z, shape => shape);
    return server;
};
if (PORT) {
    const { default: express } = await import('express');
    const { SSEServerTransport } = await import('@modelcontextprotocol/sdk/server/sse.js');
    serveSse(express, SSEServerTransport, build);
} else {
    const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
    await build().connect(new StdioServerTransport());
}
