// The record of what was asked, decided and run: whether it is whole, and signed up to where.

import { el, visible } from "/dom.js";
import { view } from "./asking.js";
import { action } from "./confirm.js";
import { facts, heading, state } from "./rows.js";
import { when } from "./times.js";

const WORDS = {
  anchored: "All of it is whole, and under a signed checkpoint.",
  unanchored: "It is whole; its last records are under no checkpoint yet, which is made every minute.",
  broken: "It is not what was written. Compare it with a copy, and find out who could write the journal.",
  truncated: "Records that a checkpoint covers are missing.",
};

export const audit = {
  title: "Audit",
  tools: (_state, look) => [
    action({ label: "Verify", title: "Verify the whole record?", follows: "All of it is read and compared with its checkpoints, which takes a second or so for each hundred thousand records. Nothing is changed.", yes: "Verify", name: "audit.verify", then: look, danger: false }),
  ],
  ask: () => view("audit"),
  show({ chain: { records, head, signed, signed_at: at }, verdict }, place) {
    const its = verdict
      ? [heading(el("b", {}, "Verified"), state(verdict.state), when(verdict.at)), el("p", {}, WORDS[verdict.state]), verdict.why ? el("p", { class: "bad" }, visible(verdict.why)) : ""]
      : [heading(el("b", {}, "Not verified"), el("span", { class: "soft" }, "since this gateway has started"))];
    place.replaceChildren(
      el(
        "ul",
        { class: "rows", role: "list", "aria-label": "Audit" },
        el("li", {}, el("div", {}, ...its)),
        el("li", {}, el("div", {}, heading(el("b", {}, "The chain")), facts([["records", records], ["last checkpoint", signed ? `record ${signed}` : "none"], ["made", when(at)], ["head", head]]))),
        el("li", {}, el("div", {}, heading(el("b", {}, "Everything, for a verifier of your own")), el("p", {}, el("code", {}, "hookgate audit export")))),
      ),
    );
  },
};
