// What anybody would write first: everything that hookgate always sends is there without a question mark.
import { Plugin } from "./hookgate_plugin.mts";

const plugin = new Plugin("obvious");
const seen: string[] = [];

plugin.onMessage((said) => {
  seen.push(said.message.text.trim(), ...said.message.media, said.message.kind, said.context.inbound.chat_id);
  if (said.message.text.includes("spam")) return plugin.drop("spam");
});
plugin.beforeSend((said) => plugin.modify({ text: said.message.text.toUpperCase() }));
plugin.beforeLLM((asked) => {
  seen.push(...asked.messages.map((message) => message.role + message.content), asked.meta.TurnID);
  return plugin.modify({
    messages: asked.messages.slice(-2),
    tools: asked.tools.filter((tool) => tool.function.name !== "bash"),
  });
});
plugin.afterLLM((replied) => {
  seen.push(...replied.response.tool_calls.map((call) => call.function.name + call.function.arguments));
  return plugin.modify({ content: replied.response.content.trim() });
});
plugin.afterTool("*", (done) => {
  if (!done.result.is_error) return plugin.modify({ for_llm: done.result.for_llm.replaceAll("secret", "[secret]") });
});

await plugin.run();
