// What operators ask of the server and have it do. Knows no element of the page.

import { ask } from "/api.js";

export function view(name, query = {}) {
  const words = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""));
  return ask("GET", `/ops/api/${name}${words.size ? `?${words}` : ""}`);
}

export const act = (name, members = {}) => ask("POST", `/ops/api/${name}`, members);
