// Hooks: how each is, what it has done, one started anew, the configuration taken over.

import { el, visible } from "/dom.js";
import { view } from "./asking.js";
import { action } from "./confirm.js";
import { buttons, facts, heading, Rows, state } from "./rows.js";
import { ms } from "./times.js";

let rows = null;

export const hooks = {
  title: "Hooks",
  tools: (_state, look) => [
    action({
      label: "Reload",
      title: "Reload the configuration?",
      follows: "Hooks that differ are exchanged once the new ones have said hello; rules, people, agents and routes change in the same moment. On any mistake nothing changes.",
      yes: "Reload",
      name: "reload",
      then: look,
      danger: false,
    }),
  ],
  ask: () => view("hooks"),
  show(data, place, { look }) {
    if (!rows?.element.isConnected) {
      rows = new Rows("Hooks", { key: ({ name, gateway }) => `${gateway} ${name}`, row: (hook) => row(hook, look), none: "There are no hooks: nothing is asked before a call." });
      place.replaceChildren(rows.element);
    }
    rows.show(data);
  },
};

function row(hook, look) {
  const { name, command } = hook;
  return [
    heading(el("b", {}, visible(name)), state(hook.state), hook.mode ? el("span", { class: "soft" }, hook.mode) : ""),
    hook.reason ? el("p", { class: "why" }, visible(hook.reason)) : "",
    hook.failing ? el("p", { class: "bad" }, visible(`fails now: ${hook.failing}`)) : "",
    facts([
      ["gateway", visible(hook.gateway)],
      ["stands at", hook.stages?.join(", ")],
      ["calls", hook.calls],
      ["decisions", decisions(hook.decisions)],
      ["failures", hook.failures],
      ["p50", ms(hook.p50_ms)],
      ["p99", ms(hook.p99_ms)],
      ["restarts", hook.restarts],
      ["process", hook.pid],
      ["audits missed", hook.audits_missed || ""],
      ["events dropped", hook.events_dropped || ""],
      ["command", command.join(" ")],
    ]),
    command.length && hook.here ? buttons(restart(name, look)) : "",
  ];
}

const decisions = (made) => Object.entries(made).map(([what, times]) => `${what} ${times}`).join(", ");

function restart(name, look) {
  const follows = "A new process of its program takes its place once it has said hello; the old one finishes the calls that it has. On any mistake the old one stays.";
  return action({ label: "Restart", title: `Restart the hook ${name}?`, follows, yes: "Restart", name: "hooks.restart", members: { name }, then: look });
}
