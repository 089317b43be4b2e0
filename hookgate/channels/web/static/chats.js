// The list of chats: found, opened, begun, deleted. Knows nothing of what is said in them.

import * as api from "./api.js";
import { byId, el, iconButton } from "./dom.js";

const list = byId("chats");
const search = byId("search");
const TYPING_MS = 150;

let shown = "";
let timer = 0;

export function start({ open, deleted }) {
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, TYPING_MS);
  });
  list.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(link.dataset.chat);
  });
  byId("sure").addEventListener("close", async ({ target }) => {
    if (target.returnValue !== "yes") return;
    await api.deleteChat(target.dataset.chat);
    deleted(target.dataset.chat);
    refresh();
  });
}

let current = "";

export function mark(chat) {
  current = chat;
  for (const link of list.querySelectorAll("a")) markLink(link);
  return titleOf(chat);
}

export function titleOf(chat) {
  return [...list.querySelectorAll("a")].find((link) => link.dataset.chat === chat)?.firstChild.textContent ?? "";
}

export async function refresh() {
  const asked = search.value;
  const chats = await api.chats(asked);
  const text = JSON.stringify(chats);
  // What is typed meanwhile has an answer of its own; what has not changed keeps its focus.
  if (asked !== search.value || text === shown) return;
  shown = text;
  const held = list.contains(document.activeElement) ? document.activeElement.closest("li")?.firstChild.dataset.chat : "";
  list.replaceChildren(...chats.map(item));
  if (held) [...list.querySelectorAll("a")].find((link) => link.dataset.chat === held)?.focus();
}

function item({ id, title, running, waiting }) {
  const state = waiting ? ["waiting", "waits for a person"] : running ? ["running", "is being answered"] : null;
  const mark = state ? el("span", { class: `dot ${state[0]}`, title: state[1] }, el("span", { class: "unseen" }, state[1])) : "";
  const name = title || "New chat";
  const link = el("a", { href: `#chat=${encodeURIComponent(id)}`, "data-chat": id }, el("span", {}, name), mark);
  markLink(link);
  return el("li", {}, link, iconButton(`Delete ${name}`, "trash", () => ask(id, name)));
}

function markLink(link) {
  if (link.dataset.chat === current) link.setAttribute("aria-current", "page");
  else link.removeAttribute("aria-current");
}

function ask(id, name) {
  const sure = byId("sure");
  byId("sure-title").textContent = `Delete “${name}”?`;
  sure.dataset.chat = id;
  sure.returnValue = "";
  sure.showModal();
}
