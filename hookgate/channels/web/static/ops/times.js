// Seconds of the wall clock, as people read them.

import { el } from "/dom.js";

const DAY = { day: "numeric", month: "short" };
const TIME = { hour: "2-digit", minute: "2-digit", second: "2-digit" };

export function when(at) {
  if (!at) return "";
  const moment = new Date(at * 1000);
  if (Number.isNaN(moment.getTime())) return String(at);
  const today = new Date().toDateString() === moment.toDateString();
  const text = moment.toLocaleTimeString(undefined, TIME);
  return el("time", { datetime: moment.toISOString() }, today ? text : `${moment.toLocaleDateString(undefined, DAY)}, ${text}`);
}

export const ms = (value) => (value === null || value === undefined ? "" : `${value} ms`);
