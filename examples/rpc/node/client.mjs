#!/usr/bin/env node
// Send one prompt to `zot rpc` and print what comes: the reply as it is written, each tool call, what it cost.
//
//     node client.mjs "how full is the disk?"
//
// `zot` is looked up on PATH and runs in this environment and folder. Exit status 1 where something failed.

import { spawn } from "node:child_process";

const message = process.argv.slice(2).join(" ") || "Say hello in one sentence.";
const token = process.env.ZOTCORE_RPC_TOKEN;
const zot = spawn("zot", ["rpc"], { stdio: ["pipe", "pipe", "inherit"] });
let failed = false;
let cost = 0;

function fail(text) {
  failed = true;
  console.error(`\n${text}`);
}

function send(command) {
  zot.stdin.write(JSON.stringify(command) + "\n");
}

// Split at LF alone: node:readline also splits at U+2028, which may stand inside a JSON string.
async function* lines(stream) {
  let rest = "";
  stream.setEncoding("utf8");
  for await (const chunk of stream) {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop();
    yield* parts.filter((part) => part.trim());
  }
}

// Whether this was the last one. An error is not: `done` follows it.
function take(event) {
  switch (event.type) {
    case "text_delta":
      process.stdout.write(event.delta);
      return false;
    case "tool_call":
      console.log(`\n[${event.name} ${JSON.stringify(event.args)}]`);
      return false;
    case "usage":
      cost = event.cumulative.cost_usd;
      return false;
    case "error":
      fail(`error: ${event.message}`);
      return false;
    case "response":
      if (!event.success) fail(`${event.command}: ${event.error}`);
      return !event.success;
    case "done":
      console.log(`\ncost: $${cost.toFixed(6)}`);
      return true;
    default:
      return false;
  }
}

async function talk() {
  if (token) send({ id: "0", type: "hello", token });
  send({ id: "1", type: "prompt", message });
  for await (const line of lines(zot.stdout)) {
    if (take(JSON.parse(line))) return;
  }
  fail("zot ended before it was done");
}

zot.on("error", (problem) => fail(`zot: ${problem.message}`));
zot.stdin.on("error", () => {}); // it ended; the end of its stdout says so
await talk();
process.exit(failed ? 1 : 0);
