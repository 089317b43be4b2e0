// Every word of the TypeScript SDK, said when it is asked for. Its neighbours say the same in Python and Go.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

import { Plugin } from "./hookgate_plugin.mts";
import type { Answer, Call } from "./hookgate_plugin.mts";

const plugin = new Plugin("words", { max_in_flight: Number(process.env.LIMIT ?? "64") });
const released = Promise.withResolvers<void>();
const together = Promise.withResolvers<void>();
let running = 0;
let peak = 0;

plugin.onMessage((said) => {
  const answers: Record<string, Answer> = {
    modify: plugin.modify({ text: "changed" }),
    reply: plugin.reply("answered", ["data:,x"]),
    drop: plugin.drop("spam"),
    silent: plugin.drop("spam", ""),
    abort: plugin.abort("enough"),
  };
  return answers[said.message.text ?? ""];
});

plugin.beforeLLM((asked) =>
  plugin.modify({
    model: `${asked.model}!`,
    messages: [...asked.messages, { role: "user", content: "also" }],
  }),
);

plugin.afterLLM((replied) => plugin.modify({ content: replied.response.content?.toUpperCase() }));

plugin.beforeTool("*", async (call) => {
  switch (call.arguments.do) {
    case "deny":
      return plugin.deny(`${call.tool} ${call.tool_call_id} ${call.chat_id} ${call.meta.TurnID}`);
    case "modify":
      return plugin.modify({ arguments: { ...call.arguments, do: "changed" } });
    case "respond":
      return plugin.respond("for the model", { for_user: "for the user", is_error: true, media: ["data:,x"] });
    case "abort":
      return plugin.abort("enough");
    case "hard_abort":
      return plugin.hardAbort("enough");
    case "fail":
      throw new Error("not today");
    case "unclear":
      return { decision: "deny_tool", reason: "no" };
    case "checked":
      return { reason: "checked" };
    case "wait":
      return await cancelled(call);
    case "hold":
      await released.promise;
      return plugin.deny("held");
    case "release":
      released.resolve();
      return;
    case "count":
      return plugin.deny(String(await counted()));
    case "print":
      console.log("printed");
      spawnSync("echo from a child; cat", { shell: true, stdio: "inherit" });
      return plugin.deny(`stdin has ${readFileSync(0).length} bytes`);
  }
});

plugin.beforeTool("bash", (call) => (call.arguments.do === "checked" ? plugin.deny("the second") : undefined));

async function cancelled(call: Call): Promise<Answer> {
  plugin.log("it waits");
  await new Promise((over) => call.cancelled.addEventListener("abort", over));
  plugin.log("the wait is over");
  return plugin.deny("too late");
}

async function counted(): Promise<number> {
  running += 1;
  peak = Math.max(peak, running);
  if (running === plugin.max_in_flight) together.resolve();
  await together.promise;
  running -= 1;
  return peak;
}

plugin.approveTool("*", (call) => {
  const question = {
    title: "Run?",
    text: "this",
    approvers: ["role:ops"],
    ttl_s: 60,
    required: 2,
    self_approval: true,
  };
  switch (call.arguments.do) {
    case "approve":
      return plugin.approve();
    case "refuse":
      return plugin.refuse("no");
    case "ask":
      return plugin.ask(question);
    case "fail":
      throw new Error("not today");
  }
});

plugin.afterTool("*", (done) => plugin.modify({ for_llm: `${done.result.for_llm} in ${done.duration} ns` }));

plugin.beforeSend((sending) =>
  sending.message.text === "drop" ? plugin.drop(`in reply to ${sending.in_reply_to}`) : undefined,
);

plugin.event(["tool_*", "turn_end"], (event) => plugin.log(`heard ${event.kind} after ${event.dropped}`));

const parameters = { type: "object", properties: { text: { type: "string" } } };
plugin.tool("echo", { description: "Repeats.", parameters }, (args) => String(args.text));

await plugin.run();
