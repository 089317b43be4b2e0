// What is asked of the server. Knows no element of the page.

export class Refused extends Error {
  constructor(status, why) {
    super(why);
    this.status = status;
  }
}

let csrf = "";
let user = "";

// Random also where the page is not served by TLS, and `randomUUID` is missing.
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Throws Refused for what the server does not take, TypeError where it cannot be reached.
export async function ask(method, path, body) {
  try {
    return await once(method, path, body);
  } catch (error) {
    if (error.status !== 403 || method === "GET" || !user) throw error;
    await still();
    return once(method, path, body);
  }
}

async function once(method, path, body) {
  const headers = method === "GET" ? {} : { "X-CSRF-Token": csrf };
  const file = body instanceof Blob;
  if (body !== undefined) headers["Content-Type"] = file ? body.type : "application/json";
  const answer = await fetch(path, { method, headers, body: file || body === undefined ? body : JSON.stringify(body) });
  const said = answer.headers.get("Content-Type")?.startsWith("application/json") ? await answer.json() : null;
  if (!answer.ok) throw new Refused(answer.status, said?.error ?? `The server answers with ${answer.status}.`);
  return said;
}

const chat = (id) => `/api/chats/${encodeURIComponent(id)}`;

export const login = (words) => once("POST", "/api/login", words);
export const logins = () => once("GET", "/api/login");
export const logout = () => ask("POST", "/api/logout");

export const who = () => user;

// From now on all is asked for whoever is logged in.
export async function me() {
  const answer = await once("GET", "/api/me");
  ({ csrf, user } = answer);
  return answer;
}

// Another tab may have logged in since: the same person has another word for it now, and nothing goes out as anybody
// else. Throws Refused where it is not them any more.
export async function still() {
  const answer = await once("GET", "/api/me");
  if (answer.user !== user) throw new Refused(401, "Somebody else has logged in.");
  csrf = answer.csrf;
}

export const chats = (search) => ask("GET", `/api/chats?search=${encodeURIComponent(search)}`);
export const newChat = () => ask("POST", "/api/chats");
export const deleteChat = (id) => ask("DELETE", chat(id));
export const send = (id, message) => ask("POST", `${chat(id)}/messages`, message);
export const stop = (id) => ask("POST", `${chat(id)}/stop`);
export const regenerate = (id) => ask("POST", `${chat(id)}/regenerate`, { key: newKey() });
export const edit = (id, message, text) => ask("POST", `${chat(id)}/edit`, { key: newKey(), message, text });
export const approvals = () => ask("GET", "/api/approvals");
export const decide = (id, decision) => ask("POST", `/api/approvals/${encodeURIComponent(id)}`, decision);
export const upload = (file) => ask("POST", `/api/media?name=${encodeURIComponent(file.name)}`, file);
export const eventsOf = (id) => `${chat(id)}/events`;
