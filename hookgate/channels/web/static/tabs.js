// Which tabs of this browser listen. It has six connections to a host and each stream holds one, so those that nobody
// looks at let go of theirs. Knows no stream.

const MOST = 4;
const HIDDEN_MS = 30_000;

const tab = `${Date.now()} ${Math.random()}`;
// Those that have begun to listen since this one did.
const since = new Set();
const others = new BroadcastChannel("hookgate-tabs");

let state = "silent";
let timer = 0;
let acts = null;

const announce = (listens) => others.postMessage({ tab, listens });

// `acts`: `rest()` and `wake()`.
export function start(given) {
  acts = given;
  others.addEventListener("message", ({ data }) => {
    if (data.listens) since.add(data.tab);
    else since.delete(data.tab);
    // Awake again only for somebody who looks: those that took each other's place by themselves would never end.
    if (since.size >= MOST) rest();
  });
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(rest, HIDDEN_MS);
    else wake();
  });
  // Of the window alone: what moves the focus within a page is not always a person.
  window.addEventListener("focus", wake);
  for (const kind of ["pointerdown", "keydown"]) window.addEventListener(kind, wake, true);
  window.addEventListener("pagehide", () => announce(false));
}

// Whether this one may; what was opened unseen waits until somebody looks.
export function listen() {
  if (document.hidden && state !== "listening") {
    state = "resting";
    return false;
  }
  since.clear();
  state = "listening";
  announce(true);
  return true;
}

export function leave() {
  if (state === "listening") announce(false);
  state = "silent";
}

function rest() {
  if (state !== "listening") return;
  state = "resting";
  announce(false);
  acts.rest();
}

function wake() {
  if (state === "resting") acts.wake();
}
