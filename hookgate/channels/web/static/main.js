// The page as a whole: who is logged in, which chat is open, what the keyboard and the connection do to it.

import * as api from "./api.js";
import { ApprovalCard } from "./approvals.js";
import { Chat } from "./chat.js";
import * as chats from "./chats.js";
import { Composer } from "./composer.js";
import { byId } from "./dom.js";
import * as outbox from "./outbox.js";
import * as tabs from "./tabs.js";

const LOOK_MS = 5000;
const SLEPT_MS = 5000;
const AGAIN_MS = 1000;
const CONNECTION = { open: "", lost: "Connecting again…", offline: "Offline", resting: "Paused: many tabs are open" };

let chat = null;
let chatId = "";
let user = "";
let looking = 0;
let hiddenAt = 0;
let naming = null;

const composer = new Composer({ send, edit, stop });

async function begin() {
  const hash = new URLSearchParams(location.hash.slice(1));
  let token = hash.get("token");
  hash.delete("token");
  // At once: an address is kept in histories and read over shoulders.
  if (token) history.replaceState(null, "", hash.size ? `#${hash}` : location.pathname);
  do {
    try {
      if (token) await api.login({ token });
      token = "";
      return await enter();
    } catch (error) {
      if (error instanceof api.Refused) return showLogin(error.status === 401 && !token ? "" : error.message);
    }
    // Once: whoever logs in by hand meanwhile keeps what is typed.
    if (byId("login").hidden) await showLogin("The server cannot be reached. Trying again…");
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  } while (!byId("login").hidden);
}

async function enter() {
  const me = await api.me();
  ({ user } = me);
  // Whoever was on the way to the operators' page has logged in now.
  const view = new URLSearchParams(location.hash.slice(1)).get("ops");
  if (view !== null) return location.replace(`/ops#${view}`);
  byId("who").textContent = user;
  byId("ops").hidden = !me.operates;
  byId("login").hidden = true;
  byId("app").hidden = false;
  // In one step with what shows it: what somebody has begun by then would be left again.
  open(new URLSearchParams(location.hash.slice(1)).get("chat") ?? "");
  await chats.refresh();
  showTitle();
  clearInterval(looking);
  looking = setInterval(look, LOOK_MS);
  look();
}

// `field`: what to write again.
async function showLogin(why, field = "") {
  chat?.close();
  chat = null;
  clearInterval(looking);
  byId("app").hidden = true;
  const login = byId("login");
  const ways = await api.logins().catch(() => ({ token: true, password: true }));
  byId("by-token").hidden = !ways.token;
  byId("by-name").hidden = !ways.password;
  byId("by-name").querySelector("summary").hidden = !ways.token;
  if (!ways.token) byId("by-name").open = true;
  login.hidden = false;
  login.querySelector(".refused").textContent = why;
  const first = ways.token && !byId("by-name").open ? "token" : "user";
  const input = login.querySelector(`[name=${field || first}]`);
  input.focus();
  input.select();
}

function failed(error) {
  if (error.status === 401) showLogin("Please log in again.");
  else composer.problem(error instanceof api.Refused ? error.message : "The server cannot be reached.");
}

// An empty id is a chat that has no number yet: it gets one with its first message.
function open(id) {
  chat?.close();
  chatId = id;
  chat = null;
  naming = null;
  history.replaceState(null, "", id ? `#chat=${encodeURIComponent(id)}` : location.pathname);
  showTitle();
  connection("open", 0);
  composer.running(false);
  byId("empty").hidden = Boolean(id);
  composer.open(id);
  showSide(false);
  if (id) connect();
}

function connect() {
  chat = new Chat(chatId, { connection, changed, edit: (message) => composer.edit(message), failed });
  chat.open();
  for (const { key, text } of outbox.of(user, chatId)) chat.pending(key, text, "sending");
}

function showTitle() {
  byId("title").textContent = chats.mark(chatId) || "New chat";
  document.title = `${byId("title").textContent} · hookgate`;
}

function changed(turned) {
  composer.running(chat?.running ?? false);
  if (turned) look();
}

async function connection(state, tries = 0) {
  const place = byId("connection");
  place.textContent = CONNECTION[state];
  place.className = state;
  if (state === "open") outbox.flush(user, sent);
  // A stream does not say why it was refused.
  if (state === "lost" && tries % 4 === 1) await api.still().catch((error) => error.status === 401 && failed(error));
}

async function send(text, media) {
  const by = user;
  let id = chatId;
  try {
    id ||= await newId();
  } catch (error) {
    composer.takeBack(text);
    failed(error);
    return;
  }
  const message = { user: by, chat: id, key: api.newKey(), text, media };
  outbox.put(message);
  if (id === chatId) chat?.pending(message.key, text, "sending");
  outbox.flush(user, sent);
}

// One chat for all that is sent before it has its number; whoever has gone elsewhere meanwhile stays there.
async function newId() {
  naming ??= api.newChat();
  const own = naming;
  try {
    const { id } = await own;
    if (naming === own) {
      composer.named(id);
      chatId = id;
      history.replaceState(null, "", `#chat=${encodeURIComponent(id)}`);
      connect();
    }
    return id;
  } finally {
    if (naming === own) naming = null;
  }
}

function sent(message, state, why) {
  if (message.chat === chatId) chat?.pending(message.key, message.text, state === "refused" ? "stored" : state, why);
  if (state === "refused") {
    composer.takeBack(message.text);
    composer.problem(why);
  }
  if (state === "stored") look();
}

async function edit(message, text) {
  try {
    await api.edit(chatId, message.id, text);
  } catch (error) {
    composer.takeBack(text);
    failed(error);
  }
}

function stop() {
  if (chat?.running) api.stop(chatId).catch(failed);
}

// What goes on in other chats.
async function look() {
  if (document.hidden || !navigator.onLine) return;
  try {
    await chats.refresh();
    if (chats.titleOf(chatId)) showTitle();
    const waiting = await api.approvals();
    chat?.recount(waiting);
    byId("waiting").hidden = !waiting.length;
    byId("waiting").textContent = waiting.length === 1 ? "1 approval" : `${waiting.length} approvals`;
    if (byId("all").open && !waiting.length) byId("all").close();
  } catch (error) {
    if (error.status === 401) failed(error);
  }
}

async function showWaiting() {
  const cards = (await api.approvals()).map((request) => new ApprovalCard(request).element);
  byId("all").querySelector("div").replaceChildren(...cards);
  byId("all").showModal();
}

function showSide(shown) {
  document.body.classList.toggle("side", shown);
  byId("menu").setAttribute("aria-expanded", String(shown));
  if (shown) byId("search").focus();
}

function awake() {
  if (document.hidden) {
    hiddenAt = Date.now();
    return;
  }
  if (Date.now() - hiddenAt > SLEPT_MS) chat?.open();
  else chat?.hurry();
  look();
}

byId("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await api.login(Object.fromEntries(new FormData(event.target)));
    event.target.reset();
    await enter();
  } catch (error) {
    const field = event.target.elements.token ? "token" : error.status === 401 ? "password" : "user";
    await showLogin(error instanceof api.Refused ? error.message : "The server cannot be reached.", field);
  }
});
byId("logout").addEventListener("click", async () => {
  try {
    await api.logout();
    // Whoever comes next is somebody else, perhaps.
    localStorage.clear();
    location.replace(location.pathname);
  } catch (error) {
    failed(error);
  }
});
byId("new").addEventListener("click", () => open(""));
byId("menu").addEventListener("click", () => showSide(!document.body.classList.contains("side")));
byId("shade").addEventListener("click", () => showSide(false));
byId("waiting").addEventListener("click", () => showWaiting().catch(failed));
byId("all").querySelector("button").addEventListener("click", () => byId("all").close());
chats.start({ open, deleted: (id) => id === chatId && open("") });

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing || document.querySelector("dialog[open]")) return;
  // There it has a meaning of its own.
  if (event.target.closest("select, [type=search]") && !document.body.classList.contains("side")) return;
  if (document.body.classList.contains("side")) showSide(false);
  else if (composer.editing) composer.leaveEditing();
  else stop();
});
document.addEventListener("visibilitychange", awake);
window.addEventListener("pageshow", (event) => event.persisted && chat?.open());
window.addEventListener("focus", () => chat?.hurry());
window.addEventListener("online", () => chat?.open());
window.addEventListener("offline", () => chat?.offline());

tabs.start({ rest: () => chat?.rest(), wake: () => chat?.open() });

begin();
