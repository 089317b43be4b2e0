// Notes of a project: /note keeps one, /notes shows them, /clear-notes forgets them; the model reads them with a tool.
// No SDK: this file speaks zot's frames itself, one JSON object a line. All its types can be stripped, so Node runs it
// as it is; index.mjs is this file without them, for older Nodes, and `node strip.mjs` writes it again.

import { appendFile, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";

const EMPTY = "(scratchpad is empty)";

let project = process.cwd();

function send(frame) {
  process.stdout.write(JSON.stringify(frame) + "\n");
}

function folder() {
  return join(project, ".zot");
}

function file() {
  return join(folder(), "scratchpad-notes.jsonl");
}

async function notes() {
  try {
    const text = await readFile(file(), "utf8");
    return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  } catch (problem) {
    if ((problem).code === "ENOENT") return [];
    throw problem;
  }
}

async function keep(text) {
  const note = { time: new Date().toISOString(), text };
  await mkdir(folder(), { recursive: true });
  await appendFile(file(), JSON.stringify(note) + "\n");
  return (await notes()).length;
}

async function listed() {
  const lines = (await notes()).map((note, i) => `${i + 1}. [${note.time}] ${note.text}`);
  return lines.join("\n") || EMPTY;
}

const commands = {
  async note(args) {
    if (!args) return { action: "noop", error: "note: usage is /note <text>" };
    return { action: "display", display: `noted (#${await keep(args)}): ${args}` };
  },
  async notes() {
    return { action: "display", display: await listed() };
  },
  async "clear-notes"() {
    await rm(file(), { force: true });
    return { action: "display", display: "scratchpad cleared" };
  },
};

async function invoked(id, name, args) {
  const run = commands[name];
  try {
    const answer = run ? await run(args) : { action: "noop", error: `no command /${name} here` };
    send({ type: "command_response", id, ...answer });
  } catch (problem) {
    send({ type: "command_response", id, action: "noop", error: String(problem) });
  }
}

async function called(id, name) {
  try {
    if (name !== "read_notes") throw new Error(`no tool ${name} here`);
    send({ type: "tool_result", id, content: [{ type: "text", text: await listed() }] });
  } catch (problem) {
    send({ type: "tool_result", id, content: [{ type: "text", text: String(problem) }], is_error: true });
  }
}

// Whether the conversation goes on. A frame of another type means nothing here: newer hosts may send some.
async function take(frame) {
  switch (frame.type) {
    case "hello_ack":
      project = frame.cwd || project;
      break;
    case "command_invoked":
      await invoked(frame.id, frame.name, frame.args ?? "");
      break;
    case "tool_call":
      await called(frame.id, frame.name);
      break;
    case "shutdown":
      send({ type: "shutdown_ack" });
      return false;
  }
  return true;
}

function parsed(line) {
  try {
    const frame = JSON.parse(line);
    return frame && typeof frame === "object" ? (frame) : null;
  } catch {
    console.error(`scratchpad: skipped a line that is no JSON: ${line.slice(0, 200)}`);
    return null;
  }
}

// Split at LF alone: node:readline also splits at U+2028, which may stand inside a JSON string.
async function* lines() {
  let rest = "";
  process.stdin.setEncoding("utf8");
  for await (const chunk of process.stdin) {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop() ?? "";
    yield* parts.filter((part) => part.trim());
  }
}

send({ type: "hello", name: "scratchpad", version: "1.0.0", capabilities: ["commands", "tools"] });
send({ type: "register_command", name: "note", description: "keep a note" });
send({ type: "register_command", name: "notes", description: "show the notes" });
send({ type: "register_command", name: "clear-notes", description: "forget the notes" });
send({
  type: "register_tool",
  name: "read_notes",
  description: "The user's notes on this project.",
  schema: { type: "object", properties: {}, additionalProperties: false },
});
send({ type: "ready" });

// One frame after the other, so that notes are kept in the order in which they came.
for await (const line of lines()) {
  const frame = parsed(line);
  if (frame && !(await take(frame))) break;
}
