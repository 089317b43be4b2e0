// What was given up: why, and what can be done about it.

import { el, visible } from "/dom.js";
import { view } from "./asking.js";
import { action } from "./confirm.js";
import { buttons, facts, heading, Rows } from "./rows.js";
import { when } from "./times.js";

const KINDS = {
  incoming: { word: "not answered", again: "It waits for its turn again, as if it had never been tried, and is answered in its chat. What the turns that broke off have done stays done." },
  outgoing: { word: "not delivered", again: "It goes out to its chat again, before anything newer that waits there." },
};

let rows = null;

export const dead = {
  title: "Dead letters",
  ask: () => view("dead"),
  show({ letters, dead: all }, place, { look }) {
    if (!rows?.element.isConnected) {
      rows = new Rows("Dead letters", { key: ({ id }) => id, row: (letter) => row(letter, look), none: "Nothing was given up." });
      place.replaceChildren(rows.element, el("p", { class: "rest" }));
    }
    rows.show(letters);
    const left = all - letters.length;
    place.lastChild.replaceChildren(left > 0 ? `${left} older ones come once these are dealt with.` : "");
  },
};

function row({ id, kind, session, message, text, why, at, tries }, look) {
  const { word, again } = KINDS[kind];
  const gone = "Nobody is shown it here any more, and it is never tried again. What was said stays in its conversation.";
  return [
    heading(el("b", {}, visible(id)), el("span", { class: "state bad" }, word), el("span", { class: "soft" }, visible(session))),
    el("p", { class: "text" }, visible(text || "(no text)")),
    el("p", { class: "why" }, visible(why)),
    facts([["from", when(at)], ["answers", message === id ? "" : message], ["tries", tries]]),
    buttons(
      action({ label: "Drop", title: `Drop ${id}?`, follows: gone, yes: "Drop", name: "letters.drop", members: { id }, then: look }),
      action({ label: "Try again", title: `Try ${id} again?`, follows: again, yes: "Try again", name: "letters.retry", members: { id }, then: look, danger: false }),
    ),
  ];
}
