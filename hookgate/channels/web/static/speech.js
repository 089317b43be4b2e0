// What a screen reader says: whole sentences, never pieces of words.

import { byId, el } from "./dom.js";

const SENTENCES = /^[\s\S]*(?:[.!?…:](?=\s)|\n)/;
const MOST = 20;

let unsaid = "";
let said = false;

export function hear(text) {
  unsaid += text;
  const whole = unsaid.match(SENTENCES);
  if (whole) say(whole[0]);
}

export function say(text) {
  unsaid = unsaid.startsWith(text) ? unsaid.slice(text.length) : "";
  const words = text.replace(/[*_`#|~]+/g, "").trim();
  if (!words) return;
  const log = byId("spoken");
  log.append(el("p", {}, words));
  while (log.children.length > MOST) log.firstChild.remove();
  said = true;
}

// The end of an answer: what was not heard while it was written.
export function finish(text) {
  if (unsaid) say(unsaid);
  else if (!said) say(text);
  forget();
}

export function forget() {
  unsaid = "";
  said = false;
}
