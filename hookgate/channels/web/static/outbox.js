// Messages that people have sent and the server has not confirmed: kept over a reload, sent until they are, by who wrote
// them alone.

import * as api from "./api.js";

const NAME = "outbox";
const AGAIN_MS = 3000;

const waiting = () => JSON.parse(localStorage.getItem(NAME) ?? "[]");
const keep = (messages) => localStorage.setItem(NAME, JSON.stringify(messages));
const drop = (key) => keep(waiting().filter((message) => message.key !== key));

let sending = null;
let timer = 0;

export const of = (user, chat) => waiting().filter((message) => message.user === user && message.chat === chat);

export function put(message) {
  keep([...waiting(), message]);
}

// `told(message, state, why)`: "stored", "failed" where the server could not be reached, "refused" where it said no.
export function flush(user, told) {
  clearTimeout(timer);
  sending ??= sendAll(user, told).finally(() => {
    sending = null;
  });
}

async function sendAll(user, told) {
  const next = () => waiting().find((message) => message.user === user);
  for (let message = next(); message; message = next()) {
    if (api.who() !== user) return;
    const { chat, key, text, media } = message;
    try {
      await api.send(chat, { key, text, media });
    } catch (error) {
      // The same key goes out again: what was stored though nobody heard of it stays one message.
      const passing = !(error instanceof api.Refused) || error.status >= 500 || error.status === 429 || error.status === 401;
      if (!passing) drop(message.key);
      const why = error instanceof api.Refused ? error.message : "there is no connection";
      told(message, passing ? "failed" : "refused", why);
      if (passing) {
        timer = setTimeout(() => flush(user, told), AGAIN_MS);
        return;
      }
      continue;
    }
    drop(message.key);
    told(message, "stored", "");
  }
}
