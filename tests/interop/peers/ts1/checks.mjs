/** The checks of the interop client. A check's name is the same in every client of this folder. */
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { EmptyResultSchema, McpError } from "@modelcontextprotocol/sdk/types.js";

/** @typedef {import("@modelcontextprotocol/sdk/client/index.js").Client} Client */
/** @typedef {{client: Client, inbox: import("./inbox.mjs").Inbox, revision: string | undefined}} Session */

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const RESOURCE_NOT_FOUND = -32002;
const REVISION = "2024-11-05";
const CAPABILITIES = ["experimental", "logging", "prompts", "resources", "tools"];
const LONG_SLEEP_MS = 600_000;
const FENCE_MS = 200;
const CONCURRENT = 50;
const MAX_PAGES = 50;
const LATE_PROGRESS = "Received a progress notification for an unknown token: ";

const fixture = JSON.parse(readFileSync(new URL("../../fixture.json", import.meta.url), "utf8"));

/**
 * @param {string} what
 * @param {unknown} seen
 * @param {unknown} wanted
 */
function equal(what, seen, wanted) {
  if (!isDeepStrictEqual(seen, wanted)) {
    throw new Error(`${what} is ${JSON.stringify(seen)}, wanted ${JSON.stringify(wanted)}`);
  }
}

/**
 * Awaits a request which the server must refuse with this code.
 * @param {number} code
 * @param {Promise<unknown>} request
 */
async function refused(code, request) {
  let result;
  try {
    result = await request;
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    equal("the error's code", error.code, code);
    return error;
  }
  throw new Error(`wanted error ${code}, got the result ${JSON.stringify(result)}`);
}

/**
 * The text of a tool's only content block; the call must not have failed.
 * @param {Client} client
 * @param {string} name
 * @param {Record<string, unknown>} args
 * @param {import("@modelcontextprotocol/sdk/shared/protocol.js").RequestOptions} [options]
 */
async function callText(client, name, args = {}, options = undefined) {
  const result = await client.callTool({ name, arguments: args }, undefined, options);
  if (result.isError) throw new Error(`${name} failed: ${JSON.stringify(result)}`);
  const content = /** @type {any[]} */ (result.content);
  equal(`number of content blocks of ${name}`, content.length, 1);
  equal("type of the block", content[0].type, "text");
  return /** @type {string} */ (content[0].text);
}

/** Gives the server time, by its own clock, to send what it must not send. */
async function fence(/** @type {Client} */ client) {
  equal("sleep", await callText(client, "sleep", { ms: FENCE_MS }), "slept");
}

/**
 * The items of all pages of a list, in which the fixture's own must be, and none twice.
 * @param {(params: {cursor?: string}) => Promise<any>} page
 * @param {string} what
 * @param {string} key
 * @returns {Promise<any[]>}
 */
async function listAll(page, what, key) {
  /** @type {any[]} */ const items = [];
  /** @type {string | undefined} */ let cursor;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const result = await page(cursor === undefined ? {} : { cursor });
    items.push(...result[what]);
    cursor = result.nextCursor;
    if (cursor === undefined) {
      const names = items.map((item) => item[key]);
      equal(`${what} named twice`, names.length - new Set(names).size, 0);
      const wanted = fixture[what].map((/** @type {any} */ item) => item[key]);
      equal(`${what} missing`, wanted.filter((/** @type {string} */ name) => !names.includes(name)), []);
      return items;
    }
  }
  throw new Error(`${what}: no end after ${MAX_PAGES} pages`);
}

const listTools = (/** @type {Client} */ client) => listAll((p) => client.listTools(p), "tools", "name");

async function readOne(/** @type {Client} */ client, /** @type {string} */ uri) {
  const { contents } = await client.readResource({ uri });
  equal("number of contents", contents.length, 1);
  equal("uri", contents[0].uri, uri);
  return /** @type {any} */ (contents[0]);
}

async function promptText(
  /** @type {Client} */ client,
  /** @type {{name: string, arguments?: Record<string, string>}} */ params,
) {
  const { messages } = await client.getPrompt(params);
  equal("number of messages", messages.length, 1);
  equal("role", messages[0].role, "user");
  return /** @type {any} */ (messages[0].content).text;
}

const complete = (
  /** @type {Client} */ client,
  /** @type {string} */ prompt,
  /** @type {string} */ name,
) => client.complete({ ref: { type: "ref/prompt", name: prompt }, argument: { name, value: "" } });

/** @type {Record<string, (session: Session) => Promise<void>>} */
export const CHECKS = {
  "initialize.revision": async ({ revision }) => equal("protocolVersion", revision, REVISION),
  "initialize.server_info": async ({ client }) => {
    const info = client.getServerVersion();
    equal("serverInfo.name", info?.name, fixture.name);
    if (!info?.version) throw new Error("serverInfo.version is empty");
  },
  "initialize.capabilities": async ({ client }) => {
    const { tools, prompts, resources, logging } = client.getServerCapabilities() ?? {};
    equal("tools.listChanged", tools?.listChanged, true);
    equal("prompts.listChanged", prompts?.listChanged, true);
    equal("resources.listChanged", resources?.listChanged, true);
    equal("resources.subscribe", resources?.subscribe, true);
    equal("has logging", logging !== undefined, true);
  },
  "initialize.no_later_members": async ({ client }) => {
    const later = Object.keys(client.getServerCapabilities() ?? {}).filter((name) => !CAPABILITIES.includes(name));
    equal("capabilities that this revision does not have", later, []);
  },
  ping: async ({ client }) => {
    await client.ping();
  },
  "method.unknown": async ({ client }) => {
    await refused(METHOD_NOT_FOUND, client.request({ method: "no/such" }, EmptyResultSchema));
  },
  "session.quiet": async ({ client, inbox }) => {
    await fence(client);
    equal("lists said to have changed, though nothing has", inbox.listChanges, []);
  },
  "tools.list": async ({ client }) => {
    for (const tool of await listTools(client)) {
      equal(`type of the inputSchema of ${tool.name}`, tool.inputSchema.type, "object");
    }
  },
  "tools.list.bad_cursor": async ({ client }) => {
    await refused(INVALID_PARAMS, client.listTools({ cursor: "garbage" }));
  },
  "tools.call.echo": async ({ client }) => equal("echo", await callText(client, "echo", { text: "hi" }), "hi"),
  "tools.call.unicode": async ({ client }) => {
    const text = 'line\nfeed\r\n\ttab \\ "quote" é 日本語 \u{1f600} \u2028\u2029 \x7f \x00';
    equal("echo", await callText(client, "echo", { text }), text);
  },
  "tools.call.large": async ({ client }) => {
    const text = "ü".repeat(524_288);
    if ((await callText(client, "echo", { text })) !== text) {
      throw new Error("1 MiB of text did not come back unchanged");
    }
  },
  "tools.call.concurrent": async ({ client }) => {
    const texts = Array.from({ length: CONCURRENT }, (_, number) => `call ${number}`);
    equal("answers", await Promise.all(texts.map((text) => callText(client, "echo", { text }))), texts);
  },
  "tools.call.add": async ({ client }) => {
    equal("2 + 3", await callText(client, "add", { a: 2, b: 3 }), "5");
    equal("1.5 + 0.25", await callText(client, "add", { a: 1.5, b: 0.25 }), "1.75");
  },
  "tools.call.fail": async ({ client }) => {
    const result = await client.callTool({ name: "fail", arguments: {} });
    equal("isError", result.isError, true);
    const said = /** @type {any[]} */ (result.content)[0].text;
    equal("the text has the author's message", said.includes("disk full"), true);
  },
  "tools.call.empty": async ({ client }) => {
    const result = await client.callTool({ name: "empty", arguments: {} });
    equal("content", result.content, []);
    equal("isError", result.isError ?? false, false);
  },
  "tools.call.image": async ({ client }) => {
    const [block] = /** @type {any[]} */ ((await client.callTool({ name: "image", arguments: {} })).content);
    equal("type", block.type, "image");
    equal("mimeType", block.mimeType, "image/png");
    equal("bytes", [...Buffer.from(block.data, "base64")], [0x89, 0x50, 0x4e, 0x47]);
  },
  "tools.call.unknown": async ({ client }) => {
    await refused(INVALID_PARAMS, client.callTool({ name: "nope", arguments: {} }));
  },
  "tools.call.bad_arguments": async ({ client }) => {
    await refused(INVALID_PARAMS, client.callTool({ name: "add", arguments: { a: "two", b: 3 } }));
    await refused(INVALID_PARAMS, client.callTool({ name: "echo", arguments: {} }));
  },
  "tools.progress": async ({ client, inbox }) => {
    /** @type {unknown[]} */ const seen = [];
    const before = inbox.faults.length;
    // When progress and result come in one read, this SDK forgets the call before it looks at the progress, and
    // reports it as a fault. It came all the same: what is asked of the server is that all of it comes.
    const lost = () =>
      inbox.faults
        .slice(before)
        .filter((fault) => fault.startsWith(LATE_PROGRESS))
        .map((fault) => JSON.parse(fault.slice(LATE_PROGRESS.length)).params)
        .map(({ progress, total }) => [progress, total]);
    const onprogress = (/** @type {{progress: number, total?: number}} */ { progress, total }) => {
      seen.push([progress, total]);
      inbox.tell();
    };
    equal("progress", await callText(client, "progress", { steps: 5 }, { onprogress }), "done");
    await inbox.until("5 progress notifications", () => seen.length + lost().length >= 5);
    equal("progress", [...seen, ...lost()], [1, 2, 3, 4, 5].map((step) => [step, 5]));
    inbox.faults.splice(before);
  },
  "tools.progress.unasked": async ({ client, inbox }) => {
    const before = inbox.faults.length;
    equal("progress", await callText(client, "progress", { steps: 3 }), "done");
    await fence(client);
    equal("faults", inbox.faults.slice(before), []);
  },
  "tools.cancel": async ({ client, inbox }) => {
    const before = inbox.faults.length;
    const controller = new AbortController();
    const call = client.callTool({ name: "sleep", arguments: { ms: LONG_SLEEP_MS } }, undefined, {
      signal: controller.signal,
      timeout: 2 * LONG_SLEEP_MS,
    });
    // Sent after the call on the same pipe: once this is answered, the server has the call.
    await client.ping();
    controller.abort("no longer wanted");
    const settled = await call.then(
      (result) => `the result ${JSON.stringify(result)}`,
      () => "rejected",
    );
    equal("outcome of the cancelled call", settled, "rejected");
    await fence(client);
    const said = inbox.faults.splice(before); // so that `session.no_faults` does not report it once more
    equal("what the server said about the cancelled call", said, []);
    equal("echo after that", await callText(client, "echo", { text: "still here" }), "still here");
  },
  "tools.list_changed": async ({ client, inbox }) => {
    const before = (await listTools(client)).length;
    const method = "notifications/tools/list_changed";
    const count = () => inbox.listChanges.filter((name) => name === method).length;
    const start = count();
    equal("add_tools", await callText(client, "add_tools", { n: 3 }), "ok");
    await inbox.until(method, () => count() > start);
    equal("new tools", (await listTools(client)).length - before, 3);
    await fence(client);
    equal("at most one notification for each tool", count() - start <= 3, true);
  },
  "resources.list": async ({ client }) => {
    await listAll((p) => client.listResources(p), "resources", "uri");
  },
  "resources.templates.list": async ({ client }) => {
    await listAll((p) => client.listResourceTemplates(p), "resourceTemplates", "uriTemplate");
  },
  "resources.read.text": async ({ client }) => {
    equal("text", (await readOne(client, "test://static/text")).text, "hello");
  },
  "resources.read.blob": async ({ client }) => {
    const part = await readOne(client, "test://static/bin");
    equal("bytes", [...Buffer.from(part.blob, "base64")], [0xfb, 0xff, 0xfe, 0xff]);
    equal("mimeType", part.mimeType, "application/octet-stream");
  },
  "resources.read.template": async ({ client }) => {
    equal("text", (await readOne(client, "test://items/7")).text, "item:7");
    equal("text", (await readOne(client, "test://items/a%20b")).text, "item:a b");
  },
  "resources.read.unknown": async ({ client }) => {
    const error = await refused(RESOURCE_NOT_FOUND, client.readResource({ uri: "test://none" }));
    equal("data", error.data, { uri: "test://none" });
  },
  "resources.subscribe": async ({ client, inbox }) => {
    const uri = "test://static/text";
    const start = inbox.updated.length;
    await client.subscribeResource({ uri });
    equal("touch", await callText(client, "touch", { uri }), "ok");
    await inbox.until("the update", () => inbox.updated.length > start);
    await fence(client);
    equal("updates", inbox.updated.slice(start), [uri]);
  },
  "resources.unsubscribe": async ({ client, inbox }) => {
    const uri = "test://static/text";
    await client.subscribeResource({ uri });
    await client.unsubscribeResource({ uri });
    const start = inbox.updated.length;
    equal("touch", await callText(client, "touch", { uri }), "ok");
    await fence(client);
    equal("updates", inbox.updated.slice(start), []);
  },
  "resources.subscribe.unknown": async ({ client }) => {
    await refused(RESOURCE_NOT_FOUND, client.subscribeResource({ uri: "test://none" }));
  },
  "prompts.list": async ({ client }) => {
    const prompts = await listAll((p) => client.listPrompts(p), "prompts", "name");
    const greet = prompts.find(({ name }) => name === "greet");
    const named = greet.arguments.map((/** @type {any} */ { name, required }) => [name, required ?? false]);
    equal("arguments of greet", Object.fromEntries(named), { name: true, style: false });
  },
  "prompts.get.greet": async ({ client }) => {
    const both = { name: "greet", arguments: { name: "Ada", style: "formal" } };
    equal("text", await promptText(client, both), "hello Ada");
    equal("text", await promptText(client, { name: "greet", arguments: { name: "Ada" } }), "hello Ada");
  },
  "prompts.get.noargs": async ({ client }) => equal("text", await promptText(client, { name: "noargs" }), "hi"),
  "prompts.get.missing_argument": async ({ client }) => {
    await refused(INVALID_PARAMS, client.getPrompt({ name: "greet", arguments: { style: "formal" } }));
  },
  "prompts.get.unknown": async ({ client }) => {
    await refused(INVALID_PARAMS, client.getPrompt({ name: "nope" }));
  },
  "completion.complete": async ({ client }) => {
    const { completion } = await complete(client, "greet", "name");
    equal("number of values", completion.values.length, 100);
    equal("hasMore", completion.hasMore, true);
    equal("total", completion.total ?? 150, 150);
  },
  "completion.unknown_prompt": async ({ client }) => {
    await refused(INVALID_PARAMS, complete(client, "nope", "name"));
  },
  "completion.unknown_argument": async ({ client }) => {
    await refused(INVALID_PARAMS, complete(client, "greet", "nope"));
  },
  "logging.set_level": async ({ client, inbox }) => {
    for (const level of /** @type {const} */ (["warning", "debug", "emergency"])) {
      await client.setLoggingLevel(level);
      const start = inbox.logs.length;
      const wanted = fixture.levels.slice(fixture.levels.indexOf(level));
      equal("log_all", await callText(client, "log_all"), "ok");
      await inbox.until("the log messages", () => inbox.logs.length >= start + wanted.length);
      await fence(client);
      const logged = inbox.logs.slice(start).map((message) => message.level);
      equal(`levels logged at ${level}`, logged, wanted);
    }
  },
  sampling: async ({ client, inbox }) => {
    const start = inbox.sampling.length;
    equal("answer", await callText(client, "ask_sampling", { prompt: "why?" }), "sampled: why?");
    equal("number of requests", inbox.sampling.length - start, 1);
    const { maxTokens, messages } = inbox.sampling[start];
    equal("maxTokens is a whole number above 0", Number.isInteger(maxTokens) && maxTokens > 0, true);
    equal("role", messages[0].role, "user");
  },
  "sampling.refused": async ({ client }) => {
    // What the tool makes of the refusal is its author's business, but it must be told, and the session lives on.
    const failed = await client.callTool({ name: "ask_sampling", arguments: { prompt: "refuse" } }).then(
      ({ isError }) => isError,
      (error) => error instanceof McpError,
    );
    equal("isError", failed, true);
    equal("echo after that", await callText(client, "echo", { text: "still here" }), "still here");
  },
  "roots.list": async ({ client, inbox }) => {
    equal("roots", JSON.parse(await callText(client, "ask_roots")), inbox.roots);
  },
  "roots.list_changed": async ({ client, inbox }) => {
    inbox.roots = ["file:///data/other"];
    await client.sendRootsListChanged();
    equal("roots", JSON.parse(await callText(client, "ask_roots")), inbox.roots);
  },
  "session.no_faults": async ({ inbox }) => {
    equal("what the SDK found wrong during the session", inbox.faults, []);
  },
};
