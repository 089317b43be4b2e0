// What goes on at this moment, and what is wrong.

import { el, visible } from "/dom.js";
import { stop } from "./confirm.js";
import { buttons, facts, heading, Rows } from "./rows.js";
import { when } from "./times.js";

const DOING = { hooks: "hooks at", model: "model", tool: "tool", person: "waits for a person:", slot: "waits for another turn to end", compacting: "sums up what is older", sending: "stores and sends" };

let rows = null;
let gateways = null;

export const now = {
  title: "Now",
  show(data, place, { look }) {
    if (!rows?.element.isConnected) {
      rows = new Rows("Turns", { key: ({ session }) => session, row: (turn) => row(turn, look), none: "No turn is at work." });
      gateways = new Rows("Gateways", { key: ({ name }) => name, row: gateway, none: "" });
      place.replaceChildren(el("div", {}), rows.element);
    }
    if (data.gateways.length) rows.element.before(gateways.element);
    else gateways.element.remove();
    gateways.show(data.gateways);
    place.firstChild.replaceChildren(problems(data), figures(data));
    rows.show(data.turns);
  },
};

function problems({ problems: lines }) {
  if (!lines.length) return el("p", { class: "well" }, "All is well.");
  return el("ul", { class: "problems", "aria-label": "What is wrong" }, ...lines.map((line) => el("li", {}, visible(line))));
}

function figures({ version, started_at: at, sessions, queues, calls }) {
  return facts([
    ["hookgate", version],
    ["since", when(at)],
    ["turns at work", `${sessions.at_work} of ${sessions.most}`],
    ["conversations", `${sessions.stored}, ${sessions.loaded} of them loaded`],
    ["messages that wait", queues.waiting],
    ["chats that wait for delivery", queues.outgoing.length],
    ["calls", calls.calls],
    ["denied", calls.denied],
  ]);
}

function gateway({ name, here, version, since, draining, problems: lines, at_work, most, loaded, configuration }) {
  const [word, kind] = draining ? ["draining", "between"] : lines.length ? ["something is wrong", "bad"] : ["well", "good"];
  return [
    heading(el("b", {}, visible(name)), el("span", { class: `state ${kind}` }, word), here ? el("span", { class: "soft" }, "this one") : ""),
    facts([["version", version], ["since", when(since)], ["turns at work", `${at_work} of ${most}`], ["conversations loaded", loaded], ["configuration", configuration.slice(0, 8)]]),
  ];
}

function row({ session, agent, message, since, doing, name, task_of: agentOfTask, doing_since: started, behind }, look) {
  const word = `${DOING[doing] ?? doing}${name ? ` ${name}` : ""}${agentOfTask ? `, in the task of agent ${agentOfTask}` : ""}`;
  return [
    heading(el("b", {}, visible(session)), el("span", { class: `state ${doing === "person" ? "between" : "good"}` }, visible(word))),
    facts([["since", when(started)], ["turn began", when(since)], ["message", message], ["agent", agent], ["waiting behind it", behind || ""]]),
    buttons(stop(session, look)),
  ];
}
