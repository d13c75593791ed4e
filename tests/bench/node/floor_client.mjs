// The minimal client in plain Node: lines of a child's stdout, promises by id
import { spawn } from 'node:child_process';
import { SERVER, drive } from './bench_client.mjs';

const server = spawn(SERVER[0], SERVER.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] });
const waiting = new Map();
let lastId = 0;
let rest = '';
server.stdout.setEncoding('utf8');
server.stdout.on('data', chunk => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
        const message = JSON.parse(line);
        waiting.get(message.id)?.(message.result);
        waiting.delete(message.id);
    }
});
const request = (method, params) =>
    new Promise(resolve => {
        waiting.set(++lastId, resolve);
        server.stdin.write(JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params }) + '\n');
    });

const clientInfo = { name: 'floor', version: '1' };
await request('initialize', { protocolVersion: '2024-11-05', capabilities: {}, clientInfo });
server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
await drive(async text => {
    const result = await request('tools/call', { name: 'echo', arguments: { text } });
    return result.content[0].text;
});
server.stdin.end();
