// What the Node bench servers share: their command line, the tools of every bench server, the routes of HTTP+SSE.

/** 0: over stdio. */
export const PORT = Number(process.argv[2] ?? 0);
const MORE_TOOLS = Number(process.env.BENCH_TOOLS ?? 0);

/** `schema` makes of an object of zod types what the SDK takes as a schema. */
export function register(server, z, schema) {
    const said = text => ({ content: [{ type: 'text', text }] });
    server.registerTool(
        'echo',
        { description: 'Echo the text', inputSchema: schema({ text: z.string() }) },
        async ({ text }) => said(text)
    );
    server.registerTool(
        'add',
        { description: 'Add two integers', inputSchema: schema({ a: z.number().int(), b: z.number().int() }) },
        async ({ a, b }) => said(String(a + b))
    );
    server.registerResource('static', 'bench://static', { mimeType: 'text/plain' }, async uri => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'static text' }]
    }));
    server.registerPrompt('greet', { description: 'Greet somebody', argsSchema: schema({ who: z.string() }) }, ({ who }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `Greet ${who}` } }]
    }));
    for (let n = 0; n < MORE_TOOLS; n++) {
        const inputSchema = schema({ name: z.string(), count: z.number().int(), flag: z.boolean().default(false) });
        server.registerTool(
            `tool_${String(n).padStart(3, '0')}`,
            { description: `Tool number ${n}: joins a name and a count`, inputSchema },
            async ({ name, count }) => said(`${name} ${count}`)
        );
    }
}

/** The Express routes that the SDKs document; `build` makes a server for each session. */
export function serveSse(express, SSEServerTransport, build) {
    const app = express();
    const sessions = new Map();
    app.get('/sse', async (_request, response) => {
        const transport = new SSEServerTransport('/messages', response);
        sessions.set(transport.sessionId, transport);
        response.on('close', () => sessions.delete(transport.sessionId));
        await build().connect(transport);
    });
    app.post('/messages', express.json({ limit: '4mb' }), async (request, response) => {
        const transport = sessions.get(request.query.sessionId);
        if (transport) await transport.handlePostMessage(request, response, request.body);
        else response.status(404).send('there is no such session');
    });
    app.listen(PORT, '127.0.0.1');
}
