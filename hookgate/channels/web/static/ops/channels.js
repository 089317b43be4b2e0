// Channels: how each is, by its own word, since when and why.

import { el, visible } from "/dom.js";
import { view } from "./asking.js";
import { facts, heading, Rows, state } from "./rows.js";
import { when } from "./times.js";

let rows = null;

export const channels = {
  title: "Channels",
  ask: () => view("channels"),
  show(data, place) {
    if (!rows?.element.isConnected) {
      rows = new Rows("Channels", { key: ({ name }) => name, row, none: "There are no channels." });
      place.replaceChildren(rows.element);
    }
    rows.show(data);
  },
};

function row({ name, kind, state: how, since, why }) {
  return [
    heading(el("b", {}, visible(name)), state(how), el("span", { class: "soft" }, visible(kind))),
    why ? el("p", { class: "why" }, visible(why)) : "",
    facts([["since", when(since) || "its start"]]),
  ];
}
