// One chat's events, without a gap: after every break it asks for what came after the last one it has.

import * as tabs from "./tabs.js";

const KINDS = [
  ...["snapshot", "message", "delta", "restart", "tool", "trace"],
  ...["approval", "approval_done", "approvals", "state"],
];
const LONGEST_PAUSE_MS = 4000;

export class Events {
  #path;
  #hear;
  #tell;
  #last = "";
  #source = null;
  #timer = 0;
  #tries = 0;

  // `hear(kind, data)`; `tell(state)` with "open", "lost", "offline" or "resting".
  constructor(path, hear, tell) {
    this.#path = path;
    this.#hear = hear;
    this.#tell = tell;
  }

  // Also where it is open: a phone that slept holds connections that have died without a word.
  open() {
    this.close();
    if (!navigator.onLine) {
      this.#tell("offline");
      return;
    }
    if (!tabs.listen()) return;
    const after = this.#last ? `?after=${encodeURIComponent(this.#last)}` : "";
    this.#source = new EventSource(this.#path + after);
    this.#source.onopen = () => {
      this.#tries = 0;
      this.#tell("open");
    };
    this.#source.onerror = () => this.#lost();
    for (const kind of KINDS) this.#source.addEventListener(kind, (event) => this.#heard(kind, event));
  }

  // Somebody looks: whatever waits for its next try has it now.
  hurry() {
    if (this.#timer) this.open();
  }

  // With a snapshot.
  anew() {
    this.#last = "";
    this.open();
  }

  close() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#source?.close();
    this.#source = null;
  }

  rest() {
    this.close();
    this.#tell("resting");
  }

  offline() {
    this.close();
    this.#tell("offline");
  }

  #heard(kind, event) {
    if (event.lastEventId) this.#last = event.lastEventId;
    this.#hear(kind, JSON.parse(event.data));
  }

  // The browser gives up for good after some refusals, and keeps a pace of its own after others.
  #lost() {
    this.close();
    this.#tell(navigator.onLine ? "lost" : "offline", this.#tries);
    const pause = Math.min(LONGEST_PAUSE_MS, 250 * 2 ** this.#tries);
    this.#tries += 1;
    this.#timer = setTimeout(() => this.open(), pause * (0.5 + Math.random()));
  }
}
