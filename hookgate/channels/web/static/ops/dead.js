// What was given up: why, and what can be done about it.

import { el, visible } from "/dom.js";
import { view } from "./asking.js";
import { action } from "./confirm.js";
import { facts, heading, Rows } from "./rows.js";
import { when } from "./times.js";

const KINDS = {
  message: { word: "not answered", again: "It waits for its turn again, as if it had never been tried, and is answered in its chat. What the turns that broke off have done stays done." },
  delivery: { word: "not delivered", again: "It goes out to its chat again, before anything newer that waits there." },
};

let rows = null;

export const dead = {
  title: "Dead letters",
  ask: ({ most }) => view("dead", { most }),
  show({ letters, more }, place, { state: its, look }) {
    if (!rows?.element.isConnected) {
      rows = new Rows("Dead letters", { key: ({ id }) => id, row: (letter) => row(letter, look), none: "Nothing was given up." });
      place.replaceChildren(rows.element);
    }
    const further = () => {
      its.most += 100;
      look();
    };
    rows.show(letters, more ? further : null);
  },
};

function row({ id, kind, session, text, why, at }, look) {
  const { word, again } = KINDS[kind];
  const gone = "Nobody is shown it here any more, and it is never tried again. What was said stays in its conversation.";
  return [
    heading(el("b", {}, visible(id)), el("span", { class: "state bad" }, word), el("span", { class: "soft" }, visible(session))),
    el("p", { class: "text" }, visible(text || "(no text)")),
    el("p", { class: "why" }, visible(why)),
    facts([["from", when(at)]]),
    el(
      "p",
      { class: "buttons" },
      action({ label: "Drop", title: `Drop ${id}?`, follows: gone, yes: "Drop", name: "dead.drop", members: { id }, then: look }),
      action({ label: "Try again", title: `Try ${id} again?`, follows: again, yes: "Try again", name: "dead.retry", members: { id }, then: look, danger: false }),
    ),
  ];
}
