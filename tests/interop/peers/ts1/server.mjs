/** The fixture server, made with the TypeScript SDK 1.x (low-level: it checks no arguments, so this file does). */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";

const INVALID_PARAMS = -32602;
const RESOURCE_NOT_FOUND = -32002;
const COMPLETIONS = 150;
const MAX_COMPLETIONS = 100;

const fixture = JSON.parse(readFileSync(new URL("../../fixture.json", import.meta.url), "utf8"));
const tools = [...fixture.tools];
const subscriptions = new Set();
const schemas = new AjvJsonSchemaValidator();

const server = new Server(
  { name: fixture.name, version: fixture.version },
  {
    capabilities: {
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      prompts: { listChanged: true },
      logging: {},
      completions: {},
    },
  },
);

/** No list here has a second page, so the fixture never gave a cursor out. */
function checkCursor(/** @type {{params?: {cursor?: string}}} */ request) {
  const cursor = request.params?.cursor;
  if (cursor !== undefined) throw new McpError(INVALID_PARAMS, `cursor ${cursor} did not come from this server`);
}

server.setRequestHandler(ListToolsRequestSchema, (request) => {
  checkCursor(request);
  return { tools };
});
server.setRequestHandler(ListResourcesRequestSchema, (request) => {
  checkCursor(request);
  return { resources: fixture.resources };
});
server.setRequestHandler(ListResourceTemplatesRequestSchema, (request) => {
  checkCursor(request);
  return { resourceTemplates: fixture.resourceTemplates };
});
server.setRequestHandler(ListPromptsRequestSchema, (request) => {
  checkCursor(request);
  return { prompts: fixture.prompts };
});

/** @returns {{type: "text", text: string}[]} */
const text = (/** @type {string} */ value) => [{ type: "text", text: value }];

/** @type {Record<string, (args: any, extra: any) => any>} what each tool does, by name; all answer with content */
const actions = {
  echo: ({ text: value }) => text(value),
  add: ({ a, b }) => text(String(a + b)),
  sleep: async ({ ms }, { signal }) => {
    await sleep(ms, undefined, { signal });
    return text("slept");
  },
  progress: async ({ steps }, { _meta, sendNotification }) => {
    const progressToken = _meta?.progressToken;
    for (let progress = 1; progressToken !== undefined && progress <= steps; progress++) {
      await sendNotification({ method: "notifications/progress", params: { progressToken, progress, total: steps } });
    }
    return text("done");
  },
  fail: () => {
    throw new Error("disk full");
  },
  empty: () => [],
  image: () => [
    { type: "image", data: Buffer.from([0x89, 0x50, 0x4e, 0x47]).toString("base64"), mimeType: "image/png" },
  ],
  log_all: async () => {
    // The SDK itself keeps back what is below the level that the client set.
    for (const level of fixture.levels) await server.sendLoggingMessage({ level, data: level });
    return text("ok");
  },
  touch: async ({ uri }) => {
    if (subscriptions.has(uri)) await server.sendResourceUpdated({ uri });
    return text("ok");
  },
  ask_sampling: async ({ prompt }) => {
    const answer = await server.createMessage({
      messages: [{ role: "user", content: { type: "text", text: prompt } }],
      maxTokens: 100,
    });
    return text(answer.content.type === "text" ? answer.content.text : "no text came back");
  },
  ask_roots: async () => text(JSON.stringify((await server.listRoots()).roots.map(({ uri }) => uri))),
  add_tools: async ({ n }) => {
    for (let added = 0; added < n; added++) {
      const name = `extra${tools.length - fixture.tools.length + 1}`;
      tools.push({ name, inputSchema: { type: "object" } });
      actions[name] = () => text(name);
      await server.sendToolListChanged();
    }
    return text("ok");
  },
};

server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
  const tool = tools.find(({ name }) => name === params.name);
  if (tool === undefined) throw new McpError(INVALID_PARAMS, `unknown tool ${params.name}`);
  const checked = schemas.getValidator(tool.inputSchema)(params.arguments ?? {});
  if (!checked.valid) throw new McpError(INVALID_PARAMS, `arguments of ${params.name}: ${checked.errorMessage}`);
  try {
    return { content: await actions[params.name](checked.data, extra) };
  } catch (error) {
    return { content: text(String(error)), isError: true };
  }
});

/** The contents of a resource; throws for an unknown URI. */
function read(/** @type {string} */ uri) {
  if (uri === "test://static/text") return { uri, mimeType: "text/plain", text: "hello" };
  if (uri === "test://static/bin") {
    const blob = Buffer.from([0xfb, 0xff, 0xfe, 0xff]).toString("base64");
    return { uri, mimeType: "application/octet-stream", blob };
  }
  const item = /^test:\/\/items\/([^/?#]+)$/.exec(uri)?.[1];
  if (item !== undefined) return { uri, mimeType: "text/plain", text: `item:${decodeURIComponent(item)}` };
  throw new McpError(RESOURCE_NOT_FOUND, `resource ${uri} not found`, { uri });
}

server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => ({ contents: [read(params.uri)] }));
server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
  read(params.uri);
  subscriptions.add(params.uri);
  return {};
});
server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
  subscriptions.delete(params.uri);
  return {};
});

server.setRequestHandler(GetPromptRequestSchema, ({ params }) => {
  if (!["greet", "noargs"].includes(params.name)) throw new McpError(INVALID_PARAMS, `unknown prompt ${params.name}`);
  const name = params.arguments?.name;
  if (params.name === "greet" && name === undefined) {
    throw new McpError(INVALID_PARAMS, "prompt greet needs the argument name");
  }
  const said = params.name === "greet" ? `hello ${name}` : "hi";
  return { messages: [{ role: "user", content: { type: "text", text: said } }] };
});

server.setRequestHandler(CompleteRequestSchema, ({ params: { ref, argument } }) => {
  if (ref.type !== "ref/prompt" || ref.name !== "greet" || !["name", "style"].includes(argument.name)) {
    throw new McpError(INVALID_PARAMS, `nothing to complete for ${JSON.stringify(ref)}, argument ${argument.name}`);
  }
  if (argument.name === "style") return { completion: { values: [], total: 0, hasMore: false } };
  const values = Array.from({ length: MAX_COMPLETIONS }, (_, number) => `name${number}`);
  return { completion: { values, total: COMPLETIONS, hasMore: true } };
});

// The SDK does not watch for the end of its input; a server that stays when its client has gone would be an orphan.
process.stdin.on("end", () => process.exit(0));
await server.connect(new StdioServerTransport());
