// What goes on at this moment, and what is wrong.

import { el, visible } from "/dom.js";
import { action } from "./confirm.js";
import { facts, heading, Rows, state } from "./rows.js";
import { when } from "./times.js";

let rows = null;

export const now = {
  title: "Now",
  show(data, place, { look }) {
    if (!rows?.element.isConnected) {
      rows = new Rows("Turns", { key: ({ session }) => session, row: (turn) => row(turn, look), none: "No turn is at work." });
      place.replaceChildren(el("div", {}), rows.element);
    }
    place.firstChild.replaceChildren(...data.problems.map((line) => el("p", { class: "bad" }, visible(line))));
    rows.show(data.turns);
  },
};

function row({ session }, look) {
  return [heading(el("b", {}, visible(session)), state("running"))];
}
