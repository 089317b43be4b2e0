// Lists of rows: built piece by piece, of which what has not changed stays. Knows nothing of what is listed.

import { byId, el, visible } from "/dom.js";

const PIECE = 100;

// `key(item)`, `row(item)`: the element's content; `none`: the line where there is nothing.
export class Rows {
  #key;
  #row;
  #none;
  #most = PIECE;
  #items = [];
  #more = null;
  #known = new Map();
  #list;
  #rest = el("p", { class: "rest" });
  // The same one all the time: a press that began on it ends on it, whatever has come meanwhile.
  #further = el("button", { type: "button", click: () => this.#extend() });
  element;

  constructor(label, { key, row, none }) {
    this.#key = key;
    this.#row = row;
    this.#none = none;
    this.#list = el("ul", { class: "rows", role: "list", "aria-label": label });
    this.element = el("div", {}, this.#list, this.#rest);
  }

  // `more`: brings further ones, where the server has some that it has not sent.
  show(items, more = null) {
    this.#items = items;
    this.#more = more;
    const before = this.#known;
    this.#known = new Map();
    const wanted = items.slice(0, this.#most).map((item) => {
      const key = this.#key(item);
      const text = JSON.stringify(item);
      const same = before.get(key);
      const node = same?.text === text ? same.node : this.#item(item);
      this.#known.set(key, { node, text });
      return node;
    });
    const held = this.#list.contains(document.activeElement) ? document.activeElement : null;
    const at = held ? [...this.#list.querySelectorAll("button, a, summary")].indexOf(held) : -1;
    this.#list.replaceChildren(...wanted);
    this.#list.hidden = !wanted.length;
    if (held) (held.isConnected ? held : ([...this.#list.querySelectorAll("button, a, summary")][at] ?? byId("title"))).focus({ preventScroll: true });
    this.#end();
  }

  // What can be done stands beside what is said.
  #item(item) {
    const parts = this.#row(item).filter(Boolean);
    const isDone = (part) => part.classList.contains("buttons");
    return el("li", {}, el("div", {}, ...parts.filter((part) => !isDone(part))), ...parts.filter(isDone));
  }

  #extend() {
    const left = this.#items.length - this.#most;
    this.#most += PIECE;
    this.show(this.#items, this.#more);
    if (left <= PIECE) this.#more?.();
  }

  #end() {
    const left = this.#items.length - this.#most;
    this.#further.textContent = left > 0 ? `Show more (${left} of ${this.#items.length} are not shown)` : "Show more";
    if (left <= 0 && !this.#more) this.#rest.replaceChildren(this.#items.length ? "" : this.#none);
    else if (!this.#further.isConnected) this.#rest.replaceChildren(this.#further);
  }
}

// Name and value, side by side; what is empty is left out.
export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return el("dl", { class: "facts" }, ...shown.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value instanceof Node ? value : visible(String(value))))));
}

const GOOD = ["up", "built in", "receiving", "elsewhere", "answered", "delivered", "anchored", "inside"];
const BAD = ["down", "failed", "quarantined", "dead", "broken", "truncated", "stopped", "refused"];

// A word for how something is; the colour says nothing that the word does not.
export function state(word) {
  const kind = GOOD.includes(word) ? "good" : BAD.includes(word) ? "bad" : "between";
  return el("span", { class: `state ${kind}` }, visible(word));
}

export const buttons = (...all) => el("p", { class: "buttons" }, ...all);

export function heading(...parts) {
  return el("p", { class: "head" }, ...parts);
}

export function search(label, its, look) {
  let timer = 0;
  const input = ({ target }) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      its.search = target.value;
      look();
    }, 250);
  };
  return el("input", { type: "search", "aria-label": label, placeholder: label, enterkeyhint: "search", input });
}
