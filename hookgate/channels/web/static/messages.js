// One message as an element: what was said, what tools did, what hooks said of it. Knows no connection.

import { copy, el, iconButton, visible } from "./dom.js";

const STATES = { running: "runs", done: "done", failed: "failed", denied: "refused" };
const SAID = { user: "You", assistant: "Answer", output: "Output", notice: "Note", error: "Error" };

// `acts`: `edit(message)` and `regenerate()`, for the buttons.
export function messageItem(message, acts) {
  const said = el("div", { class: "said" });
  if (message.html && message.role !== "user") showHtml(said, message.html);
  else if (message.text) said.append(visible(message.text));
  return el(
    "li",
    { class: `message ${message.role}`, "data-id": message.id },
    el("span", { class: "unseen" }, `${SAID[message.role] ?? message.role}:`),
    toolList(message.tools ?? []),
    message.media?.length ? pictures(message.media) : null,
    message.text || message.html ? said : null,
    message.trace?.length ? traceOf(message.trace) : null,
    actions(message, acts),
  );
}

// HTML is the server's own rendering: nothing else comes here.
export function showHtml(place, html) {
  place.innerHTML = html;
  place.classList.add("html");
  decorate(place);
}

export function decorate(place) {
  for (const code of place.querySelectorAll("pre:not(.block > pre)")) {
    const block = el("div", { class: "block" });
    code.replaceWith(block);
    const button = iconButton("Copy code", "copy", () => copy(button, code.textContent));
    block.append(el("div", { class: "head" }, el("span", {}, code.dataset.language ?? ""), button), code);
  }
  for (const table of place.querySelectorAll("table:not(.wide > table)")) {
    const wide = el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Table" });
    table.replaceWith(wide);
    wide.append(table);
  }
}

function pictures(media) {
  const shown = media.map(({ url, type, name }) =>
    type.startsWith("image/")
      ? el("a", { href: url, target: "_blank", rel: "noopener" }, el("img", { src: url, alt: name || "Picture", loading: "lazy" }))
      : el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, visible(name || type)),
  );
  return el("div", { class: "pictures" }, ...shown);
}

function actions(message, acts) {
  if (message.role !== "user" && message.role !== "assistant") return null;
  const copied = iconButton("Copy", "copy", () => copy(copied, message.text));
  const own = message.role === "user";
  return el(
    "p",
    { class: "actions" },
    el("time", { datetime: message.at, title: new Date(message.at).toLocaleString() }, clock(message.at)),
    message.text ? copied : null,
    own && message.text ? iconButton("Change and send again", "edit", () => acts.edit(message)) : null,
    own ? null : el("span", { class: "again" }, iconButton("Answer again", "again", acts.regenerate)),
  );
}

export function clock(at) {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? "" : time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

export function toolList(tools) {
  return tools.length ? el("ul", { class: "tools", role: "list" }, ...tools.map(toolItem)) : null;
}

export function toolItem(tool) {
  return el(
    "li",
    { class: `tool ${tool.state}`, "data-tool": tool.id },
    el("span", { class: "name" }, tool.name),
    el("span", { class: "summary" }, visible(tool.summary ?? "")),
    el("span", { class: "state" }, STATES[tool.state] ?? tool.state),
    tool.media?.length ? pictures(tool.media) : null,
  );
}

export function traceOf(trace) {
  const rows = trace.map((step) =>
    el(
      "tr",
      {},
      ...[step.hook, step.stage, step.action, step.reason ?? ""].map((word) => el("td", {}, visible(word))),
      el("td", { class: "number" }, step.ms ? `${Math.round(step.ms * 10) / 10} ms` : ""),
    ),
  );
  const head = ["Hook", "Stage", "Said", "Why"].map((word) => el("th", { scope: "col" }, word));
  head.push(el("th", { scope: "col", class: "number" }, "Took"));
  const wide = el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "What hooks said" });
  wide.append(el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)));
  return el(
    "details",
    { class: "trace" },
    el("summary", {}, `${trace.length} ${trace.length === 1 ? "answer" : "answers"} of hooks`),
    wide,
  );
}
