// Calls that wait for people, whole, decided here.

import { ApprovalCard } from "/approvals.js";
import { el } from "/dom.js";
import { act, view } from "./asking.js";

const PIECE = 50;

let cards = new Map();
let most = PIECE;
let extend = () => {};
// The same one all the time: a press that began on it ends on it, whatever has come meanwhile.
const further = el("button", { type: "button", click: () => extend() });
const rest = el("p", { class: "rest" }, further);

export const approvals = {
  title: "Approvals",
  ask: () => view("approvals"),
  show(requests, place, { look }) {
    if (!place.firstChild) {
      cards = new Map();
      most = PIECE;
    }
    const decide = (id, decision) => act("approvals.decide", { id, ...decision });
    const open = new Set(requests.map(({ id }) => id));
    for (const [id, card] of cards) if (!open.has(id) && !card.done) card.end("It was decided elsewhere, or its time is over.");
    for (const request of requests.slice(0, most)) {
      const known = cards.get(request.id);
      if (known) known.update(request);
      else cards.set(request.id, new ApprovalCard(request, decide));
    }
    // What was decided here stays to be read, below those that wait, until the view is left.
    const [waiting, done] = [[...cards.values()].filter((it) => !it.done), [...cards.values()].filter((it) => it.done)];
    const wanted = [...waiting, ...done].map((card) => card.element);
    extend = () => {
      most += PIECE;
      this.show(requests, place, { look });
    };
    further.textContent = `Show more (${requests.length - most} of ${requests.length} are not shown)`;
    if (requests.length > most) wanted.splice(waiting.length, 0, rest);
    if (!requests.length) wanted.unshift(el("p", { class: "rest" }, "No call waits for a person."));
    arrange(place, wanted);
  },
};

// Moved elements lose their focus, so none is moved that stands where it belongs.
function arrange(place, wanted) {
  for (const child of [...place.children]) if (!wanted.includes(child)) child.remove();
  wanted.forEach((element, at) => {
    if (place.children[at] !== element) place.insertBefore(element, place.children[at] ?? null);
  });
}
