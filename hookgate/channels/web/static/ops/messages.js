// Where a message is: found by its id, its text, its sender or its chat, with the way that it came.

import { el, visible } from "/dom.js";
import { view } from "./asking.js";
import { heading, Rows, search, state } from "./rows.js";
import { when } from "./times.js";

let rows = null;

export const messages = {
  title: "Messages",
  tools: (its, look) => [search("Id, text, sender or chat", its, look)],
  ask: ({ search: words, most }) => view("messages", { words, most }),
  show({ messages: found, more }, place, { state: its, look }) {
    if (!rows?.element.isConnected) {
      rows = new Rows("Messages", { key: ({ message }) => message, row, none: "No message is known by this." });
      place.replaceChildren(rows.element);
    }
    const further = () => {
      its.most += 100;
      look();
    };
    rows.show(found, more ? further : null);
  },
};

function row({ message, session, sender, text, state: how, waits_for: waits, until, steps, why: reason }) {
  const way = steps.map(({ what, at, why }) => el("span", { class: "step" }, visible(what), " ", when(at), why ? visible(` (${why})`) : ""));
  return [
    heading(el("b", {}, visible(message)), state(how), el("span", { class: "soft" }, visible(sender ? `${sender} in ${session}` : session))),
    el("p", { class: "text" }, visible(text || "(no text)")),
    reason ? el("p", { class: "waits" }, visible(`${how}: ${reason}`)) : "",
    waits ? el("p", { class: "waits" }, visible(`waits ${waits}`), until ? ", until " : "", when(until)) : "",
    el("p", { class: "way soft" }, ...way),
  ];
}
