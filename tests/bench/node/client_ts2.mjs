// @modelcontextprotocol/client 2.x client
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { SERVER, drive } from './bench_client.mjs';

const client = new Client({ name: 'bench', version: '1' });
await client.connect(new StdioClientTransport({ command: SERVER[0], args: SERVER.slice(1) }));
await drive(async text => {
    const result = await client.callTool({ name: 'echo', arguments: { text } });
    return result.content[0].text;
});
await client.close();
