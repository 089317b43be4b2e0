// Write a hookgate hook process in TypeScript: handlers in front, JSON-RPC lines behind; Node's own modules alone.
//
// This one file owns the wire and the order of a hook process. What hookgate makes of an answer it does not know:
// that is docs/hook-json-protocol.md. All its types can be stripped, so Node runs it as it is (22.18 or later; from
// 22.6 on with --experimental-strip-types); copy it beside your hook.

import { closeSync, constants, createReadStream, createWriteStream, fstatSync, openSync, readFileSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";

export const STAGES = [
  "on_message",
  "before_llm",
  "after_llm",
  "before_tool",
  "approve_tool",
  "after_tool",
  "before_send",
] as const;
export type Stage = (typeof STAGES)[number];

const EVENTS = ["hook.event", "hook.runtime_event"];
const MEDIA = /^media:[^:/]+\/[^:/]+:([0-9a-f]{64})(?::[^:]*)?$/;
const DATA = /^data:[^,]*;base64,/;
const GRACE_MS = 1500; // hookgate sends SIGTERM 2 s after it closed stdin
const MAX_EVENTS = 10_000; // that wait for a slow handler; then the oldest is dropped and counted
const HANDLER_FAILED = -32000;
const INVALID_PARAMS = -32602;
const METHOD_NOT_FOUND = -32601;

/** An integer that a double cannot hold is a bigint, and is written as it came. */
export type Json = null | boolean | number | bigint | string | Json[] | JsonObject;
export type JsonObject = { [name: string]: Json | undefined };

// --- answers: what a handler returns. Nothing has no objection; an object goes to hookgate as it is ---------------

/** Replaces the named members of what the stage is about; members that are not named keep their value. */
export class Modify {
  readonly members: JsonObject;

  constructor(members: JsonObject) {
    this.members = members;
  }
}

export type Answer = Modify | JsonObject | null | undefined | void;

/** on_message and before_send: text, media. before_llm: model, messages, tools, options. after_llm: content,
 * tool_calls. before_tool: tool, arguments. after_tool: for_llm, for_user, silent, is_error, media, ... */
export function modify(members: JsonObject): Modify {
  return new Modify(members);
}

/** before_tool: this is the tool's result; the tool does not run. `members`: for_user, silent, is_error, media, ... */
export function respond(for_llm: string, members: JsonObject = {}): JsonObject {
  return { action: "respond", result: { for_llm, for_user: "", ...members } };
}

/** on_message: the chat is answered with this, and no model is asked. */
export function reply(text: string, media: string[] = []): JsonObject {
  return { action: "respond", reply: { text, media } };
}

/** on_message and before_send: the message goes no further. `tell`: what the chat reads of it, "" for nothing; without
 * it, that this hook dropped it, and the reason. */
export function drop(reason = "", tell?: string): JsonObject {
  return { action: "drop", reason, ...(tell === undefined ? {} : { tell }) };
}

/** before_tool: the call does not run and the model is told why. */
export function deny(reason: string): JsonObject {
  return { action: "deny_tool", reason };
}

/** Any stage but approve_tool and before_send: end this turn. */
export function abort(reason = ""): JsonObject {
  return { action: "abort_turn", reason };
}

/** Any stage but approve_tool and before_send: stop the conversation's loop and roll the turn back. */
export function hardAbort(reason = ""): JsonObject {
  return { action: "hard_abort", reason };
}

/** approve_tool: no objection. */
export function approve(): JsonObject {
  return { approved: true };
}

/** approve_tool: the call does not run; nobody else is asked. */
export function refuse(reason = ""): JsonObject {
  return { approved: false, reason };
}

export type Question = {
  title?: string;
  text?: string;
  approvers?: string[];
  ttl_s?: number;
  required?: number;
  self_approval?: boolean;
};

/** approve_tool: a person decides, or `required` of them, within `ttl_s` seconds, else the call is refused.
 * `self_approval`: whether whoever asked may be one of them. */
export function ask(question: Question = {}): JsonObject {
  return { ask: { ...question } };
}

// --- what handlers are given: the params, under the names they have on the wire -----------------------------------

export type Meta = JsonObject & {
  AgentID: string;
  TurnID: string;
  ParentTurnID: string;
  SessionKey: string;
  Iteration: number;
};

/** Who wrote what this turn answers, and where. */
export type Inbound = JsonObject & {
  channel: string;
  chat_id: string;
  kind?: string;
  chat_type?: string;
  topic_id?: string;
  sender_id?: string;
  account?: string;
  roles?: string[];
  message_id?: string;
};

/** What every stage call carries. `raw` is the whole JSON object of the params, future members included; `cancelled` is
 * aborted when hookgate no longer waits for the answer. */
export type Asked = {
  readonly raw: JsonObject;
  readonly cancelled: AbortSignal;
  readonly meta: Meta;
  readonly context: JsonObject & { inbound: Inbound };
  readonly channel: string;
  readonly chat_id: string;
  readonly deadline_ms: number | null;
};

/** on_message and before_send; `in_reply_to` is before_send's. */
export type ChatMessage = Asked & {
  readonly message: JsonObject & { text: string; media: string[]; kind: string; message_id?: string };
  readonly in_reply_to: string;
};

/** A call as a model has written it: `arguments` is JSON text. */
export type ProposedCall = JsonObject & { id: string; function: JsonObject & { name: string; arguments: string } };

/** One of a conversation's; `tool_calls` are an assistant's, `tool_call_id` and `is_error` a tool's. */
export type Message = JsonObject & {
  role: string;
  content: string;
  media?: string[];
  reasoning_content?: string;
  tool_calls?: ProposedCall[];
  tool_call_id?: string;
  is_error?: boolean;
};

export type Tool = JsonObject & {
  function: JsonObject & { name: string; description: string; parameters: JsonObject };
};

/** before_llm. */
export type LLMRequest = Asked & {
  readonly model: string;
  readonly messages: Message[];
  readonly tools: Tool[];
  readonly options: JsonObject;
};

/** after_llm. */
export type LLMReply = Asked & {
  readonly model: string;
  readonly response: JsonObject & { content: string; tool_calls: ProposedCall[]; finish_reason?: string };
};

/** before_tool and approve_tool. */
export type Call = Asked & {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly tool_call_id: string;
};

/** after_tool; `duration` is in nanoseconds. */
export type Finished = Call & {
  readonly result: JsonObject & {
    for_llm: string;
    for_user: string;
    silent: boolean;
    is_error: boolean;
    media: string[];
    error?: JsonObject & { kind: string; reason: string };
  };
  readonly duration: number;
};

/** `hook.event`, or `hook.runtime_event`, whose kinds are spelled otherwise; `dropped` ones before it are lost. */
export type Event = {
  readonly kind: string;
  readonly payload: JsonObject;
  readonly meta: JsonObject;
  readonly dropped: number;
  readonly raw: JsonObject;
};

export type Handler<S> = (subject: S) => Answer | Promise<Answer>;
export type EventHandler = (event: Event) => void | Promise<void>;
export type ToolHandler = (args: JsonObject, call: Call) => Json | void | Promise<Json | void>;

const ASKED = { meta: {}, context: {}, channel: "", chat_id: "", deadline_ms: null };
const MESSAGE = { ...ASKED, message: {}, in_reply_to: "" };
const CALL = { ...ASKED, tool: "", arguments: {}, tool_call_id: "" };
const SUBJECTS: Record<Stage, JsonObject> = {
  on_message: MESSAGE,
  before_llm: { ...ASKED, model: "", messages: [], tools: [], options: {} },
  after_llm: { ...ASKED, model: "", response: {} },
  before_tool: CALL,
  approve_tool: CALL,
  after_tool: { ...CALL, result: {}, duration: 0 },
  before_send: MESSAGE,
};
const PATCHED: Partial<Record<Stage, string>> = {
  on_message: "message",
  before_llm: "request",
  after_llm: "response",
  before_tool: "call",
  after_tool: "result",
  before_send: "message",
};
const NESTED = ["response", "result", "message"]; // stand in the params under the name under which they are changed

function subjectOf(stage: Stage, raw: JsonObject, cancelled: AbortSignal): Asked {
  const members = Object.entries(SUBJECTS[stage]).map(([name, usual]) => [name, raw[name] ?? structuredClone(usual)]);
  return { ...Object.fromEntries(members), raw, cancelled };
}

function eventOf(raw: JsonObject, lost: number): Event {
  return {
    kind: String(raw.Kind || raw.kind),
    payload: object(raw.Payload) ?? object(raw.payload) ?? {},
    meta: object(raw.Meta) ?? object(raw.scope) ?? {},
    dropped: Number(raw.Dropped ?? 0) + lost,
    raw,
  };
}

function object(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

// --- the plugin: which function answers what ----------------------------------------------------------------------

type Registered = { fn: Handler<never> | EventHandler; wants: (name: string) => boolean; globs: string[] };
type Globs = string | string[];

/** A hook process. Register functions (plain or async), then `run()`; handlers of a stage run in order.
 *
 * Up to `max_in_flight` calls are answered at once: between two `await`s of a handler others run. */
export class Plugin {
  readonly modify = modify;
  readonly respond = respond;
  readonly reply = reply;
  readonly drop = drop;
  readonly deny = deny;
  readonly abort = abort;
  readonly hardAbort = hardAbort;
  readonly approve = approve;
  readonly refuse = refuse;
  readonly ask = ask;

  readonly name: string;
  readonly max_in_flight: number;
  #mediaDir = "";
  #handlers = new Map<Stage | "event", Registered[]>();
  #tools = new Map<string, { spec: JsonObject; fn: ToolHandler }>();

  constructor(name: string, { max_in_flight = 64 }: { max_in_flight?: number } = {}) {
    this.name = name;
    this.max_in_flight = max_in_flight;
  }

  /** The handler gets a message that somebody wrote. */
  onMessage(fn: Handler<ChatMessage>): void {
    this.#on("on_message", "*", fn);
  }

  /** The handler gets a message that goes to the chat. */
  beforeSend(fn: Handler<ChatMessage>): void {
    this.#on("before_send", "*", fn);
  }

  beforeLLM(fn: Handler<LLMRequest>): void {
    this.#on("before_llm", "*", fn);
  }

  afterLLM(fn: Handler<LLMReply>): void {
    this.#on("after_llm", "*", fn);
  }

  /** The handler gets calls of the tools that match one of these globs. */
  beforeTool(tools: Globs, fn: Handler<Call>): void {
    this.#on("before_tool", tools, fn);
  }

  /** The handler must answer; calls of other tools are approved. */
  approveTool(tools: Globs, fn: Handler<Call>): void {
    this.#on("approve_tool", tools, fn);
  }

  afterTool(tools: Globs, fn: Handler<Finished>): void {
    this.#on("after_tool", tools, fn);
  }

  /** The handler gets events whose kind matches one of these globs; one at a time, in order. */
  event(kinds: Globs, fn: EventHandler): void {
    this.#on("event", kinds, fn);
  }

  /** The function is a tool that the model may call. `parameters` is the JSON Schema of its arguments. It returns text,
   * another JSON value, or `respond(...)`. */
  tool(name: string, about: { description?: string; parameters?: JsonObject }, fn: ToolHandler): void {
    const { description = "", parameters = { type: "object" } } = about;
    this.#tools.set(name, { spec: { type: "function", function: { name, description, parameters } }, fn });
  }

  /** What one of `message.media` holds: a `media:TYPE:HASH`, which lies in hookgate's folder of files, or a `data:` URL
   * in base64. Throws for another address, and where the file cannot be read. */
  file(medium: string): Buffer {
    const head = DATA.exec(medium);
    if (head) return Buffer.from(medium.slice(head[0].length), "base64");
    const hash = MEDIA.exec(medium)?.[1];
    if (!hash || !this.#mediaDir) {
      throw new RangeError(`${JSON.stringify(medium.slice(0, 80))} holds no file that this hook can read`);
    }
    return readFileSync(join(this.#mediaDir, hash.slice(0, 2), hash));
  }

  /** One line to stderr, which hookgate puts into its log. */
  log(text: string): void {
    process.stderr.write(`${this.name}: ${text}\n`);
  }

  /** Answer until stdin ends or SIGTERM comes, then let running handlers end, for 1.5 s; then the process exits. */
  async run(): Promise<never> {
    await new Conversation(this, ...takeStdio()).run();
    process.exit(0); // a handler that never ends must not keep the process
  }

  /** What this plugin declares of itself, to a host that offers `params.stages`. */
  hello(params: JsonObject): JsonObject {
    this.#mediaDir = String(params.media_dir ?? "");
    const has = (stage: Stage) => this.#handlers.has(stage) || (stage === "before_tool" && this.#tools.size > 0);
    const wanted = STAGES.filter(has);
    const offered = Array.isArray(params.stages) ? params.stages : wanted;
    for (const stage of wanted.filter((stage) => !offered.includes(stage))) {
      this.log(`the configuration does not ask this hook at ${stage}, for which it has a handler`);
    }
    const tools = [...this.#tools.values()].map(({ spec }) => spec);
    return {
      ok: true,
      name: this.name,
      stages: wanted.filter((stage) => offered.includes(stage)),
      events: [...new Set((this.#handlers.get("event") ?? []).flatMap(({ globs }) => globs))],
      ...(tools.length > 0 ? { tools } : {}),
      cancel: true,
      max_in_flight: this.max_in_flight,
    };
  }

  /** The result of one stage call, as it goes over the wire; throws what a handler throws. */
  async answer(stage: Stage, params: JsonObject, cancelled = new AbortController().signal): Promise<JsonObject> {
    const subject = subjectOf(stage, params, cancelled);
    return stage === "approve_tool" ? this.#approval(subject as Call) : this.#interception(stage, subject);
  }

  async observe(event: Event): Promise<void> {
    for (const handler of this.#handlers.get("event") ?? []) {
      if (handler.wants(event.kind)) await (handler.fn as EventHandler)(event);
    }
  }

  #on(stage: Stage | "event", globs: Globs, fn: Handler<never> | EventHandler): void {
    if (typeof fn !== "function") throw new TypeError(`${stage}: give the globs first, then the function`);
    const chosen = typeof globs === "string" ? [globs] : globs;
    const wanted = chosen.map(globbed);
    const registered = { fn, globs: chosen, wants: (name: string) => wanted.some((glob) => glob.test(name)) };
    this.#handlers.set(stage, [...(this.#handlers.get(stage) ?? []), registered]);
  }

  /** Each handler sees what the ones before it changed; the first answer that ends the chain is the answer. One
   * without an action ends nothing; what else it says hookgate judges, where nobody has ended it. */
  async #interception(stage: Stage, subject: Asked): Promise<JsonObject> {
    const name = PATCHED[stage] as string;
    let changes: JsonObject = {};
    let unclear: JsonObject | undefined;
    for (const handler of this.#handlers.get(stage) ?? []) {
      const answer = await this.#said(handler, stage, subject);
      const patch = patchOf(name, answer);
      if (patch) {
        changes = { ...changes, ...patch };
        subject = patched(stage, name, subject, patch);
      } else if (answer && !["", "continue", undefined, null].includes(answer.action as string)) {
        return recorded(answer, changes);
      } else if (answer && !answer.action && Object.keys(answer).some((it) => it !== "action" && it !== "reason")) {
        unclear ??= answer;
      }
    }
    if (unclear) return unclear;
    const tool = stage === "before_tool" ? this.#tools.get((subject as Call).tool) : undefined;
    if (tool) return recorded(await ran(tool.fn, subject as Call), changes);
    return Object.keys(changes).length > 0 ? { action: "modify", [name]: changes } : { action: "continue" };
  }

  /** Every handler that wants this tool is heard: refuse beats ask, ask beats approve, silence refuses. */
  async #approval(call: Call): Promise<JsonObject> {
    let verdict = approve();
    for (const handler of this.#handlers.get("approve_tool") ?? []) {
      if (!handler.wants(call.tool)) continue;
      const answer = (await this.#said(handler, "approve_tool", call)) ?? refuse(`${this.name} gave no answer`);
      if (answer.approved !== true && (!("ask" in answer) || "approved" in answer)) return answer;
      if ("ask" in answer && !("ask" in verdict)) verdict = answer;
    }
    return verdict;
  }

  async #said(handler: Registered, stage: Stage, subject: Asked): Promise<JsonObject | undefined> {
    if (!handler.wants((subject as Call).tool ?? "")) return undefined;
    const answer: unknown = await (handler.fn as Handler<Asked>)(subject);
    const name = PATCHED[stage];
    if (answer instanceof Modify && name) return { action: "modify", [name]: answer.members };
    if (answer === undefined || answer === null) return undefined;
    const members = answer instanceof Modify ? undefined : object(answer);
    if (members) return members;
    throw new TypeError(`${handler.fn.name || "a handler"} returned what is no answer at ${stage}`);
  }
}

async function ran(fn: ToolHandler, call: Call): Promise<JsonObject> {
  const value = (await fn(call.arguments, call)) ?? null;
  if (object(value)?.action !== undefined) return value as JsonObject;
  return respond(typeof value === "string" ? value : stringify(value));
}

/** The members that an answer changes, written flat or once more under their own name; nothing if it is no modify. */
function patchOf(name: string, answer: JsonObject | undefined): JsonObject | undefined {
  const members = answer?.action === "modify" ? object(answer[name]) : undefined;
  return members && (object(members[name]) ?? members);
}

/** The same call after a `modify`, as the next handler of this process sees it. */
function patched(stage: Stage, name: string, subject: Asked, patch: JsonObject): Asked {
  const members = NESTED.includes(name) ? { [name]: { ...object(subject.raw[name]), ...patch } } : patch;
  return subjectOf(stage, { ...subject.raw, ...members }, subject.cancelled);
}

/** A tool's answer after this plugin changed the call: the record shows the call that was answered. */
function recorded(answer: JsonObject, changes: JsonObject): JsonObject {
  const shown = answer.action === "respond" && "result" in answer && Object.keys(changes).length > 0;
  return shown ? { call: changes, ...answer } : answer;
}

/** `*`, `?`, `[abc]` and `[!abc]`, over the whole name. */
function globbed(glob: string): RegExp {
  const parts = glob.split(/(\*|\?|\[!?[^\]]+\])/).map((part) => {
    if (part === "*") return ".*";
    if (part === "?") return ".";
    if (/^\[.+\]$/.test(part)) return part.replace(/^\[!/, "[^");
    return part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  });
  return new RegExp(`^(?:${parts.join("")})$`, "s");
}

// --- JSON: integers stay integers, and what JSON cannot say is never written as something else -----------------------

type Reviver = (name: string, value: unknown) => unknown;

const exactly = ((_name: string, value: unknown, context: { source: string }) => {
  const inexact = typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context.source);
  return inexact ? BigInt(context.source) : value;
}) as Reviver;

function parse(line: Buffer): unknown {
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line);
  return JSON.parse(text, /\d{16}/.test(text) ? exactly : undefined);
}

const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };

function stringify(value: unknown): string {
  return JSON.stringify(value, (name, member: unknown) => {
    if (typeof member === "bigint") return rawJSON(member.toString());
    const lost = typeof member === "number" && !Number.isFinite(member);
    if (lost || typeof member === "function" || typeof member === "symbol") {
      throw new TypeError(`${name} is ${String(member)}, which JSON cannot say`);
    }
    return member;
  });
}

// --- the process: wire, order, end ----------------------------------------------------------------------------------

/** The wire as two private descriptors. From here on console.log and child processes write to stderr and read nothing. */
function takeStdio(): [Readable, Writable] {
  const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;
  let source: number;
  let sink: number;
  try {
    source = openSync("/dev/fd/0", O_RDONLY | O_NONBLOCK);
    sink = openSync("/dev/fd/1", O_WRONLY | O_NONBLOCK);
  } catch {
    // Sockets cannot be opened a second time: then this process alone is kept off the wire, not its children.
    const wire: [Readable, Writable] = [process.stdin, process.stdout];
    Object.defineProperty(process, "stdout", { get: () => process.stderr });
    return wire;
  }
  // A descriptor that is opened gets the lowest number that is free.
  closeSync(0);
  openSync("/dev/null", O_RDONLY);
  closeSync(1);
  try {
    openSync("/dev/fd/2", O_WRONLY | O_NONBLOCK);
  } catch {
    openSync("/dev/null", O_WRONLY);
  }
  const piped = (fd: number) => fstatSync(fd).isFIFO();
  return [
    piped(source) ? new Socket({ fd: source, readable: true, writable: false }) : createReadStream("", { fd: source }),
    piped(sink) ? new Socket({ fd: sink, readable: false, writable: true }) : createWriteStream("", { fd: sink }),
  ];
}

/** Lines of any length; a chunk is searched once and a long line is joined once. */
async function* linesOf(source: Readable): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  for await (const chunk of source as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield Buffer.concat([...parts, chunk.subarray(start, end)]);
      parts = [];
      start = end + 1;
    }
    parts.push(chunk.subarray(start));
  }
  yield Buffer.concat(parts);
}

type Id = number | string;
type Job = { id: Id; stage: Stage; params: JsonObject; cancelling: AbortController };

/** Which calls run, which wait for room, and what has happened meanwhile. */
class Conversation {
  #plugin: Plugin;
  #source: Readable;
  #sink: Writable;
  #events: Events;
  #open = new Map<Id, Job>();
  #waiting: Job[] = [];
  #running = 0;
  #quiet: (() => void) | undefined;

  constructor(plugin: Plugin, source: Readable, sink: Writable) {
    this.#plugin = plugin;
    this.#source = source;
    this.#sink = sink;
    this.#events = new Events((event) => this.#observe(event));
  }

  async run(): Promise<void> {
    const told = new Promise<void>((end) => {
      for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => end());
      this.#sink.on("error", () => end()); // nobody reads
    });
    await Promise.race([this.#read(), told]);
    await Promise.race([this.#drained(), new Promise((end) => setTimeout(end, GRACE_MS))]);
  }

  async #read(): Promise<void> {
    try {
      for await (const line of linesOf(this.#source)) this.#take(line);
    } catch (error) {
      this.#plugin.log(`reading stdin: ${String(error)}`);
    }
  }

  async #drained(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((quiet) => (this.#quiet = quiet));
    await this.#events.drained();
    await new Promise<void>((written) => this.#sink.end(() => written()));
  }

  #take(line: Buffer): void {
    let message: unknown;
    try {
      if (line.toString("latin1").trim() === "") return;
      message = parse(line);
    } catch {
      message = undefined;
    }
    const request = object(message);
    if (!request) {
      this.#plugin.log(`skipped a line that is no JSON object: ${JSON.stringify(line.toString("utf8", 0, 200))}`);
    } else if (typeof request.method === "string") {
      this.#dispatch(request.method, request.id, request.params ?? {});
    }
  }

  #dispatch(method: string, id: unknown, given: Json): void {
    const params = object(given);
    const stage = STAGES.find((stage) => `hook.${stage}` === method);
    if (EVENTS.includes(method)) {
      this.#events.put(params ?? {});
    } else if (method === "hook.cancel") {
      this.#open.get(params?.id as Id)?.cancelling.abort();
    } else if (typeof id !== "number" && typeof id !== "string") {
      return; // a notification that nothing here knows
    } else if (!params) {
      this.#fail(id, INVALID_PARAMS, "params must be an object");
    } else if (method === "hook.hello") {
      this.#send(id, "result", this.#plugin.hello(params));
    } else if (stage) {
      this.#begin({ id, stage, params, cancelling: new AbortController() });
    } else {
      this.#fail(id, METHOD_NOT_FOUND, `unknown method ${method.slice(0, 100)}`);
    }
  }

  #begin(job: Job): void {
    this.#open.set(job.id, job);
    if (this.#running < this.#plugin.max_in_flight) {
      this.#running += 1;
      void this.#work(job);
    } else {
      this.#waiting.push(job);
    }
  }

  /** A call, and after it those that have waited for its room. */
  async #work(first: Job): Promise<void> {
    for (let job: Job | undefined = first; job; job = this.#waiting.shift()) {
      if (!job.cancelling.signal.aborted) await this.#answer(job);
      this.#open.delete(job.id);
    }
    this.#running -= 1;
    if (this.#open.size === 0) this.#quiet?.();
  }

  async #answer({ id, stage, params, cancelling: { signal } }: Job): Promise<void> {
    try {
      const result = await this.#plugin.answer(stage, params, signal);
      if (!signal.aborted) this.#send(id, "result", result);
    } catch (error) {
      if (signal.aborted) return;
      this.#plugin.log(error instanceof Error ? String(error.stack) : String(error));
      this.#fail(id, HANDLER_FAILED, String(error).slice(0, 300));
    }
  }

  async #observe(event: Event): Promise<void> {
    try {
      await this.#plugin.observe(event);
    } catch (error) {
      this.#plugin.log(error instanceof Error ? String(error.stack) : String(error));
    }
  }

  #fail(id: Id, code: number, message: string): void {
    this.#send(id, "error", { code, message });
  }

  /** One whole line. Throws TypeError for what is not JSON. */
  #send(id: Id, name: "result" | "error", value: JsonObject): void {
    this.#sink.write(stringify({ jsonrpc: "2.0", id, [name]: value }) + "\n");
  }
}

/** Events on their way to `observe`: in order, one after the other; when too many wait, the oldest is dropped. */
class Events {
  #observe: (event: Event) => Promise<void>;
  #waiting: JsonObject[] = [];
  #lost = 0;
  #work: Promise<void> | undefined;

  constructor(observe: (event: Event) => Promise<void>) {
    this.#observe = observe;
  }

  put(params: JsonObject): void {
    if (this.#waiting.length >= MAX_EVENTS) {
      this.#waiting.shift();
      this.#lost += 1;
    }
    this.#waiting.push(params);
    this.#work ??= this.#tell();
  }

  async drained(): Promise<void> {
    await this.#work;
  }

  async #tell(): Promise<void> {
    for (let params = this.#waiting.shift(); params; params = this.#waiting.shift()) {
      const lost = this.#lost;
      this.#lost = 0;
      await this.#observe(eventOf(params, lost));
    }
    this.#work = undefined;
  }
}
