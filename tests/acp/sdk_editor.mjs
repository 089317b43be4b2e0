// An ordinary editor written with the official SDK: `sdk_editor.mjs SDK FOLDER PROGRAM ARGUMENT...` has one conversation
// with that agent, allows whatever it asks, and prints each line that the agent wrote and what it made of them.
// Knows nothing of hookgate.
import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { Readable, Writable } from "node:stream";

const [sdk, folder, program, ...words] = process.argv.slice(2);
const acp = await import(pathToFileURL(sdk).href);
const agent = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"] });
const tell = (members) => process.stdout.write(`${JSON.stringify(members)}\n`);

let tail = "";
agent.stdout.on("data", (data) => {
  const lines = (tail + data).split("\n");
  tail = lines.pop();
  lines.forEach((line) => tell({ line: JSON.parse(line) }));
});

const editor = acp
  .client({ name: "editor" })
  .onRequest("session/request_permission", ({ params }) => ({
    outcome: { outcome: "selected", optionId: params.options.find((it) => it.kind === "allow_once").optionId },
  }))
  .onNotification("session/update", ({ params }) => tell({ update: params.update }));

const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
await editor.connectWith(stream, async (hookgate) => {
  await hookgate.request("initialize", { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
  const { sessionId } = await hookgate.request("session/new", { cwd: folder, mcpServers: [] });
  const ask = (text) => hookgate.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  tell({ stopReason: (await ask("Write it down.")).stopReason });
  await ask("/help");
  await hookgate.request("session/close", { sessionId });
  const { sessions } = await hookgate.request("session/list", {});
  tell({ sessions });
  await hookgate.request("session/load", { sessionId, cwd: folder, mcpServers: [] });
});
agent.stdin.end();
agent.on("exit", (status) => tell({ status }));
