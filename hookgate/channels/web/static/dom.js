// Elements: builds and finds them. Knows no chat.

export const byId = (id) => document.getElementById(id);

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const use = document.createElementNS(space, "use");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

export function iconButton(label, name, click) {
  return el("button", { type: "button", class: "quiet", "aria-label": label, title: label, click }, icon(name));
}

const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e01ef}]/gu;

// What cannot be seen, or turns the direction of what stands beside it, is shown by its number.
export function visible(text) {
  const shown = document.createDocumentFragment();
  let from = 0;
  for (const found of text.matchAll(UNSEEN)) {
    const number = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    shown.append(text.slice(from, found.index), el("span", { class: "mark" }, `U+${number}`));
    from = found.index + found[0].length;
  }
  shown.append(text.slice(from));
  return shown;
}

export async function copy(button, text) {
  await navigator.clipboard.writeText(text);
  const before = button.firstChild;
  button.replaceChildren(icon("done"));
  setTimeout(() => button.replaceChildren(before), 1500);
}
