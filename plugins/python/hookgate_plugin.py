"""Write a hookgate hook process in Python: decorators in front, JSON-RPC lines behind; standard library only.

This one file owns the wire and the threads of a hook process. What hookgate makes of an answer it does not know:
that is docs/hook-json-protocol.md. It runs on Python 3.9 and later; copy it beside your plugin.
"""

from __future__ import annotations

import base64
import inspect
import json
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from concurrent.futures import Future

__version__ = "0.1.0"

STAGES = ("on_message", "before_llm", "after_llm", "before_tool", "approve_tool", "after_tool", "before_send")
STAGE_OF = {f"hook.{stage}": stage for stage in STAGES}
EVENTS = ("hook.event", "hook.runtime_event")
PATCHED = {
    "on_message": "message",
    "before_llm": "request",
    "after_llm": "response",
    "before_tool": "call",
    "after_tool": "result",
    "before_send": "message",
}
NESTED = ("response", "result", "message")  # stand in the params under the name under which they are changed
MEDIA = re.compile(r"media:[^:/]+/[^:/]+:([0-9a-f]{64})(?::[^:]*)?\Z")
GRACE_S = 1.5  # hookgate sends SIGTERM 2 s after it closed stdin
MAX_EVENTS = 10_000  # that wait for a slow handler; then the oldest is dropped and counted
HANDLER_FAILED, INVALID_PARAMS, METHOD_NOT_FOUND = -32000, -32602, -32601

Json = dict[str, Any]
Handler = Callable[..., Any]
_Job = Callable[[], None]

# --- answers: what a handler returns. None has no objection; a dict goes to hookgate as it is -----------------


@dataclass(frozen=True)
class Modify:
    """Replaces the named members of what the stage is about; members that are not named keep their value."""

    members: Json


def modify(**members: Any) -> Modify:  # noqa: ANN401 - any JSON value
    """on_message and before_send: text, media. before_llm: model, messages, tools, options. after_llm: content,
    tool_calls. before_tool: tool, arguments. after_tool: for_llm, for_user, silent, is_error, media, ..."""
    return Modify(members)


def respond(for_llm: str, for_user: str = "", **members: Any) -> Json:  # noqa: ANN401 - any JSON value
    """before_tool: this is the tool's result; the tool does not run. `members`: silent, is_error, media, ..."""
    return {"action": "respond", "result": {"for_llm": for_llm, "for_user": for_user, **members}}


def reply(text: str, media: Iterable[str] = ()) -> Json:
    """on_message: the chat is answered with this, and no model is asked."""
    return {"action": "respond", "reply": {"text": text, "media": list(media)}}


def drop(reason: str = "", tell: str | None = None) -> Json:
    """on_message and before_send: the message goes no further. `tell`: what the chat reads of it, "" for nothing;
    without it, that this hook dropped it, and the reason."""
    return {"action": "drop", "reason": reason, **({} if tell is None else {"tell": tell})}


def deny(reason: str) -> Json:
    """before_tool: the call does not run and the model is told why."""
    return {"action": "deny_tool", "reason": reason}


def abort(reason: str = "") -> Json:
    """Any stage but approve_tool and before_send: end this turn."""
    return {"action": "abort_turn", "reason": reason}


def hard_abort(reason: str = "") -> Json:
    """Any stage but approve_tool and before_send: stop the conversation's loop and roll the turn back."""
    return {"action": "hard_abort", "reason": reason}


def approve() -> Json:
    """approve_tool: no objection."""
    return {"approved": True}


def refuse(reason: str = "") -> Json:
    """approve_tool: the call does not run; nobody else is asked."""
    return {"approved": False, "reason": reason}


def ask(
    title: str = "",
    text: str = "",
    approvers: Iterable[str] = (),
    ttl_s: float | None = None,
    required: int | None = None,
    self_approval: bool | None = None,
) -> Json:
    """approve_tool: a person decides, or `required` of them, within `ttl_s` seconds, else the call is refused.
    `self_approval`: whether whoever asked may be one of them."""
    members = {"title": title, "text": text, "approvers": list(approvers), "ttl_s": ttl_s, "required": required}
    said = {name: value for name, value in members.items() if value}
    return {"ask": said if self_approval is None else {**said, "self_approval": self_approval}}


# --- what handlers are given: the params, under the names they have on the wire -------------------------------


@dataclass(frozen=True)
class Asked:
    """What every stage call carries. `raw` is the whole JSON object of the params, future members included;
    `cancelled` is set when hookgate no longer waits for the answer."""

    raw: Json = field(default_factory=dict, repr=False)
    cancelled: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)
    meta: Json = field(default_factory=dict)  # AgentID, TurnID, ParentTurnID, SessionKey, Iteration, ...
    context: Json = field(default_factory=dict)  # inbound: channel, chat_id, chat_type, topic_id, sender_id, ...
    channel: str = ""
    chat_id: str = ""
    deadline_ms: int | None = None


@dataclass(frozen=True)
class ChatMessage(Asked):
    """on_message and before_send. `message`: text, media, kind, message_id; `in_reply_to` is before_send's."""

    message: Json = field(default_factory=dict)
    in_reply_to: str = ""

    @property
    def text(self) -> str:
        return str(self.message.get("text") or "")


@dataclass(frozen=True)
class LLMRequest(Asked):
    """before_llm."""

    model: str = ""
    messages: list[Json] = field(default_factory=list)
    tools: list[Json] = field(default_factory=list)
    options: Json = field(default_factory=dict)


@dataclass(frozen=True)
class LLMReply(Asked):
    """after_llm. `response`: content, tool_calls (whose arguments are JSON text), finish_reason, usage."""

    model: str = ""
    response: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Call(Asked):
    """before_tool and approve_tool."""

    tool: str = ""
    arguments: Json = field(default_factory=dict)
    tool_call_id: str = ""


@dataclass(frozen=True)
class Finished(Call):
    """after_tool. `result`: for_llm, for_user, silent, is_error, ...; `duration` is in nanoseconds."""

    result: Json = field(default_factory=dict)
    duration: int = 0


@dataclass(frozen=True)
class Event:
    """`hook.event`, or `hook.runtime_event`, whose kinds are spelled otherwise; `dropped` ones before it are lost."""

    kind: str
    payload: Json
    meta: Json
    dropped: int
    raw: Json


SUBJECTS: Mapping[str, type[Asked]] = {
    "on_message": ChatMessage,
    "before_llm": LLMRequest,
    "after_llm": LLMReply,
    "before_tool": Call,
    "approve_tool": Call,
    "after_tool": Finished,
    "before_send": ChatMessage,
}


def _subject(stage: str, raw: Json, cancelled: threading.Event) -> Asked:
    kind = SUBJECTS[stage]
    members: Json = {name: raw[name] for name in kind.__dataclass_fields__ if raw.get(name) is not None}
    members.update(raw=raw, cancelled=cancelled)
    return kind(**members)


def _event(raw: Json, lost: int) -> Event:
    kind, payload = raw.get("Kind") or raw.get("kind"), raw.get("Payload") or raw.get("payload")
    meta, dropped = raw.get("Meta") or raw.get("scope"), raw.get("Dropped") or 0
    return Event(str(kind), payload or {}, meta or {}, dropped + lost, raw)


def _object(value: Any) -> Json | None:  # noqa: ANN401 - any JSON value
    return cast("Json", value) if isinstance(value, dict) else None


# --- the plugin: which function answers what ------------------------------------------------------------------


@dataclass(frozen=True)
class _Handler:
    fn: Handler
    globs: tuple[str, ...]

    def wants(self, name: str) -> bool:
        return any(fnmatchcase(name, glob) for glob in self.globs)


class Plugin:
    """A hook process. Decorate functions (plain or `async def`), then `run()`; handlers of a stage run in order.

    Up to `max_in_flight` calls are answered at once, each in a thread of its own: guard what handlers share.
    """

    modify, respond, deny, abort = (
        staticmethod(modify),
        staticmethod(respond),
        staticmethod(deny),
        staticmethod(abort),
    )
    hard_abort, approve, refuse = staticmethod(hard_abort), staticmethod(approve), staticmethod(refuse)
    ask, reply, drop = staticmethod(ask), staticmethod(reply), staticmethod(drop)

    def __init__(self, name: str, max_in_flight: int = 64) -> None:
        self.name, self.max_in_flight = name, max_in_flight
        self.media_dir = ""
        self._handlers: dict[str, list[_Handler]] = {stage: [] for stage in (*STAGES, "event")}
        self._tools: dict[str, tuple[Json, Handler]] = {}
        self._coroutines = _Coroutines()

    def on_message(self, fn: Handler | None = None) -> Handler:
        """The handler gets a ChatMessage that somebody wrote."""
        return self._on("on_message", fn or "*")

    def before_send(self, fn: Handler | None = None) -> Handler:
        """The handler gets a ChatMessage that goes to the chat."""
        return self._on("before_send", fn or "*")

    def before_llm(self, fn: Handler | None = None) -> Handler:
        """The handler gets an LLMRequest."""
        return self._on("before_llm", fn or "*")

    def after_llm(self, fn: Handler | None = None) -> Handler:
        """The handler gets an LLMReply."""
        return self._on("after_llm", fn or "*")

    def before_tool(self, tools: Iterable[str] | Handler = "*") -> Handler:
        """The handler gets a Call, of the tools that match one of these globs."""
        return self._on("before_tool", tools)

    def approve_tool(self, tools: Iterable[str] | Handler = "*") -> Handler:
        """The handler gets a Call and must answer; calls of other tools are approved."""
        return self._on("approve_tool", tools)

    def after_tool(self, tools: Iterable[str] | Handler = "*") -> Handler:
        """The handler gets a Finished."""
        return self._on("after_tool", tools)

    def event(self, globs: Iterable[str] | Handler = "*") -> Handler:
        """The handler gets an Event whose kind matches one of these globs; one at a time, in order."""
        return self._on("event", globs)

    def tool(self, description: str = "", parameters: Json | None = None, name: str = "") -> Handler:
        """The function is a tool that the model may call, with its arguments as keywords (and `call`, if it has
        a parameter of that name). It returns text, another JSON value, or `respond(...)`. Without `parameters`
        the JSON Schema comes from the annotations: str, int, float, bool, list, dict, Literal, Optional, and
        Annotated[T, "description"]. Raises TypeError for an annotation that is none of these.
        """
        if callable(description):
            raise TypeError("write @plugin.tool() with its parentheses")

        def register(fn: Handler) -> Handler:
            called = name or fn.__name__
            function = {
                "name": called,
                "description": description or inspect.getdoc(fn) or "",
                "parameters": _schema(fn) if parameters is None else parameters,
            }
            self._tools[called] = {"type": "function", "function": function}, fn
            return fn

        return register

    def file(self, medium: str) -> bytes:
        """What one of `message["media"]` holds: a `media:TYPE:HASH`, which lies in hookgate's folder of files, or a
        `data:` URL in base64. Raises ValueError for another address, and OSError."""
        head, comma, body = medium.partition(",")
        if comma and head.startswith("data:") and head.endswith(";base64"):
            return base64.b64decode(body, validate=True)
        found = MEDIA.match(medium)
        if found is None or not self.media_dir:
            raise ValueError(f"{medium[:80]!r} holds no file that this hook can read")
        with open(os.path.join(self.media_dir, found[1][:2], found[1]), "rb") as file:
            return file.read()

    def log(self, text: str) -> None:
        """One line to stderr, which hookgate puts into its log."""
        sys.stderr.write(f"{self.name}: {text}\n")  # in one piece: other threads write too
        sys.stderr.flush()

    def run(self) -> None:
        """Answer until stdin ends or SIGTERM comes, then let running handlers end, for 1.5 s. Main thread only."""
        _Conversation(self, *_take_stdio()).run()

    def hello(self, params: Json) -> Json:
        """What this plugin declares of itself, to a host that offers `params["stages"]`."""
        self.media_dir = str(params.get("media_dir") or "")
        wanted = [stage for stage in STAGES if self._handlers[stage] or (stage == "before_tool" and self._tools)]
        offered = wanted if params.get("stages") is None else params["stages"]
        for stage in set(wanted).difference(offered):
            self.log(f"the configuration does not ask this hook at {stage}, for which it has a handler")
        members = {
            "ok": True,
            "name": self.name,
            "stages": [stage for stage in wanted if stage in offered],
            "events": list(dict.fromkeys(glob for handler in self._handlers["event"] for glob in handler.globs)),
            "tools": [spec for spec, _ in self._tools.values()],
            "cancel": True,
            "max_in_flight": self.max_in_flight,
        }
        return {name: value for name, value in members.items() if name != "tools" or value}

    def answer(self, stage: str, params: Json, cancelled: threading.Event | None = None) -> Json:
        """The result of one stage call, as it goes over the wire; raises what a handler raises."""
        subject = _subject(stage, params, cancelled or threading.Event())
        if stage == "approve_tool" and isinstance(subject, Call):
            return self._approval(subject)
        return self._interception(stage, subject)

    def observe(self, event: Event) -> None:
        for handler in self._handlers["event"]:
            if handler.wants(event.kind):
                self._coroutines.finish(handler.fn(event))

    def _on(self, stage: str, globs: Iterable[str] | Handler) -> Handler:
        if callable(globs):
            return self._on(stage, "*")(globs)
        chosen = (globs,) if isinstance(globs, str) else tuple(globs)

        def register(fn: Handler) -> Handler:
            self._handlers[stage].append(_Handler(fn, chosen))
            return fn

        return register

    def _interception(self, stage: str, subject: Asked) -> Json:
        """Each handler sees what the ones before it changed; the first answer that ends the chain is the answer. One
        without an action ends nothing; what else it says hookgate judges, where nobody has ended it."""
        changes: Json = {}
        unclear: Json = {}
        for handler in self._handlers[stage]:
            answer = self._said(handler, stage, subject)
            patch = _patch(stage, answer)
            if patch is not None:
                changes, subject = {**changes, **patch}, _patched(stage, subject, patch)
            elif answer and answer.get("action") not in (None, "", "continue"):
                return _recorded(answer, changes)
            elif answer and not answer.get("action") and answer.keys() - {"action", "reason"}:
                unclear = unclear or answer
        if unclear:
            return unclear
        if stage == "before_tool" and isinstance(subject, Call) and subject.tool in self._tools:
            return _recorded(self._run_tool(subject), changes)
        return {"action": "modify", PATCHED[stage]: changes} if changes else {"action": "continue"}

    def _approval(self, call: Call) -> Json:
        """Every handler that wants this tool is heard: refuse beats ask, ask beats approve, silence refuses."""
        verdict = approve()
        for handler in self._handlers["approve_tool"]:
            if not handler.wants(call.tool):
                continue
            answer = self._said(handler, "approve_tool", call) or refuse(f"{self.name} gave no answer")
            if answer.get("approved") is not True and ("ask" not in answer or "approved" in answer):
                return answer
            verdict = answer if "ask" in answer and "ask" not in verdict else verdict
        return verdict

    def _said(self, handler: _Handler, stage: str, subject: Asked) -> Json | None:
        if not handler.wants(getattr(subject, "tool", "")):
            return None
        answer = self._coroutines.finish(handler.fn(subject), subject.cancelled)
        if isinstance(answer, Modify) and stage in PATCHED:
            return {"action": "modify", PATCHED[stage]: answer.members}
        if answer is None or isinstance(answer, dict):
            return cast("Json | None", answer)
        raise TypeError(f"{handler.fn.__name__} returned {answer!r}, which is no answer at {stage}")

    def _run_tool(self, call: Call) -> Json:
        """The model's mistakes in the arguments are a result that it can learn from, not a failure of the hook."""
        fn = self._tools[call.tool][1]
        signature = inspect.signature(fn)
        extra = {"call": call} if "call" in signature.parameters else {}
        try:
            bound = signature.bind(**{**call.arguments, **extra})
        except TypeError as error:
            return respond(f"{call.tool}: {error}", is_error=True)
        value = self._coroutines.finish(fn(*bound.args, **bound.kwargs), call.cancelled)
        if "action" in (_object(value) or {}):
            return value
        return respond(value if isinstance(value, str) else json.dumps(value))


def _patch(stage: str, answer: Json | None) -> Json | None:
    """The members that an answer changes, written flat or once more under their own name; None if it is no modify."""
    if not answer or answer.get("action") != "modify":
        return None
    members = _object(answer.get(PATCHED[stage]))
    return members and (_object(members.get(PATCHED[stage])) or members)


def _patched(stage: str, subject: Asked, patch: Json) -> Asked:
    """The same call after a `modify`, as the next handler of this process sees it."""
    name = PATCHED[stage]
    if name in NESTED:
        patch = {name: {**(subject.raw.get(name) or {}), **patch}}
    return _subject(stage, {**subject.raw, **patch}, subject.cancelled)


def _recorded(answer: Json, changes: Json) -> Json:
    """A tool's answer after this plugin changed the call: the record shows the call that was answered."""
    if changes and answer.get("action") == "respond":
        return {"call": changes, **answer}
    return answer


# --- JSON Schema from annotations -----------------------------------------------------------------------------

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


def _schema(fn: Handler) -> Json:
    hints = get_type_hints(fn, include_extras=True)
    parameters = [p for p in inspect.signature(fn).parameters.values() if p.name != "call"]
    return {
        "type": "object",
        "properties": {p.name: _property(hints.get(p.name)) for p in parameters},
        "required": [p.name for p in parameters if p.default is p.empty],
        "additionalProperties": False,
    }


def _property(hint: Any) -> Json:  # noqa: ANN401 - annotations have no common type
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return {**_property(args[0]), "description": str(args[1])}
    if origin is Literal:
        return {"type": _TYPES[type(args[0])], "enum": list(args)}
    if origin is Union or type(hint).__name__ == "UnionType":
        kinds = [_property(arg) for arg in args if arg is not type(None)]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if hint is Any:
        return {}
    if (origin or hint) not in _TYPES:
        raise TypeError(f"no JSON Schema for the annotation {hint!r}: give parameters=")
    items = {"items": _property(args[0])} if origin is list else {}
    return {"type": _TYPES[origin or hint], **items}


# --- the process: wire, threads, end --------------------------------------------------------------------------


def _take_stdio() -> tuple[int, int]:
    """The wire as two private descriptors. From here on print() and child processes write to stderr and read
    nothing; what was printed before and still sits in a buffer goes to stderr too."""
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout.flush()
    sys.stdout = sys.stderr
    return source, sink


def _lines(source: int) -> Iterator[bytes]:
    """Lines of any length; a chunk is searched once and a long line is joined once."""
    parts: list[bytes] = []
    while chunk := os.read(source, 1 << 16):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            yield b"".join((*parts, end))
            parts = []
        parts.append(rest)
    yield b"".join(parts)


class _Conversation:
    """The main thread waits for the end; the crew reads and runs handlers; events have a thread of their own."""

    def __init__(self, plugin: Plugin, source: int, sink: int) -> None:
        self._plugin, self._source, self._sink = plugin, source, sink
        self._crew, self._events = _Crew(self._jobs(), plugin.max_in_flight), _Events(self._observe)
        self._sending, self._quiet = threading.Lock(), threading.Condition()
        self._running: dict[Any, _Cancelled] = {}
        # A SimpleQueue and not an Event: a signal handler may put into it at any moment without a deadlock.
        self._ends: SimpleQueue[str] = SimpleQueue()

    def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        self._crew.start()
        self._ends.get()
        if not self._drained(time.monotonic() + GRACE_S):
            sys.stderr.flush()
            os._exit(0)  # a handler that never ends must not keep the process

    def _on_signal(self, *_: object) -> None:
        self._ends.put("signal")

    def _jobs(self) -> Iterator[_Job]:
        """The stage calls of the input; what needs no handler is dealt with on the way."""
        try:
            for line in _lines(self._source):
                job = self._take(line)
                if job:
                    yield job
        finally:
            self._ends.put("end of input")

    def _take(self, line: bytes) -> _Job | None:
        if not line.strip():
            return None
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        request = _object(message)
        if request is None:
            self._plugin.log(f"skipped a line that is no JSON object: {line[:200]!r}")
        elif isinstance(request.get("method"), str):
            return self._dispatch(request["method"], request.get("id"), request.get("params") or {})
        return None

    def _dispatch(self, method: str, call_id: object, given: object) -> _Job | None:
        params = _object(given)
        if method in EVENTS:
            self._events.put(params or {})
        elif method == "hook.cancel":
            self._cancel((params or {}).get("id"))
        elif not isinstance(call_id, (int, str)):
            return None  # a notification that nothing here knows
        elif params is None:
            self._fail(call_id, INVALID_PARAMS, "params must be an object")
        elif method == "hook.hello":
            self._send(call_id, "result", self._plugin.hello(params))
        elif method in STAGE_OF:
            return self._job(call_id, STAGE_OF[method], params)
        else:
            self._fail(call_id, METHOD_NOT_FOUND, f"unknown method {method[:100]}")
        return None

    def _job(self, call_id: object, stage: str, params: Json) -> _Job:
        cancelled = _Cancelled()
        with self._quiet:
            self._running[call_id] = cancelled
        return partial(self._answer, call_id, stage, params, cancelled)

    def _answer(self, call_id: object, stage: str, params: Json, cancelled: _Cancelled) -> None:
        try:
            if not cancelled.is_set():
                self._send(call_id, "result", self._plugin.answer(stage, params, cancelled), cancelled)
        except BaseException as error:
            if not cancelled.is_set():
                traceback.print_exc()
                self._fail(call_id, HANDLER_FAILED, f"{type(error).__name__}: {error}"[:300])
        finally:
            with self._quiet:
                self._running.pop(call_id, None)
                self._quiet.notify_all()

    def _cancel(self, call_id: object) -> None:
        with self._quiet:
            cancelled = self._running.get(call_id)
        if cancelled:
            cancelled.set()

    def _observe(self, event: Event) -> None:
        try:
            self._plugin.observe(event)
        except BaseException:
            traceback.print_exc()

    def _fail(self, call_id: object, code: int, message: str) -> None:
        self._send(call_id, "error", {"code": code, "message": message})

    def _send(self, call_id: object, name: str, value: Json, cancelled: threading.Event | None = None) -> None:
        """One whole line, unless hookgate stopped waiting. Raises TypeError or ValueError for what is not JSON."""
        line = json.dumps({"jsonrpc": "2.0", "id": call_id, name: value}, allow_nan=False, separators=(",", ":"))
        rest = memoryview(line.encode() + b"\n")
        if cancelled and cancelled.is_set():
            return
        try:
            with self._sending:
                while rest:
                    rest = rest[os.write(self._sink, rest) :]
        except BrokenPipeError:
            self._ends.put("nobody reads")

    def _drained(self, deadline: float) -> bool:
        with self._quiet:
            answered = self._quiet.wait_for(lambda: not self._running, deadline - time.monotonic())
        return self._events.close(deadline - time.monotonic()) and answered


class _Crew:
    """Threads that take turns at reading: the one that reads a job does it, and hands the reading to the next.

    A job so costs no switch of threads, which would be most of what a short call costs. At most `size` jobs run at
    once; one thread more always reads, so that a cancel and the end of the input are seen.
    """

    def __init__(self, jobs: Iterator[_Job], size: int) -> None:
        self._jobs, self._room = jobs, size + 1
        self._reading, self._changing = threading.Lock(), threading.Lock()
        self._spare = 0  # threads that wait for their turn
        self._backlog: deque[_Job] = deque()

    def start(self) -> None:
        self._room -= 1
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while job := self._waiting_job() or self._read_job():
            job()

    def _waiting_job(self) -> _Job | None:
        with self._changing:
            if self._backlog:
                return self._backlog.popleft()
            self._spare += 1
            return None

    def _read_job(self) -> _Job | None:
        with self._reading:
            with self._changing:
                self._spare -= 1
            for job in self._jobs:
                if self._may_leave(job):
                    return job
        return None

    def _may_leave(self, job: _Job) -> bool:
        """Whether another thread will read; if none can, the job waits for the next one that is done."""
        with self._changing:
            if not self._spare and not self._room:
                self._backlog.append(job)
                return False
        if not self._spare:
            self.start()
        return True


class _Events:
    """Events on their way to `observe`: in order, in one thread; when too many wait, the oldest is dropped."""

    def __init__(self, observe: Callable[[Event], None]) -> None:
        self._observe = observe
        self._waiting: SimpleQueue[Json | None] = SimpleQueue()
        self._lost = 0
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def put(self, params: Json) -> None:
        if self._waiting.qsize() >= MAX_EVENTS:
            self._waiting.get()
            self._lost += 1
        self._waiting.put(params)

    def close(self, timeout_s: float) -> bool:
        """True when all that waited has been observed."""
        self._waiting.put(None)
        self._thread.join(max(timeout_s, 0))
        return not self._thread.is_alive()

    def _work(self) -> None:
        told = 0
        while (params := self._waiting.get()) is not None:
            lost = self._lost
            self._observe(_event(params, lost - told))
            told = lost


class _Cancelled(threading.Event):
    """Set when hookgate stops waiting for a call; takes the running coroutine of that call with it."""

    future: Future[Any] | None = None

    def set(self) -> None:
        super().set()
        if self.future:
            self.future.cancel()

    def bind(self, future: Future[Any]) -> None:
        self.future = future
        if self.is_set():
            future.cancel()


async def _contained(coroutine: Any) -> Any:  # noqa: ANN401 - what handlers return
    """What would end asyncio's loop, and so every other handler that is a coroutine, ends this one alone."""
    try:
        return await coroutine
    except (SystemExit, KeyboardInterrupt) as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


class _Coroutines:
    """One asyncio loop in a thread of its own, which the first coroutine starts."""

    def __init__(self) -> None:
        self._loop: Any = None
        self._starting = threading.Lock()

    def finish(self, value: Any, cancelled: threading.Event | None = None) -> Any:  # noqa: ANN401 - what handlers return
        """What a handler returned, after it ran to its end if it is a coroutine."""
        if not inspect.iscoroutine(value):
            return value
        import asyncio  # 30 ms of start-up, which only async handlers pay

        future = asyncio.run_coroutine_threadsafe(_contained(value), self._started(asyncio))
        if isinstance(cancelled, _Cancelled):
            cancelled.bind(future)
        return future.result()

    def _started(self, asyncio: Any) -> Any:  # noqa: ANN401 - the module that is imported lazily
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, daemon=True).start()
        return self._loop
