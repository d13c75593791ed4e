/** The interop client, made with the TypeScript SDK 1.x: `client.mjs -- SERVER_COMMAND…`. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CreateMessageRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  McpError,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { CHECKS } from "./checks.mjs";
import { DEADLINE_S, Inbox } from "./inbox.mjs";

/** The transport is told which revision was agreed on; the client shows it nowhere else. */
class Transport extends StdioClientTransport {
  /** @type {string | undefined} */ revision;
  setProtocolVersion(/** @type {string} */ revision) {
    this.revision = revision;
  }
}

/** A client that answers sampling and roots from the inbox and files what the server sends by itself. */
function makeClient(/** @type {Inbox} */ inbox) {
  const client = new Client(
    { name: "interop-ts1", version: "1.0.0" },
    { capabilities: { sampling: {}, roots: { listChanged: true } } },
  );
  client.onerror = (error) => {
    inbox.faults.push(error.message);
    inbox.tell();
  };
  client.fallbackNotificationHandler = async ({ method }) => {
    inbox.faults.push(`notification ${method} is not of this revision`);
  };
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
    inbox.logs.push(params);
    inbox.tell();
  });
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    inbox.updated.push(params.uri);
    inbox.tell();
  });
  for (const schema of [
    ToolListChangedNotificationSchema,
    ResourceListChangedNotificationSchema,
    PromptListChangedNotificationSchema,
  ]) {
    client.setNotificationHandler(schema, ({ method }) => {
      inbox.listChanges.push(method);
      inbox.tell();
    });
  }
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
    const answer = inbox.answer(params);
    if (answer === undefined) throw new McpError(-1, "the user refused");
    return { role: "assistant", content: { type: "text", text: answer }, model: "m", stopReason: "endTurn" };
  });
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: inbox.roots.map((uri) => ({ uri })) }));
  return client;
}

/**
 * One line that says what went wrong.
 * @param {unknown} error
 */
const reason = (error) => (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ").slice(0, 500);

/**
 * @template T
 * @param {Promise<T>} work
 * @returns {Promise<T>} the same, but rejected when it takes longer than twice the deadline
 */
function limited(work) {
  /** @type {NodeJS.Timeout | undefined} */ let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${2 * DEADLINE_S} s`)), 2000 * DEADLINE_S);
  });
  return Promise.race([work, /** @type {Promise<never>} */ (late)]).finally(() => clearTimeout(timer));
}

/** Runs all checks and prints a line for each; the exit code is 0 only if all are ok. */
async function main() {
  const argv = process.argv.slice(process.argv[2] === "--" ? 3 : 2);
  if (argv.length === 0) {
    console.error("usage: client.mjs -- SERVER_COMMAND [ARGUMENT…]");
    process.exit(1);
  }
  let done = 0;
  let failed = 0;
  const line = (/** @type {string} */ name, /** @type {unknown} */ error) => {
    done += 1;
    if (error !== undefined) failed += 1;
    console.log(error === undefined ? `ok ${done} - ${name}` : `not ok ${done} - ${name}: ${reason(error)}`);
  };
  /** @type {unknown} */ let broken;
  const inbox = new Inbox();
  const client = makeClient(inbox);
  const transport = new Transport({ command: argv[0], args: argv.slice(1) });
  try {
    await limited(client.connect(transport));
  } catch (error) {
    broken = error;
  }
  for (const [name, check] of Object.entries(CHECKS)) {
    /** @type {unknown} */ let error = broken;
    if (error === undefined) {
      try {
        await limited(check({ client, inbox, revision: transport.revision }));
      } catch (fault) {
        error = fault;
      }
    }
    line(name, error);
  }
  try {
    await limited(client.close());
  } catch (error) {
    broken ??= error;
  }
  line("session.close", broken);
  console.log(`1..${done}`);
  process.exitCode = failed === 0 ? 0 : 1;
}

await main();
