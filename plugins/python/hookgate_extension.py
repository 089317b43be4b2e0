"""Write a zot extension in Python: decorators in front, JSON lines behind; standard library only.

This one file owns the frames and the threads of an extension process. What a host makes of an answer it does not
know. It runs on Python 3.9 and later, under zot and under hookgate; copy it beside your extension.
"""

from __future__ import annotations

import base64
import inspect
import json
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import partial
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Union, cast, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from concurrent.futures import Future

GRACE_S = 1.5  # the host sends SIGTERM 2 s after it closed stdin
MAX_LINE_BYTES = 4 * 1024 * 1024  # zot hears nothing more of an extension after a longer line
FIRST_WORD_S = 0.5  # within which a host that speaks first has spoken
MAX_WAITING = 10_000  # events, or keys, that wait for a slow handler
ANSWER_S = 65.0  # a host gives a tool that an extension calls 60 s
INTERCEPTED = ("tool_call", "turn_start", "assistant_message", "before_agent_start")

Json = dict[str, Any]
Handler = Callable[..., Any]

# --- answers: what a handler returns. None has nothing to say; a dict goes to the host as it is -----------------


@dataclass(frozen=True)
class Panel:
    """Lines of text that a user looks at and presses keys in. An empty title keeps the one that is shown."""

    id: str
    title: str = ""
    lines: Sequence[str] = ()
    footer: str = ""

    def members(self, key: str = "id") -> Json:
        return {key: self.id, "title": self.title, "lines": list(self.lines), "footer": self.footer}


class Block(dict[str, Any]):
    """One part of a tool's result."""


@dataclass(frozen=True)
class Failed:
    """A tool's result that is an error."""

    text: str


def prompt(text: str) -> Json:
    """command: a new message of the user's, which the model answers."""
    return {"action": "prompt", "prompt": text}


def insert(text: str) -> Json:
    """command: text for the editor, not sent yet."""
    return {"action": "insert", "insert": text}


def display(text: str) -> Json:
    """command: a note for people; the model never sees it. A handler that returns text means the same."""
    return {"action": "display", "display": text}


def error(text: str) -> Json:
    """command: what went wrong."""
    return {"action": "noop", "error": text}


def block(reason: str = "") -> Json:
    """intercept: it does not happen; of a tool call the model is told the reason."""
    return {"block": True, "reason": reason}


def modify(args: Mapping[str, Any]) -> Json:
    """intercept of tool_call: the call runs with these arguments."""
    return {"modified_args": dict(args)}


def replace(text: str) -> Json:
    """intercept of assistant_message: people are shown this text."""
    return {"replace_text": text}


def system_prompt(text: str) -> Json:
    """intercept of before_agent_start: the session's system prompt; empty is none."""
    return {"system_prompt": text}


def fail(text: str) -> Failed:
    """tool: the model is told that it failed, and this."""
    return Failed(text)


def image(data: bytes, mime_type: str = "image/png") -> Block:
    """tool: a picture, alone or in a list with texts and other pictures."""
    return Block(type="image", mime_type=mime_type, data=base64.b64encode(data).decode())


# --- what handlers are given: members under the names they have on the wire ------------------------------------


@dataclass(frozen=True)
class Host:
    """What the host says of itself. `cwd` is the project; both directories are the extension's own."""

    zot_version: str = ""
    provider: str = ""
    model: str = ""
    cwd: str = ""
    extension_dir: str = ""
    data_dir: str = ""
    raw: Json = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Event:
    """What happened, or at an interception is about to. Members of other kinds of events are in `raw`."""

    event: str = ""
    tool_id: str = ""
    tool_name: str = ""
    tool_args: Json = field(default_factory=dict)
    step: int = 0
    text: str = ""
    stop: str = ""
    error: str = ""
    reason: str = ""
    system_prompt: str = ""
    raw: Json = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Call:
    """A tool's call. `cancelled` is set when the host no longer waits for the result."""

    id: str = ""
    name: str = ""
    args: Json = field(default_factory=dict)
    cancelled: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)


@dataclass(frozen=True)
class Answer:
    """What became of a tool that this extension called; `content` holds the blocks, `text` their texts."""

    text: str = ""
    is_error: bool = False
    truncated: bool = False
    content: Sequence[Json] = ()


@dataclass(frozen=True)
class Key:
    """A key pressed in a panel: up down left right enter tab backspace delete home end pageup pagedown, or `rune`
    with its `text`. Esc is never sent: it closes the panel."""

    panel_id: str = ""
    key: str = ""
    text: str = ""


def _members(kind: type, raw: Json) -> Json:
    """The members that a value has a field for; an absent one, null and an empty one are the same."""
    named = (field.name for field in fields(cast("Any", kind)))
    return {name: raw[name] for name in named if name != "raw" and raw.get(name)}


def _answered(frame: Json) -> Answer:
    given = cast("list[Any]", frame.get("content") or [])
    content = [cast("Json", block) for block in given if isinstance(block, dict)]
    texts = [str(block.get("text") or "") for block in content if block.get("type") == "text"]
    return Answer("\n".join(texts), frame.get("is_error") is True, frame.get("truncated") is True, content)


_working_on: ContextVar[str] = ContextVar("working_on", default="")
"""The host's call that the running handler works on."""


def _event(raw: Json) -> Event:
    return Event(**_members(Event, raw), raw=raw)


def _object(value: Any) -> Json | None:  # noqa: ANN401 - any JSON value
    return cast("Json", value) if isinstance(value, dict) else None


# --- the extension: which function answers what -----------------------------------------------------------------


@dataclass(frozen=True)
class _Handler:
    fn: Handler
    globs: tuple[str, ...] = ("*",)

    def wants(self, name: str) -> bool:
        return any(fnmatchcase(name, glob) for glob in self.globs)


class Extension:
    """An extension process. Decorate functions (plain or `async def`), then `run()`.

    Up to `max_in_flight` calls are answered at once, each in a thread of its own: guard what handlers share. Events
    come one at a time, in order, and so do keys. `calls_tools`: the host is told that `call_tool` will be used.
    """

    prompt, insert, display, error = (
        staticmethod(prompt),
        staticmethod(insert),
        staticmethod(display),
        staticmethod(error),
    )
    block, modify, replace = staticmethod(block), staticmethod(modify), staticmethod(replace)
    system_prompt, fail, image = staticmethod(system_prompt), staticmethod(fail), staticmethod(image)

    def __init__(
        self, name: str, version: str = "1.0.0", max_in_flight: int = 64, *, calls_tools: bool = False
    ) -> None:
        self.name, self.version, self.max_in_flight = name, version, max_in_flight
        self.calls_tools = calls_tools
        self.max_line_bytes = MAX_LINE_BYTES
        self._commands: dict[str, tuple[str, Handler]] = {}
        self._tools: dict[str, tuple[Json, Handler]] = {}
        self._observers: dict[str, list[Handler]] = {}
        self._interceptors: dict[str, list[_Handler]] = {}
        self._keys: dict[str, Handler] = {}
        self._closers: dict[str, Handler] = {}
        self._starters: list[Handler] = []
        self._host: Host | None = None
        self._wire: _Wire | None = None
        self._coroutines = _Coroutines()
        self._numbers = count(1)
        self._awaited: dict[str, SimpleQueue[Answer]] = {}

    # --- decorators ---

    def command(self, name: str, description: str = "") -> Handler:
        """The function is what `/NAME ARGS` does; it gets the args, trimmed. It returns an answer, a text to
        display, a Panel to open, or None."""
        if callable(name):
            raise TypeError('write @ext.command("name")')

        def register(fn: Handler) -> Handler:
            self._commands[name] = description or inspect.getdoc(fn) or "", fn
            self._send_late([self._command_frame(name)])
            return fn

        return register

    def tool(self, description: str = "", schema: Json | None = None, name: str = "") -> Handler:
        """The function is a tool that the model may call, with its arguments as keywords (and `call`, a Call, if it
        has a parameter of that name). It returns text, another JSON value, `image(...)`, a list of texts and images,
        or `fail(...)`. Without `schema` the JSON Schema comes from the annotations: str, int, float, bool, list,
        dict, Literal, Optional, and Annotated[T, "description"]. Raises TypeError for an annotation that is none of
        these.
        """
        if callable(description):
            raise TypeError("write @ext.tool() with its parentheses")

        def register(fn: Handler) -> Handler:
            called = name or fn.__name__
            about = {"name": called, "description": description or inspect.getdoc(fn) or ""}
            self._tools[called] = {**about, "schema": _schema(fn) if schema is None else schema}, fn
            self._send_late([self._tool_frame(called)])
            return fn

        return register

    def on(self, *events: str) -> Handler:
        """The function gets an Event of these names: session_start, turn_start, turn_end, tool_call, ..."""
        if not events or callable(events[0]):
            raise TypeError('write @ext.on("event", ...)')

        def register(fn: Handler) -> Handler:
            for event in events:
                self._observers.setdefault(event, []).append(fn)
            self._send_late([{"type": "subscribe", "events": list(events)}])
            return fn

        return register

    def intercept(self, event: str, tools: str | Iterable[str] = "*") -> Handler:
        """The function gets the Event before it happens: tool_call (of tools that match one of these globs),
        turn_start, assistant_message or before_agent_start. It has 5 s; silence lets it happen."""
        if event not in INTERCEPTED:
            raise ValueError(f"{event} cannot be intercepted, only {', '.join(INTERCEPTED)}")
        globs = (tools,) if isinstance(tools, str) else tuple(tools)

        def register(fn: Handler) -> Handler:
            self._interceptors.setdefault(event, []).append(_Handler(fn, globs))
            self._send_late([{"type": "subscribe", "intercept": [event]}])
            return fn

        return register

    def key(self, panel_id: str) -> Handler:
        """The function gets each Key that is pressed in that panel; a Panel that it returns is drawn."""
        return partial(_put, self._keys, panel_id)

    def closed(self, panel_id: str) -> Handler:
        """The function is called, without arguments, when the user has closed that panel."""
        return partial(_put, self._closers, panel_id)

    def start(self, fn: Handler) -> Handler:
        """The function gets the Host before this extension is ready: it may still register commands and tools."""
        self._starters.append(fn)
        return fn

    # --- what an extension says by itself, from any thread ---

    def notify(self, message: str, level: Literal["info", "success", "warn", "error"] = "info") -> None:
        """A note beside the conversation, which goes with the user's next prompt."""
        self._say({"type": "notify", "level": level, "message": message})

    def clear_notes(self) -> None:
        """Take back this extension's notes."""
        self._say({"type": "clear_notes"})

    def submit(self, text: str) -> None:
        """Text as if the user had sent it."""
        self._say({"type": "submit", "text": text})

    def submit_slash(self, text: str) -> None:
        """A command as if the user had typed it: it begins with a slash."""
        self._say({"type": "submit_slash", "text": text})

    def open_panel(self, panel: Panel) -> None:
        self._say({"type": "open_panel", "panel": panel.members()})

    def render_panel(self, panel: Panel) -> None:
        """Draw an open panel again; the host ignores it for one that is not open."""
        self._say({"type": "panel_render", **panel.members("panel_id")})

    def close_panel(self, panel_id: str) -> None:
        self._say({"type": "panel_close", "panel_id": panel_id})

    def call_tool(self, name: str, args: Json | None = None, timeout_s: float = ANSWER_S) -> Answer:
        """Call any tool of the chat that the running handler serves, and wait for what becomes of it: the host's
        guards and approvals have their say, the model hears nothing of it. Every failure is an Answer. In an
        `async def` handler: `await asyncio.to_thread(ext.call_tool, ...)`.
        """
        if "call_tool" not in (self.host.raw.get("capabilities") or ()):
            return Answer("this host runs no tools for this extension (calls_tools=True asks for it)", is_error=True)
        call_id, answers = f"call-{next(self._numbers)}", cast("SimpleQueue[Answer]", SimpleQueue())
        self._awaited[call_id] = answers
        parent = {"parent_id": _working_on.get()} if _working_on.get() else {}
        try:
            self._say({"type": "call_tool", "id": call_id, "name": name, "args": args or {}, **parent})
            return answers.get(timeout=timeout_s)
        except Empty:
            self._say({"type": "call_tool_cancel", "id": call_id})
            return Answer(f"no answer from {name} within {timeout_s:g} s", is_error=True)
        finally:
            self._awaited.pop(call_id, None)

    def log(self, text: str) -> None:
        """One line to stderr, which the host keeps in this extension's log."""
        print(f"{self.name}: {text}", file=sys.stderr, flush=True)

    @property
    def host(self) -> Host:
        """Known before any handler runs."""
        return self._host or Host()

    @property
    def data_dir(self) -> Path:
        """Where this extension keeps its files: its own folder, in which it is started."""
        return Path(self.host.data_dir or self.host.extension_dir or Path.cwd())

    @property
    def project_dir(self) -> Path:
        """Where the user works."""
        return Path(self.host.cwd or Path.cwd())

    # --- its life ---

    def run(self) -> None:
        """Answer until `shutdown`, the end of stdin or SIGTERM, then let running handlers end, for 1.5 s. Main
        thread only."""
        source, sink = _take_stdio()
        self._wire = _Wire(sink, self.max_line_bytes)
        _Conversation(self, self._wire, source).run()

    def hello(self) -> Json:
        """The first frame."""
        has = {
            "commands": self._commands,
            "tools": self._tools,
            "events": self._observers or self._interceptors,
            "panels": self._keys,
            "tool_cancel": self._tools,
        }
        wanted = ["call_tool"] if self.calls_tools else []
        capabilities = [name for name, some in has.items() if some or (self._starters and name != "panels")]
        return {"type": "hello", "name": self.name, "version": self.version, "capabilities": capabilities + wanted}

    def registrations(self) -> list[Json]:
        """The frames after it, before `ready`."""
        frames = [self._command_frame(name) for name in self._commands]
        frames += [self._tool_frame(name) for name in self._tools]
        if self._observers or self._interceptors:
            wanted = {"events": list(self._observers), "intercept": list(self._interceptors)}
            frames.append({"type": "subscribe", **{name: some for name, some in wanted.items() if some}})
        return frames

    @property
    def starters(self) -> Sequence[Handler]:
        return self._starters

    def acknowledged(self, raw: Json) -> None:
        self._host = Host(**_members(Host, raw), raw=raw)

    # --- one frame each: what this process answers, without the frame's id ---

    def invoked(self, frame: Json) -> Json:
        """A command; what it raises is shown as its error."""
        name = frame.get("name")
        if name not in self._commands:
            return error(f"no command /{name} here")
        fn = self._commands[name][1]
        answer = self._coroutines.finish(fn(frame.get("args") or ""))
        if isinstance(answer, Panel):
            return {"action": "open_panel", "open_panel": answer.members()}
        if answer is None:
            return {"action": "noop"}
        return display(answer) if isinstance(answer, str) else _checked(answer, fn)

    def called(self, call: Call) -> Json:
        """A tool; the model's mistakes in the arguments are a result that it can learn from."""
        if call.name not in self._tools:
            return _result(fail(f"no tool {call.name} here"))
        fn = self._tools[call.name][1]
        signature = inspect.signature(fn)
        extra = {"call": call} if "call" in signature.parameters else {}
        try:
            bound = signature.bind(**{**call.args, **extra})
        except TypeError as problem:
            return _result(fail(f"{call.name}: {problem}"))
        token = _working_on.set(call.id)
        try:
            return _result(self._coroutines.finish(fn(*bound.args, **bound.kwargs), call.cancelled))
        finally:
            _working_on.reset(token)

    def intercepted(self, frame: Json) -> Json:
        """Each handler sees what the ones before it changed; the first that blocks has the last word."""
        answer: Json = {}
        for handler in self._interceptors.get(frame["event"], []):
            event = _event(frame)
            if event.event == "tool_call" and not handler.wants(event.tool_name):
                continue
            said = self._coroutines.finish(handler.fn(event))
            if said is None:
                continue
            if _checked(said, handler.fn).get("block"):
                return said
            answer.update(said)
            frame = {**frame, **{name: said[key] for key, name in _REWRITTEN.items() if key in said}}
        return answer

    def happened(self, frame: Json) -> None:
        for fn in self._observers.get(str(frame.get("event")), []):
            self._coroutines.finish(fn(_event(frame)))

    def pressed(self, frame: Json) -> None:
        key = Key(**_members(Key, frame))
        fn = self._keys.get(key.panel_id)
        panel = self._coroutines.finish(fn(key)) if fn else None
        if isinstance(panel, Panel):
            self.render_panel(panel)

    def dismissed(self, frame: Json) -> None:
        fn = self._closers.get(str(frame.get("panel_id")))
        if fn:
            self._coroutines.finish(fn())

    def answered(self, frame: Json) -> None:
        """A tool that this extension called has its result; nobody may wait for it any more."""
        waiting = self._awaited.get(str(frame.get("id")))
        if waiting:
            waiting.put(_answered(frame))

    def deserted(self) -> None:
        """The host is going: nothing is answered any more."""
        for waiting in list(self._awaited.values()):
            waiting.put(Answer("the host has gone", is_error=True))

    # --- frames ---

    def _command_frame(self, name: str) -> Json:
        return {"type": "register_command", "name": name, "description": self._commands[name][0]}

    def _tool_frame(self, name: str) -> Json:
        return {"type": "register_tool", **self._tools[name][0]}

    def _send_late(self, frames: list[Json]) -> None:
        if self._wire and self._wire.registered:
            self._wire.send(*frames)

    def _say(self, frame: Json) -> None:
        if self._wire is None:
            raise RuntimeError("nobody hears this before run()")
        self._wire.send(frame)


_REWRITTEN = {"modified_args": "tool_args", "replace_text": "text", "system_prompt": "system_prompt"}


def _put(where: dict[str, Handler], name: str, fn: Handler) -> Handler:
    where[name] = fn
    return fn


def _checked(answer: Any, fn: Handler) -> Json:  # noqa: ANN401 - whatever a handler returned
    if isinstance(answer, dict):
        return cast("Json", answer)
    raise TypeError(f"{fn.__name__} returned {answer!r}, which is no answer")


def _result(value: Any) -> Json:  # noqa: ANN401 - any JSON value
    if isinstance(value, Failed):
        return {"content": _blocks(value.text), "is_error": True}
    return {"content": _blocks(value)}


def _blocks(value: Any) -> list[Json]:  # noqa: ANN401 - any JSON value
    if value is None:
        return []
    if isinstance(value, Block):
        return [value]
    parts = cast("list[Any]", value) if isinstance(value, list) else []
    if any(isinstance(part, Block) for part in parts):
        return [found for part in parts for found in _blocks(part)]
    return [Block(type="text", text=value if isinstance(value, str) else json.dumps(value))]


def described(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}"[:300]


# --- a hook and an extension in one program ---------------------------------------------------------------------


class Runnable(Protocol):
    def run(self) -> None: ...


def serve(plugin: Runnable, extension: Extension) -> None:
    """Run as a hook (`hookgate_plugin.Plugin`) or as an extension, whichever the host wants: `--hook` or
    `--extension` in the arguments says it. Without them, a host that speaks first wants a hook."""
    if "--extension" in sys.argv[1:]:
        extension.run()
    elif "--hook" in sys.argv[1:] or _host_speaks_first():
        plugin.run()
    else:
        extension.run()


def _host_speaks_first() -> bool:
    """A hook's host says hello at once; an extension's waits for the extension to do so."""
    return bool(select.select([0], [], [], FIRST_WORD_S)[0])


# --- JSON Schema from annotations -------------------------------------------------------------------------------

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
        raise TypeError(f"no JSON Schema for the annotation {hint!r}: give schema=")
    items = {"items": _property(args[0])} if origin is list else {}
    return {"type": _TYPES[origin or hint], **items}


# --- the process: wire, threads, end ----------------------------------------------------------------------------


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


class TooLong(Exception):
    """A frame that would make the host deaf."""


class _Wire:
    """Whole frames to the host, from any thread. `registered`: what is registered from now on goes out at once."""

    def __init__(self, sink: int, max_line_bytes: int) -> None:
        self.registered = False
        self._sink, self._max = sink, max_line_bytes
        self._sending = threading.Lock()

    def send(self, *frames: Json) -> None:
        """Raises TooLong, and TypeError or ValueError for what is not JSON: then nothing is sent."""
        rest = memoryview(b"".join(self._line(frame) for frame in frames))
        with self._sending:
            try:
                while rest:
                    rest = rest[os.write(self._sink, rest) :]
            except BrokenPipeError:
                pass  # nobody reads any more; the end of stdin follows

    def _line(self, frame: Json) -> bytes:
        line = json.dumps(frame, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        if len(line) > self._max:
            raise TooLong(f"a frame of {len(line)} bytes is over the limit of {self._max}")
        return line


class _Conversation:
    """The main thread waits for the end; one thread reads; a pool answers; events and keys have a thread each."""

    def __init__(self, extension: Extension, wire: _Wire, source: int) -> None:
        self._extension, self._wire, self._source = extension, wire, source
        self._crew = ThreadPoolExecutor(extension.max_in_flight)
        self._events, self._keys = _InOrder(), _InOrder()
        self._quiet = threading.Condition()
        self._answering = 0
        self._calls: dict[str, _Cancelled] = {}
        # A SimpleQueue and not an Event: a signal handler may put into it at any moment without a deadlock.
        self._ends: SimpleQueue[str] = SimpleQueue()

    def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        self._wire.send(self._extension.hello())
        if not self._extension.starters:
            self._register()
        threading.Thread(target=self._read, daemon=True).start()
        self._ends.get()
        self._extension.deserted()
        if not self._drained(time.monotonic() + GRACE_S):
            sys.stderr.flush()
            os._exit(0)  # a handler that never ends must not keep the process

    def _on_signal(self, *_: object) -> None:
        self._ends.put("signal")

    def _register(self) -> None:
        self._wire.send(*self._extension.registrations(), {"type": "ready"})
        self._wire.registered = True

    def _read(self) -> None:
        try:
            for line in _lines(self._source):
                self._take(line)
        finally:
            self._ends.put("end of input")

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            frame = _object(json.loads(line))
        except (ValueError, RecursionError):
            frame = None
        if frame is None:
            self._extension.log(f"skipped a line that is no JSON object: {line[:200]!r}")
        else:
            self._dispatch(str(frame.get("type")), frame)

    def _dispatch(self, kind: str, frame: Json) -> None:
        """A frame of another type means nothing here: newer hosts may send some."""
        extension = self._extension
        if kind == "hello_ack":
            extension.acknowledged(frame)
            if extension.starters:
                self._do(self._start)
        elif kind == "command_invoked":
            self._do(partial(self._answer, frame, extension.invoked, _COMMAND))
        elif kind == "tool_call":
            self._do(partial(self._call, frame, self._begun(frame)))
        elif kind == "event_intercept":
            self._do(partial(self._answer, frame, extension.intercepted, _INTERCEPTION))
        elif kind == "tool_cancel":
            self._cancel(str(frame.get("id")))
        elif kind == "tool_result":
            extension.answered(frame)
        elif kind == "event":
            self._events.put(partial(extension.happened, frame))
        elif kind == "panel_key":
            self._keys.put(partial(extension.pressed, frame))
        elif kind == "panel_close":
            self._keys.put(partial(extension.dismissed, frame))
        elif kind == "shutdown":
            self._wire.send({"type": "shutdown_ack"})
            self._ends.put("shutdown")

    def _start(self) -> None:
        for fn in self._extension.starters:
            _logged(partial(fn, self._extension.host))
        self._register()

    def _do(self, job: Callable[[], None]) -> None:
        with self._quiet:
            self._answering += 1
        self._crew.submit(self._done, job)

    def _done(self, job: Callable[[], None]) -> None:
        try:
            job()
        finally:
            with self._quiet:
                self._answering -= 1
                self._quiet.notify_all()

    def _begun(self, frame: Json) -> _Cancelled:
        """Before its turn in the pool: a call can be cancelled while it waits."""
        cancelled = _Cancelled()
        with self._quiet:
            self._calls[str(frame.get("id"))] = cancelled
        return cancelled

    def _call(self, frame: Json, cancelled: _Cancelled) -> None:
        if not cancelled.is_set():
            call = Call(**_members(Call, frame), cancelled=cancelled)
            self._answer(frame, lambda _frame: self._extension.called(call), _TOOL, cancelled)
        with self._quiet:
            self._calls.pop(str(frame.get("id")), None)

    def _cancel(self, call_id: str) -> None:
        with self._quiet:
            cancelled = self._calls.get(call_id)
        if cancelled:
            cancelled.set()

    def _answer(
        self, frame: Json, answer: Callable[[Json], Json], kind: _Kind, cancelled: _Cancelled | None = None
    ) -> None:
        """A handler that fails answers too: nobody waits for a timeout. Of a cancelled call what it returns is said,
        which the host may keep; that it failed is no news."""
        head = {"type": kind.reply, "id": frame.get("id")}
        try:
            self._wire.send({**head, **answer(frame)})
        except BaseException as problem:
            if not (cancelled and cancelled.is_set()):
                traceback.print_exc()
                self._wire.send({**head, **kind.failed(described(problem))})

    def _drained(self, deadline: float) -> bool:
        with self._quiet:
            answered = self._quiet.wait_for(lambda: not self._answering, deadline - time.monotonic())
        queues = [queue.close(deadline - time.monotonic()) for queue in (self._events, self._keys)]
        return answered and all(queues)


@dataclass(frozen=True)
class _Kind:
    """How a question is answered when its handler fails."""

    reply: str
    failed: Callable[[str], Json]


_COMMAND = _Kind("command_response", error)
_TOOL = _Kind("tool_result", lambda text: _result(fail(text)))
_INTERCEPTION = _Kind("event_intercept_response", lambda text: block(f"intercept panic: {text}"))


def _logged(job: Callable[[], Any]) -> None:
    try:
        job()
    except BaseException:
        traceback.print_exc()


class _InOrder:
    """Jobs that nobody waits for, one at a time in a thread of their own; when too many wait, the oldest is lost."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def put(self, job: Callable[[], None]) -> None:
        if self._waiting.qsize() >= MAX_WAITING:
            self._waiting.get()
        self._waiting.put(job)

    def close(self, timeout_s: float) -> bool:
        """True when all that waited has been done."""
        self._waiting.put(None)
        self._thread.join(max(timeout_s, 0))
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (job := self._waiting.get()) is not None:
            _logged(job)


class _Cancelled(threading.Event):
    """Set when the host stops waiting for a call; takes the running coroutine of that call with it."""

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
