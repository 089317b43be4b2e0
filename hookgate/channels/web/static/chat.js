// One chat on the page: its messages, what is being written, what waits. Keeps what is shown in step with its events.

import * as api from "./api.js";
import { ApprovalCard } from "./approvals.js";
import { byId, el, visible } from "./dom.js";
import { Events } from "./events.js";
import { messageItem } from "./messages.js";
import { Running } from "./running.js";
import * as speech from "./speech.js";
import * as tabs from "./tabs.js";

const NEAR_END_PX = 48;
const LATE_MS = 1000;

const scroller = byId("scroll");
const list = byId("messages");

export class Chat {
  running = false;
  #id;
  #told;
  #acts;
  #events;
  #answer = null;
  #answered = true;
  #late = 0;
  #shown = new Map();
  #cards = new Map();
  #queued = new Set();

  // `told`: `connection(state, tries)`, `changed(elsewhere)` where the list of chats may show it, `edit(message)`, `failed(error)`.
  constructor(id, told) {
    this.#id = id;
    this.#told = told;
    this.#acts = { edit: told.edit, regenerate: () => api.regenerate(id).catch(told.failed) };
    this.#events = new Events(api.eventsOf(id), (kind, data) => this.#heard(kind, data), told.connection);
  }

  open() {
    this.#events.open();
  }

  hurry() {
    this.#events.hurry();
  }

  rest() {
    this.#events.rest();
  }

  offline() {
    this.#events.offline();
  }

  close() {
    this.#events.close();
    tabs.leave();
    this.#inTime();
    speech.forget();
    for (const place of [list, byId("queued"), byId("asks")]) place.replaceChildren();
  }

  // How many have said yes by now is told by no event.
  recount(requests) {
    for (const request of requests) if (!this.#cards.get(request.id)?.done) this.#cards.get(request.id)?.update(request);
  }

  // What was sent and is not yet known to be stored stands at the end, with what became of it.
  pending(key, text, state, why = "") {
    const before = list.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (state === "stored") before?.remove();
    else if (!this.#shown.has(key) && !this.#queued.has(key)) {
      const item = el("li", { class: `message user pending ${state}`, "data-key": key });
      const note = state === "failed" ? `not sent yet (${why.replace(/^not stored: /, "")}): it goes out as soon as it can` : "sending";
      item.append(el("div", { class: "said" }, visible(text)), el("p", { class: "actions" }, note));
      this.#keepEnd(() => (before ? before.replaceWith(item) : list.append(item)), true);
    }
    this.#emptiness();
  }

  #heard(kind, data) {
    switch (kind) {
      case "snapshot":
        return this.#snapshot(data);
      case "message":
        return this.#message(data);
      case "delta":
        return this.#written().delta(data);
      case "restart":
        return this.#written().begin();
      case "tool":
        return this.#written().tool(data);
      case "trace":
        return this.#written().hook(data);
      case "approval":
        return this.#ask(data, true);
      case "approval_done":
        return this.#decided(data);
      case "approvals":
        return this.#told.changed(true);
      case "state":
        return this.#state(data);
    }
  }

  // What is there already stays as it is: nothing jumps, no selection is lost.
  #snapshot({ messages, running, approvals, queued }) {
    this.#inTime();
    this.#answered = true;
    this.#keepEnd(() => {
      const now = new Set(messages.map(({ id }) => id));
      for (const [id, { item }] of this.#shown) if (!now.has(id)) this.#drop(id, item);
      let before = null;
      for (const message of messages) before = this.#put(message, before);
      this.#endAnswer();
      if (running) this.#written().adopt(running);
      const open = new Set(approvals.map(({ id }) => id));
      for (const [id, card] of this.#cards) if (!open.has(id) && !card.done) this.#remove(id, card);
      this.#clear();
      for (const card of approvals) this.#ask(card, false);
    }, this.#shown.size === 0);
    this.#state({ running: Boolean(running), queued });
  }

  #inTime() {
    clearTimeout(this.#late);
    this.#late = 0;
  }

  #drop(id, item) {
    item.remove();
    this.#shown.delete(id);
  }

  #remove(id, card) {
    card.element.remove();
    this.#cards.delete(id);
  }

  // What was decided is over with whatever comes next: beside that it would read as if it were meant.
  #clear() {
    for (const [id, card] of this.#cards) if (card.done) this.#remove(id, card);
  }

  #put(message, after) {
    const text = JSON.stringify(message);
    const known = this.#shown.get(message.id);
    let item = known?.item;
    if (known?.text !== text) {
      item = messageItem(message, this.#acts);
      known?.item.replaceWith(item);
      this.#shown.set(message.id, { item, text });
    }
    const next = after ? after.nextSibling : list.firstChild;
    if (item !== next) list.insertBefore(item, next);
    return item;
  }

  #message(message) {
    // In place of an earlier one: what came after that is gone.
    if (message.replaces) return this.#events.anew();
    this.#keepEnd(() => {
      this.#clear();
      const known = this.#shown.get(message.id);
      const last = [...list.children].findLast((item) => item.dataset.id);
      this.#put(message, known ? known.item.previousSibling : (last ?? null));
      // Its event may come before the answer to whoever sent it; its number is the key that it was sent with.
      this.pending(message.id, "", "stored");
      if (message.role === "assistant") {
        this.#answered = true;
        this.#inTime();
        this.#endAnswer(message.text);
      }
    });
    this.#emptiness();
  }

  #written() {
    if (!this.#answer) {
      this.#answer = new Running((change) => this.#keepEnd(change));
      this.#keepEnd(() => list.append(this.#answer.element));
    }
    return this.#answer;
  }

  // Its message is about to come; where none does, what was read of it is with the server.
  #ended(before) {
    if (!this.#answer?.written) this.#endAnswer();
    if (before && !this.#answered) this.#late ||= setTimeout(() => this.#events.anew(), LATE_MS);
  }

  #endAnswer(text = "") {
    if (text) speech.finish(text);
    this.#answer?.element.remove();
    this.#answer?.begin();
    this.#answer = null;
  }

  #ask(request, spoken) {
    const known = this.#cards.get(request.id);
    if (known && !known.done) return known.update(request);
    const card = new ApprovalCard(request);
    this.#keepEnd(() => {
      this.#clear();
      this.#cards.set(request.id, card);
      byId("asks").append(card.element);
    });
    if (spoken) speech.say(`${request.title || request.tool} waits for an approval.`);
    this.#told.changed(true);
  }

  #decided({ id, text }) {
    this.#keepEnd(() => {
      const card = this.#cards.get(id);
      card?.end(text);
      // Below those that still wait.
      if (card) byId("asks").append(card.element);
    });
    speech.say(text);
    this.#told.changed(true);
  }

  #state({ running, queued }) {
    const before = this.running;
    this.running = running;
    if (running) {
      this.#answered &&= before;
      this.#written();
    } else this.#ended(before);
    this.#queued = new Set(queued.map(({ id }) => id));
    // The server may have it before whoever sent it hears that.
    for (const id of this.#queued) this.pending(id, "", "stored");
    const waiting = queued.filter(({ id }) => !this.#shown.has(id));
    const items = waiting.map(({ text }) => el("li", { class: "message user" }, el("div", { class: "said" }, visible(text))));
    this.#keepEnd(() => byId("queued").replaceChildren(...items));
    for (const [id, { item }] of this.#shown) item.classList.toggle("queued", this.#queued.has(id));
    this.#emptiness();
    this.#told.changed(before !== running);
  }

  #emptiness() {
    byId("empty").hidden = Boolean(list.children.length || byId("asks").children.length);
  }

  #keepEnd(change, always = false) {
    const atEnd = always || nearEnd();
    change();
    if (atEnd) scroller.scrollTop = scroller.scrollHeight;
    byId("bottom").hidden = atEnd || scroller.scrollHeight <= scroller.clientHeight;
  }
}

function nearEnd() {
  return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_END_PX;
}

scroller.addEventListener("scroll", () => {
  byId("bottom").hidden = nearEnd();
});
byId("bottom").addEventListener("click", () => scroller.scrollTo({ top: scroller.scrollHeight, behavior: "smooth" }));
