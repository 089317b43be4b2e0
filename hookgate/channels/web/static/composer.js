// Where people write: drafts kept for each chat, files by paste and drop, and what could not be sent yet.

import * as api from "./api.js";
import { byId, el, iconButton, visible } from "./dom.js";

const box = byId("text");
const PICTURE = /^image\/(png|jpeg|gif|webp)$/;

export class Composer {
  #chat = "";
  #media = [];
  #edited = null;
  #acts;

  // `acts`: `send(text, media)`, `edit(message, text)`, `stop()`.
  constructor(acts) {
    this.#acts = acts;
    byId("composer").addEventListener("submit", (event) => this.#submit(event));
    byId("stop").addEventListener("click", acts.stop);
    box.addEventListener("input", () => this.#changed());
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      this.#submit(event);
    });
    box.addEventListener("paste", (event) => this.#take(event, event.clipboardData.files));
    const chat = byId("chat");
    chat.addEventListener("dragover", (event) => event.preventDefault());
    chat.addEventListener("drop", (event) => this.#take(event, event.dataTransfer.files));
    const picked = byId("pick").querySelector("input");
    picked.addEventListener("change", (event) => {
      this.#take(event, picked.files);
      picked.value = "";
    });
    byId("editing").querySelector("button").addEventListener("click", () => this.leaveEditing());
  }

  get editing() {
    return this.#edited !== null;
  }

  open(chat) {
    this.#chat = chat;
    this.#edited = null;
    byId("editing").hidden = true;
    this.#clearPictures();
    this.#write(localStorage.getItem(`draft:${chat}`) ?? "");
    this.problem("");
    // Where fingers are all there is, the focus would bring up the keys.
    if (matchMedia("(hover: hover)").matches) box.focus();
  }

  // A chat gets its number when the first words in it are sent.
  named(chat) {
    localStorage.removeItem(`draft:${this.#chat}`);
    this.#chat = chat;
  }

  edit(message) {
    this.#edited = message;
    byId("editing").hidden = false;
    this.#write(message.text);
    box.focus();
  }

  leaveEditing() {
    this.#edited = null;
    byId("editing").hidden = true;
    this.#write(localStorage.getItem(`draft:${this.#chat}`) ?? "");
    box.focus();
  }

  running(now) {
    byId("stop").hidden = !now;
    this.#changed();
  }

  problem(text) {
    byId("problem").textContent = text;
  }

  #submit(event) {
    event.preventDefault();
    const text = box.value.trim();
    if (!text && !this.#media.length) return;
    if (this.#media.some(({ id }) => !id)) return this.problem("A file is still on its way.");
    this.problem("");
    const edited = this.#edited;
    const media = this.#media.map(({ id }) => id);
    this.#edited = null;
    byId("editing").hidden = true;
    this.#clearPictures();
    this.#write("");
    localStorage.removeItem(`draft:${this.#chat}`);
    if (edited) this.#acts.edit(edited, text);
    else this.#acts.send(text, media);
    box.focus();
  }

  // What was refused is in the box again, unless something else is by now.
  takeBack(text) {
    if (!box.value) this.#write(text);
  }

  #write(text) {
    box.value = text;
    this.#changed();
  }

  #changed() {
    if (!this.#edited) {
      if (box.value) localStorage.setItem(`draft:${this.#chat}`, box.value);
      else localStorage.removeItem(`draft:${this.#chat}`);
    }
    box.rows = Math.min(10, box.value.split("\n").length);
    byId("send").disabled = !box.value.trim() && !this.#media.length;
  }

  #take(event, files) {
    if (!files.length) return;
    event.preventDefault();
    for (const file of files) this.#upload(file);
  }

  async #upload(file) {
    const picture = { id: "", url: URL.createObjectURL(file) };
    const name = file.name || "Pasted picture";
    const seen = PICTURE.test(file.type) ? el("img", { src: picture.url, alt: name }) : el("span", {}, visible(name));
    picture.item = el("li", { class: "loading" }, seen, iconButton(`Remove ${name}`, "close", () => this.#remove(picture)));
    this.#media.push(picture);
    byId("pictures").append(picture.item);
    this.#changed();
    try {
      picture.id = (await api.upload(file)).id;
      picture.item.className = "";
    } catch (error) {
      this.#remove(picture);
      this.problem(error instanceof api.Refused ? error.message : `${name} could not be sent: there is no connection.`);
    }
  }

  #remove(picture) {
    URL.revokeObjectURL(picture.url);
    picture.item.remove();
    this.#media = this.#media.filter((other) => other !== picture);
    this.#changed();
  }

  #clearPictures() {
    for (const picture of this.#media) this.#remove(picture);
  }
}
