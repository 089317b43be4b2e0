// What a screen reader says: whole sentences, never pieces of words.

import { byId, el } from "./dom.js";

const SENTENCES = /^[\s\S]*(?:[.!?…:](?=\s)|\n)/;
// Within a word an underscore is a part of it.
const MARKS = /[*`#|~]+|(?<![\p{L}\p{N}_])_+|_+(?![\p{L}\p{N}_])/gu;
const MOST = 20;

let unsaid = "";
let said = [];

export function hear(text) {
  unsaid += text;
  const whole = unsaid.match(SENTENCES)?.[0];
  if (!whole) return;
  unsaid = unsaid.slice(whole.length);
  said.push(whole.trim());
  say(whole);
}

export function say(text) {
  const words = text.replace(MARKS, "").trim();
  if (!words) return;
  const log = byId("spoken");
  log.append(el("p", {}, words));
  while (log.children.length > MOST) log.firstChild.remove();
}

// The end of an answer: what was not said while it was written. Its last pieces may never have been heard.
export function finish(text) {
  let left = "";
  let from = 0;
  for (const part of said) {
    const at = text.indexOf(part, from);
    if (at < 0) continue;
    left += text.slice(from, at);
    from = at + part.length;
  }
  say(left + text.slice(from));
  forget();
}

export function forget() {
  unsaid = "";
  said = [];
}
