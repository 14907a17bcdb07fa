// Drives a server as an agent's program would: create, preview, ask to publish,
// wait for a person, hear what became of it. What it is to do comes as JSON in
// its one argument; what happens goes out as a JSON value a line. When a page
// is to be opened it says so and goes on as a browser would, which decides
// nothing.
//
//   {"sdk": "v1" | "v2", "era": "2025-11-25" | "2026-07-28",
//    "url": …, "key": … | "command": …, "args": […], "env": {…}, "slug": …}
const job = JSON.parse(process.argv[2]);
const say = (value) => process.stdout.write(JSON.stringify(value) + "\n");

const info = { name: "drive-" + job.sdk, version: "1.0.0" };
const capabilities = { elicitation: { url: {} } };
const open = async (request) => {
  say({ open: request.params.url, mode: request.params.mode });
  return { action: "accept" };
};

async function connect() {
  const http = { requestInit: { headers: { Authorization: "Bearer " + job.key } } };
  const process_ = { command: job.command, args: job.args, env: job.env, stderr: "inherit" };
  if (job.sdk === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const client = new Client(info, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, open);
    await client.connect(job.url ? new StreamableHTTPClientTransport(new URL(job.url), http) : new StdioClientTransport(process_));
    return client;
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const mode = job.era === "2026-07-28" ? { pin: job.era } : "legacy";
  const client = new Client(info, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler("elicitation/create", open);
  await client.connect(job.url ? new StreamableHTTPClientTransport(new URL(job.url), http) : new StdioClientTransport(process_));
  return client;
}

const client = await connect();
const call = async (name, args) => {
  const result = await client.callTool({ name, arguments: args });
  say({ tool: name, isError: result.isError === true, outcome: result.structuredContent, text: result.content?.[0]?.text });
  return result.structuredContent;
};

const { tools } = await client.listTools();
const { prompts } = await client.listPrompts();
const { resourceTemplates } = await client.listResourceTemplates();
say({ tools: tools.length, prompts: prompts.length, templates: resourceTemplates.length });

const made = await call("article_create", { site: "main", slug: job.slug, title: "Written by " + job.slug, body: "Kale.", command_id: job.slug });
const read = await client.readResource({ uri: "article://" + made.target.id });
say({ read: JSON.parse(read.contents[0].text).title });
await call("preview_create", { site: "main" });
const asked = await call("site_publish", { site: "main", items: [{ id: made.target.id }] });
await call("proposal_get", { proposal: asked.proposal.id });
await client.close();
