// A call that waits for a person, whole: what would run, who asked, what a yes would cover. The server decides.

import * as api from "./api.js";
import { el, visible } from "./dom.js";
import { clock } from "./messages.js";

const GRANTS = { once: "This call only", session: "Such calls in this chat", "1h": "Such calls for an hour", always: "Such calls from now on" };
const FOLDED_CHARS = 1500;
const FOLDED_END = 300;
const UNREAD = "A yes counts once all of it has been shown: press Show all.";

export class ApprovalCard {
  element = el("section", { class: "ask" });
  done = false;
  #request;
  #reason;
  #grant;
  #said;
  #held = null;
  #decideThere;

  // `decide(id, decision)` brings the answer to the server.
  constructor(request, decide = api.decide) {
    this.#request = request;
    this.#decideThere = decide;
    this.#show();
  }

  update(request) {
    if (JSON.stringify(request) === JSON.stringify(this.#request)) return;
    this.#request = request;
    this.#show();
  }

  end(text) {
    const held = this.#held ?? this.element.contains(document.activeElement);
    this.done = true;
    this.element.className = "ask done";
    this.element.replaceChildren(el("p", { tabindex: "-1" }, visible(`${this.#request.tool}: ${text}`)));
    if (held) (document.getElementById("text") ?? this.element.firstChild).focus();
  }

  #show() {
    const { title, text, tool, diff, asked_by: by, sender, of, may } = this.#request;
    const [given, needed] = of;
    this.element.setAttribute("aria-label", `Approval: ${tool}`);
    this.#said = el("p", { class: "refused", role: "alert" });
    this.element.replaceChildren(
      el("header", {}, el("h2", {}, visible(title || `Run ${tool}?`)), needed > 1 ? el("span", { class: "count" }, `${given} of ${needed}`) : ""),
      text ? el("p", { class: "why" }, visible(text)) : "",
      diff ? diffBlock(diff) : "",
      callBlock(this.#request),
      el("p", { class: "soft" }, "Asked by ", el("b", {}, visible(by.replace(/^(rule|hook):/, "$1 "))), ", for ", visible(sender), untilWhen(this.#request.expires_at)),
      this.#said,
      may ? this.#buttons() : el("p", { class: "soft" }, "Somebody else decides this."),
    );
  }

  #buttons() {
    const { grants, always } = this.#request;
    const written = this.#reason?.value ?? "";
    this.#reason = el("input", { placeholder: "Reason, if there is one", "aria-label": "Reason", autocomplete: "off", maxlength: "500", value: written });
    const choices = grants.map((grant) => el("option", { value: grant }, grant === "always" && always ? `From now on: ${always}` : GRANTS[grant]));
    this.#grant = el("select", { "aria-label": "What a yes covers" }, ...choices);
    return el(
      "form",
      { class: "decide", submit: (event) => event.preventDefault() },
      this.#reason,
      el(
        "div",
        { class: "buttons" },
        grants.length > 1 ? this.#grant : "",
        el("button", { type: "button", class: "danger", click: () => this.#decide(false) }, "Deny"),
        el("button", { type: "button", class: "primary", click: () => this.#decide(true) }, "Approve"),
      ),
    );
  }

  async #decide(approved) {
    if (approved && this.element.querySelector("button.fold")) {
      this.#said.textContent = UNREAD;
      return;
    }
    const grant = approved ? this.#grant.value || "once" : "once";
    this.#lock(true);
    try {
      const { counted, state, text } = await this.#decideThere(this.#request.id, { approved, reason: this.#reason.value, grant });
      if (state !== "open") this.end(text);
      else {
        this.#said.textContent = text;
        this.#lock(counted);
      }
    } catch (error) {
      this.#said.textContent = error instanceof api.Refused ? error.message : "The server cannot be reached: nothing was decided.";
      this.#lock(false);
    }
  }

  // What is locked loses the focus.
  #lock(locked) {
    const held = document.activeElement;
    if (locked && this.element.contains(held)) this.#held = held;
    for (const control of this.element.querySelectorAll("button, input, select")) control.disabled = locked;
    if (!locked) {
      this.#held?.focus();
      this.#held = null;
    }
  }
}

function callBlock({ tool, arguments: given }) {
  const rows = Object.entries(given).flatMap(([name, value]) => [
    el("dt", {}, visible(name)),
    el("dd", {}, longText(typeof value === "string" ? value : JSON.stringify(value, null, 2))),
  ]);
  return el("div", { class: "call" }, el("p", { class: "name" }, visible(tool)), el("dl", {}, ...rows));
}

// Head and tail and how long it is, and one press away the whole: nothing is cut without a word.
function longText(text) {
  const code = el("pre", { tabindex: "0" });
  if (text.length <= FOLDED_CHARS) {
    code.append(visible(text));
    return code;
  }
  const left = text.length - FOLDED_CHARS;
  const all = el("button", { type: "button", class: "quiet fold", click: () => code.replaceChildren(visible(text)) }, `Show all ${text.length} characters (${left} are left out here)`);
  code.append(visible(text.slice(0, FOLDED_CHARS - FOLDED_END)), all, visible(text.slice(-FOLDED_END)));
  return code;
}

function diffBlock(diff) {
  const kinds = { "+": "added", "-": "removed", "@": "hunk" };
  const kindOf = (line) => (/^(\+\+\+|---) /.test(line) ? "hunk" : (kinds[line[0]] ?? ""));
  const lines = diff.split("\n").map((line) => el("span", { class: kindOf(line) }, visible(`${line}\n`)));
  return el("pre", { class: "diff", tabindex: "0", "aria-label": "What would change" }, ...lines);
}

function untilWhen(at) {
  const time = at ? clock(at) : "";
  return time ? el("span", {}, ", waits until ", el("time", { datetime: at }, time)) : "";
}
