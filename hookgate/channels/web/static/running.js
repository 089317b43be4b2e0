// The answer that is being written: its closed blocks stay, its open one is exchanged, once a frame at most.

import { el, icon } from "./dom.js";
import { decorate, toolItem, traceOf } from "./messages.js";
import * as speech from "./speech.js";

export class Running {
  element;
  #closed = el("div", { class: "said" });
  #open = el("div", { class: "said open" });
  #tools = el("ul", { class: "tools", role: "list" });
  #hooks = el("div");
  #trace = [];
  #html = "";
  #still = "";
  #due = 0;
  written = false;
  #changed;

  // `changed(change)` makes the change, and keeps the end in view where it was.
  constructor(changed) {
    this.#changed = changed;
    const wait = el("p", { class: "thinking" }, icon("gate"), el("span", { class: "unseen" }, "An answer is being written"));
    this.element = el("li", { class: "message assistant running" }, this.#tools, this.#closed, this.#open, wait, this.#hooks);
  }

  // What has been written so far, of somebody who comes to it later.
  adopt({ closed, html, tools, trace }) {
    this.begin();
    this.#tools.replaceChildren();
    this.#trace = [];
    for (const tool of tools ?? []) this.tool(tool);
    for (const step of trace ?? []) this.hook(step);
    this.#write(closed, html);
  }

  begin() {
    cancelAnimationFrame(this.#due);
    this.#due = 0;
    this.#html = this.#still = "";
    this.written = false;
    this.#closed.replaceChildren();
    this.#open.replaceChildren();
    speech.forget();
  }

  delta({ text, closed, html }) {
    speech.hear(text);
    this.#write(closed, html);
  }

  tool(tool) {
    const before = this.#tools.querySelector(`[data-tool="${CSS.escape(tool.id)}"]`);
    this.#changed(() => (before ? before.replaceWith(toolItem(tool)) : this.#tools.append(toolItem(tool))));
  }

  hook(step) {
    this.#trace.push(step);
    const open = this.#hooks.firstChild?.open ?? false;
    this.#changed(() => this.#hooks.replaceChildren(traceOf(this.#trace)));
    this.#hooks.firstChild.open = open;
  }

  #write(closed, html) {
    this.written ||= Boolean(closed || html);
    this.#html += closed ?? "";
    this.#still = html ?? "";
    this.#due ||= requestAnimationFrame(() => this.#changed(() => this.#show()));
  }

  #show() {
    this.#due = 0;
    if (this.#html) {
      this.#closed.insertAdjacentHTML("beforeend", this.#html);
      decorate(this.#closed);
    }
    this.#html = "";
    this.#open.innerHTML = this.#still;
    decorate(this.#open);
  }
}
