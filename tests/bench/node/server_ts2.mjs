// @modelcontextprotocol/server 2.x; HTTP+SSE by its frozen companion, server-legacy. Usage: server_ts2.mjs [PORT]
import { McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod/v4';
import { PORT, register, serveSse } from './bench_server.mjs';

const build = () => {
    const server = new McpServer({ name: 'bench', version: '1' });
    register(server, z, shape => z.object(shape));
    return server;
};
if (PORT) {
    const { default: express } = await import('express');
    const { SSEServerTransport } = await import('@modelcontextprotocol/server-legacy/sse');
    serveSse(express, SSEServerTransport, build);
} else {
    const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
    serveStdio(build);
}
