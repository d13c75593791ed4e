// The minimal server in plain Node: readline and JSON.parse. `--batch` splits chunks and joins the replies to each.
import readline from 'node:readline';

const tool = (name, description, properties, required) => ({
    name,
    description,
    inputSchema: { type: 'object', properties, required }
});
const string = { type: 'string' };
const integer = { type: 'integer' };
const extra = { name: string, count: integer, flag: { type: 'boolean', default: false } };
const TOOLS = [
    tool('echo', 'Echo the text', { text: string }, ['text']),
    tool('add', 'Add two integers', { a: integer, b: integer }, ['a', 'b'])
];
for (let n = 0; n < Number(process.env.BENCH_TOOLS ?? 0); n++) {
    const name = `tool_${String(n).padStart(3, '0')}`;
    TOOLS.push(tool(name, `Tool number ${n}: joins a name and a count`, extra, ['name', 'count']));
}

const INITIALIZED = {
    protocolVersion: '2024-11-05',
    capabilities: { tools: {}, resources: {}, prompts: {} },
    serverInfo: { name: 'floor', version: '1' }
};

const dispatch = ({ method, params }) => {
    switch (method) {
        case 'tools/call': {
            const { name, arguments: args } = params;
            return { content: [{ type: 'text', text: name === 'echo' ? args.text : String(args.a + args.b) }] };
        }
        case 'initialize':
            return INITIALIZED;
        case 'tools/list':
            return { tools: TOOLS };
        case 'resources/read':
            return { contents: [{ uri: 'bench://static', mimeType: 'text/plain', text: 'static text' }] };
        case 'prompts/get':
            return { messages: [{ role: 'user', content: { type: 'text', text: `Greet ${params.arguments.who}` } }] };
        default:
            return {};
    }
};

/** A line; empty for a notification. */
const reply = line => {
    const message = JSON.parse(line);
    if (message.id === undefined) return '';
    return JSON.stringify({ jsonrpc: '2.0', id: message.id, result: dispatch(message) }) + '\n';
};

if (process.argv.includes('--batch')) {
    let rest = '';
    process.stdin.setEncoding('utf8');
    process.stdin.on('data', chunk => {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        process.stdout.write(lines.map(reply).join(''));
    });
} else {
    const lines = readline.createInterface({ input: process.stdin, crlfDelay: Infinity });
    lines.on('line', line => process.stdout.write(reply(line)));
}
