// The operators' page as a whole: which view is open, when it is asked for again, what the connection does to it.

import * as api from "/api.js";
import { byId, el } from "/dom.js";
import * as asking from "./asking.js";
import { said } from "./confirm.js";
import { approvals } from "./approvals.js";
import { audit } from "./audit.js";
import { channels } from "./channels.js";
import { dead } from "./dead.js";
import { hooks } from "./hooks.js";
import { messages } from "./messages.js";
import { now } from "./now.js";
import { sessions } from "./sessions.js";

const VIEWS = { now, approvals, messages, dead, sessions, hooks, channels, audit };
const LOOK_MS = 3000;
const LONGEST_MS = 15_000;

let name = "";
let shown = "";
let state = {};
let timer = 0;
let tries = 0;
let asked = 0;

function begin() {
  // Whoever is not logged in yet becomes so where everybody does.
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) return logIn({ token, ops: "" });
  const items = Object.entries(VIEWS).map(([id, { title }]) => el("li", {}, el("a", { href: `#${id}` }, el("span", {}, title), el("span", { class: "badge", "data-count": id, hidden: true }))));
  byId("views").append(...items);
  open();
}

function logIn(words = { ops: location.hash.slice(1) }) {
  location.replace(`/#${new URLSearchParams(words)}`);
}

function shut(error) {
  clearTimeout(timer);
  if (error.status === 401) return logIn();
  byId("app").hidden = true;
  byId("shut").hidden = false;
  byId("why").textContent = error.message;
}

// `#sessions`, or `#sessions/ID` for one of them.
function open() {
  const [id, ...rest] = location.hash.slice(1).split("/");
  name = Object.hasOwn(VIEWS, id) ? id : "now";
  shown = "";
  state = { id: plain(rest.join("/")), search: "", most: 100 };
  byId("content").replaceChildren();
  byId("tools").replaceChildren(...(VIEWS[name].tools?.(state, look) ?? []));
  for (const link of byId("views").querySelectorAll("a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  byId("title").textContent = VIEWS[name].title;
  document.title = `${VIEWS[name].title} · hookgate`;
  byId("scroll").scrollTop = 0;
  said("");
  const chosen = document.body.classList.contains("side");
  showSide(false);
  if (chosen) byId("title").focus();
  look();
}

function plain(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

async function look() {
  clearTimeout(timer);
  // Nobody sees it: nothing is asked for.
  if (document.hidden) return;
  asked += 1;
  const own = asked;
  try {
    if (!api.who()) byId("who").textContent = (await api.me()).user;
    const [counts, data] = await Promise.all([asking.view("now"), name === "now" ? null : VIEWS[name].ask(state)]);
    if (own !== asked) return;
    count(counts.counts);
    show(data ?? counts);
    byId("shut").hidden = true;
    byId("app").hidden = false;
    connected(0);
  } catch (error) {
    if (own !== asked) return;
    if (error.status === 401 || error.status === 403) return shut(error);
    const passes = !(error instanceof api.Refused) || error.status === 503 || error.status === 429;
    if (!passes) said(error.message, true);
    byId("app").hidden = false;
    connected(passes ? tries + 1 : 0, error);
  }
  // A search of all that was ever said is made once.
  if (VIEWS[name].once?.(state) && !tries) return;
  timer = setTimeout(look, Math.min(LONGEST_MS, LOOK_MS * 2 ** Math.min(tries, 3)));
}

// What has not changed stays as it is: nothing jumps, no focus is lost.
function show(data) {
  const text = JSON.stringify(data);
  if (text !== shown) VIEWS[name].show(data, byId("content"), { look, state });
  shown = text;
}

function count(counts) {
  for (const badge of document.querySelectorAll("[data-count]")) {
    const number = counts[badge.dataset.count] ?? 0;
    badge.hidden = !number;
    badge.textContent = String(number);
  }
}

function connected(failures, error = null) {
  tries = failures;
  const why = error instanceof api.Refused ? error.message : "Connecting again: what stands here may be old";
  byId("connection").textContent = failures ? (navigator.onLine ? why : "Offline") : "";
}

function showSide(wanted) {
  document.body.classList.toggle("side", wanted);
  byId("menu").setAttribute("aria-expanded", String(wanted));
  if (wanted) byId("views").querySelector("a").focus();
}

window.addEventListener("hashchange", open);
window.addEventListener("online", look);
window.addEventListener("offline", () => connected(1));
document.addEventListener("visibilitychange", look);
byId("menu").addEventListener("click", () => showSide(!document.body.classList.contains("side")));
byId("shade").addEventListener("click", () => showSide(false));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.body.classList.contains("side")) {
    showSide(false);
    byId("menu").focus();
  }
});

begin();
