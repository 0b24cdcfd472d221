// Lists the tools of a server and calls one, with the official TypeScript SDK 1.x or 2.x. Prints the result as JSON.
// node call_tool.mjs 1|2 TOOL ARGUMENTS http URL | stdio COMMAND ARG...
import { createRequire } from "node:module";

const [version, tool, given, kind, ...where] = process.argv.slice(2);
const load = createRequire(`${process.env.ASSENT_NODE_MODULES}/resolve.js`);

function library() {
  if (version === "2") {
    return { ...load("@modelcontextprotocol/client"), ...load("@modelcontextprotocol/client/stdio") };
  }
  const parts = ["index", "streamableHttp", "stdio"].map((part) => load(`@modelcontextprotocol/sdk/client/${part}.js`));
  return Object.assign({}, ...parts);
}

const { Client, StreamableHTTPClientTransport, StdioClientTransport } = library();
const transport =
  kind === "http"
    ? new StreamableHTTPClientTransport(new URL(where[0]))
    : new StdioClientTransport({ command: where[0], args: where.slice(1), env: process.env, stderr: "inherit" });
const client = new Client({ name: "test", version: "0" }, { capabilities: {} });
await client.connect(transport);
const { tools } = await client.listTools(); // from here on the client knows the output schemas, and checks results
const result = await client.callTool({ name: tool, arguments: JSON.parse(given) });
console.log(JSON.stringify({ listed: tools.find((one) => one.name === tool), result }));
await client.close();
