// Conversations: found, read, what runs in them stopped, forgotten.

import { el, visible } from "/dom.js";
import { view } from "./asking.js";
import { action, stop } from "./confirm.js";
import { buttons, facts, heading, Rows, search, state } from "./rows.js";
import { when } from "./times.js";

let rows = null;

export const sessions = {
  title: "Sessions",
  once: ({ id, search: words }) => Boolean(words && !id),
  tools: (its, look) => (its.id ? [] : [search("What was said, or the chat", its, look)]),
  ask: ({ id, search: words, most }) => (id ? view("transcript", { id, most }) : view("sessions", { words, most })),
  show(data, place, { state: its, look }) {
    const further = () => {
      its.most += 100;
      look();
    };
    if (its.id) showTranscript(data, place, further, look);
    else showAll(data, place, further, look);
  },
};

function showAll({ sessions: found, more }, place, further, look) {
  if (!rows?.element.isConnected || place.firstChild !== rows.element) {
    rows = new Rows("Sessions", { key: ({ id }) => id, row: (session) => row(session, look), none: "There is no conversation with this in it." });
    place.replaceChildren(rows.element);
  }
  rows.show(found, more ? further : null);
}

function row({ id, session, agent, title, last_at: at, busy, waiting }, look) {
  return [
    heading(el("a", { href: `#sessions/${encodeURIComponent(id)}` }, visible(title || "(no text)")), busy ? state("running") : ""),
    facts([["chat", session], ["agent", agent], ["last used", when(at)], ["waiting", waiting || ""]]),
    ends(session, busy, look),
  ];
}

// `goes`: where what was forgotten is shown no more.
function ends(session, busy, look, goes = "") {
  const follows = "What runs there ends, and everything that was ever said in this chat is gone for good, to every agent. The audit keeps that it was there, not what it was.";
  const forget = action({ label: "Forget", title: `Forget ${session}?`, follows, yes: "Forget", name: "sessions.forget", members: { session }, then: look, goes });
  return buttons(busy ? stop(session, look) : "", forget);
}

function showTranscript({ id, session, busy, entries, more }, place, further, look) {
  const back = el("p", {}, el("a", { href: "#sessions" }, "All sessions"));
  const earlier = more ? el("p", { class: "rest" }, el("button", { type: "button", click: further }, "Show earlier entries")) : "";
  const said = entries.map(({ number, role, text, calls }) =>
    el(
      "li",
      { class: "entry" },
      heading(el("b", {}, role), el("span", { class: "soft" }, `${number}`)),
      text ? el("pre", { class: "text", tabindex: "0" }, visible(text)) : "",
      ...calls.map((call) => el("pre", { class: "call", tabindex: "0" }, visible(`${call.name} ${call.arguments}`))),
    ),
  );
  const list = el("ol", { class: "rows", role: "list", "aria-label": "What was said" }, ...said);
  place.replaceChildren(back, heading(el("b", {}, visible(id)), busy ? state("running") : ""), ends(session, busy, look, "#sessions"), earlier, list);
}
