// The official client for Node against a gateway: prints what it was given. node official.mjs PACKAGE BASE_URL KEY

const [, , home, baseURL, apiKey] = process.argv;
const { default: OpenAI } = await import(home);
const client = new OpenAI({ baseURL, apiKey });
const asked = (content) => ({ model: "hookgate", messages: [{ role: "user", content }] });

const whole = await client.chat.completions.create(asked("say: one"));
let streamed = "";
for await (const chunk of await client.chat.completions.create({ ...asked("say: two words"), stream: true })) {
  streamed += chunk.choices[0]?.delta?.content ?? "";
}
const parameters = { type: "object", properties: {} };
const ran = await client.chat.completions
  .runTools({
    ...asked("weather"),
    tools: [{ type: "function", function: { name: "weather", description: "", parameters, parse: JSON.parse, function: () => "cold" } }],
  })
  .finalContent();
let refused;
try {
  await client.chat.completions.create({ ...asked("x"), temperature: "hot" });
} catch (error) {
  refused = [error.status, error.param];
}
console.log(JSON.stringify({ whole: whole.choices[0].message.content, streamed, ran, refused }));
