// What is done to the gateway: asked about before, said afterwards.

import { Refused } from "/api.js";
import { byId, el, visible } from "/dom.js";
import { act } from "./asking.js";

const sure = byId("sure");
let chosen = null;

// A button that asks first. `title` and `follows` say what will happen, `yes` is the word for it; `name` and `members`
// are asked of the server, `then` is called once it has answered; `goes`: where what it was done to is shown no more.
export function action({ label, title, follows, yes, name, members, then, goes = "", danger = true }) {
  const click = ({ currentTarget }) => {
    chosen = { name, members, then, goes, from: currentTarget };
    byId("sure-title").replaceChildren(visible(title));
    byId("sure-follows").textContent = follows;
    byId("sure-yes").textContent = yes;
    byId("sure-yes").className = danger ? "danger" : "primary";
    sure.returnValue = "";
    sure.showModal();
  };
  return el("button", { type: "button", click }, label);
}

// What runs in a conversation is stopped from more than one view.
export function stop(session, look) {
  const follows = "The turn ends now, and its chat is told so. What was said stays; a call that runs is ended, and may have done some of its work.";
  return action({ label: "Stop", title: `Stop what runs in ${session}?`, follows, yes: "Stop", name: "sessions.stop", members: { session }, then: look });
}

export function said(text, bad = false) {
  const place = byId("done");
  place.className = bad ? "bad" : "";
  place.replaceChildren(visible(text));
}

sure.addEventListener("close", async () => {
  if (sure.returnValue !== "yes" || !chosen) return;
  const { name, members, then, goes, from } = chosen;
  chosen = null;
  from.disabled = true;
  try {
    const { text } = await act(name, members);
    if (goes) window.addEventListener("hashchange", () => said(text), { once: true });
    if (goes) location.hash = goes;
    else said(text);
    then?.();
  } catch (error) {
    said(error instanceof Refused ? error.message : "The server cannot be reached: whether it was done is not known. Look again before you try again.", true);
  }
  from.disabled = false;
  // Its row may be gone by now.
  if (!from.isConnected) byId("title").focus();
});
