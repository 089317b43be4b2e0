// What is done to the gateway: asked about before, said afterwards.

import { Refused } from "/api.js";
import { byId, el, visible } from "/dom.js";
import { act } from "./asking.js";

const sure = byId("sure");
let chosen = null;

// A button that asks first. `title` and `follows` say what will happen, `yes` is the word for it; `name` and `members`
// are asked of the server, `then` is called once it has answered.
export function action({ label, title, follows, yes, name, members, then, danger = true }) {
  const click = ({ currentTarget }) => {
    chosen = { name, members, then, from: currentTarget };
    byId("sure-title").replaceChildren(visible(title));
    byId("sure-follows").textContent = follows;
    byId("sure-yes").textContent = yes;
    byId("sure-yes").className = danger ? "danger" : "primary";
    sure.returnValue = "";
    sure.showModal();
  };
  return el("button", { type: "button", click }, label);
}

export function said(text, bad = false) {
  const place = byId("done");
  place.className = bad ? "bad" : "";
  place.replaceChildren(visible(text));
}

sure.addEventListener("close", async () => {
  if (sure.returnValue !== "yes" || !chosen) return;
  const { name, members, then, from } = chosen;
  chosen = null;
  from.disabled = true;
  try {
    const { text } = await act(name, members);
    said(text);
    then?.();
  } catch (error) {
    said(error instanceof Refused ? error.message : "The server cannot be reached: whether it was done is not known. Look again before you try again.", true);
  }
  from.disabled = false;
  // Its row may be gone by now.
  if (!from.isConnected) byId("title").focus();
});
