// Messages that people have sent and the server has not confirmed: kept over a reload, sent until they are.

import * as api from "./api.js";

const NAME = "outbox";

const waiting = () => JSON.parse(localStorage.getItem(NAME) ?? "[]");
const keep = (messages) => localStorage.setItem(NAME, JSON.stringify(messages));
const drop = (key) => keep(waiting().filter((message) => message.key !== key));

let sending = null;

export const of = (chat) => waiting().filter((message) => message.chat === chat);

export function put(message) {
  keep([...waiting(), message]);
}

// `told(message, state, why)`: "stored", "failed" where the server could not be reached, "refused" where it said no.
export function flush(told) {
  sending ??= sendAll(told).finally(() => {
    sending = null;
  });
  return sending;
}

async function sendAll(told) {
  for (let [message] = waiting(); message; [message] = waiting()) {
    const { chat, ...body } = message;
    try {
      await api.send(chat, body);
    } catch (error) {
      // The same key goes out again: what was stored though nobody heard of it stays one message.
      const passing = !(error instanceof api.Refused) || error.status >= 500 || error.status === 429 || error.status === 401;
      if (!passing) drop(message.key);
      told(message, passing ? "failed" : "refused", error.message);
      if (passing) return;
      continue;
    }
    drop(message.key);
    told(message, "stored", "");
  }
}
