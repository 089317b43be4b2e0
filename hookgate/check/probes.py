"""The checks of what a hook answers: hello, the stages, what it does not know, its own tools.

Each takes a running process and gives one finding. What goes wrong with the process itself is raised
(NoAnswer, HookGone), a wrong answer too (BadMessage); `run.py` turns both into findings.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from time import monotonic

from hookgate.check.golden import (
    BASH,
    ODD_TEXT,
    changed_numbers,
    changed_texts,
    is_mangled,
    owned_call,
    question,
)
from hookgate.check.mailbox import Answered, ErrorAnswer, Result
from hookgate.check.report import Finding, failed, ok, skipped, warned
from hookgate.check.subject import Subject
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.answers import Answer, Continue, Modify, Refuse, Respond, actions_at, parse_answer
from hookgate.protocol.hook.hello import Hello, hello_params, parse_hello, undeclared
from hookgate.protocol.hook.peer import METHOD_NOT_FOUND, notification_frame
from hookgate.protocol.hook.stages import MESSAGE_STAGES, Question, Stage
from hookgate.protocol.values import ToolSpec

ALL_STAGES = frozenset(Stage)
NAME = "check"
UNKNOWN_METHOD = "hook.check_unknown"
UNKNOWN_NOTIFICATION = "hook.check_unknown_event"
FUTURE_MEMBERS = b',"future_member":{"list":[1,null,"x"]},"future_flag":true}'

PARSE_FIX = "compare it with what docs/hook-json-protocol.md says of this answer"


SHOWN_CHARS = 400


class WrongAnswer(BadMessage):
    """An answer that is not what the protocol says, with the text of what came and an example of what is right."""

    def __init__(self, problem: str, came: object, expected: str) -> None:
        super().__init__(problem)
        self.came, self.expected = came if isinstance(came, str) else shown(came), expected


def shown(value: object) -> str:
    """JSON as a line, cut where it is long."""
    text = encode(value).decode()
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}... ({len(text)} characters)"


class NothingToAsk(Exception):
    """The hook gives a usable answer to nothing, so that what comes after some event cannot be asked."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds: for hello, a call, a call after one was not answered, a call that takes long, the exit, all of it."""

    hello_s: float = 10.0
    call_s: float = 5.0
    again_s: float = 2.0
    long_s: float = 10.0
    exit_s: float = 2.0
    total_s: float = 30.0
    stages_s: Mapping[Stage, float] = field(default_factory=dict[Stage, float])
    """For a first call at a stage, where that is configured."""

    def hastier(self) -> Limits:
        """What is left to a hook that did not answer once, so that the whole run stays bounded."""
        if self.call_s <= self.again_s:
            return self
        return replace(self, call_s=self.again_s, long_s=self.call_s)


@dataclass(frozen=True, slots=True)
class Offer:
    """What the hook is told at hello: everything, or what is configured for it."""

    name: str = NAME
    stages: frozenset[Stage] = ALL_STAGES
    observes: bool = True
    max_in_flight: int = 256
    configured: bool = False


@dataclass
class Known:
    """What the run has learnt about the hook so far; it outlives the single process. `injected`: tools that it has
    added to a request."""

    limits: Limits
    offer: Offer = field(default_factory=Offer)
    declared: Hello | None = None
    usable: list[Stage] = field(default_factory=list[Stage])
    answers_unknown: bool = False
    refuses_unknown: bool = False
    injected: tuple[ToolSpec, ...] = ()

    @property
    def offered(self) -> list[Stage]:
        """The stages that the hook declared; those of version 1 if it declared none."""
        declared = self.declared.stages if self.declared else None
        stages = self.offer.stages - MESSAGE_STAGES if declared is None else declared
        return [stage for stage in Stage if stage in stages]

    def room(self, count: int) -> int:
        """How many of `count` calls may be in flight at once."""
        limit = self.declared.max_in_flight if self.declared else None
        return min(count, limit or count, self.offer.max_in_flight)


@dataclass(frozen=True, slots=True)
class Probe:
    name: str
    run: Callable[[Subject, Known], Awaitable[Finding]]


# --- asking -------------------------------------------------------------------------------------------------


async def ask(hook: Subject, question: Question, patience_s: float = 0) -> Answered:
    seconds = patience_s or hook.patience_s
    return await hook.call(question.stage.method, question.framed_params(seconds), seconds)


def read_answer(stage: Stage, answered: Answered) -> Answer:
    """Raises BadMessage, also for a JSON-RPC error."""
    match answered:
        case ErrorAnswer(code=code, message=message):
            raise WrongAnswer(f"{stage}: error {code}: {message}", f"error {code}: {message}", expected_at(stage))
        case Result(value=value):
            try:
                return parse_answer(stage, value)
            except BadMessage as error:
                raise WrongAnswer(f"{stage}: {error}", value, expected_at(stage)) from None


def expected_at(stage: Stage) -> str:
    if stage is Stage.APPROVE_TOOL:
        return '{"approved":true}, {"approved":false,"reason":"..."} or {"ask":{...}}'
    return f'{{"action":"continue"}}, or one of {", ".join(actions_at(stage))} with what belongs to it'


def next_call(hook: Subject, known: Known, text: str = "ls") -> tuple[int, bytes]:
    """The id and frame of a call that this hook answers. Raises NothingToAsk."""
    if known.usable:
        asked = question(known.usable[0], text)
        return hook.mailbox.request(asked.stage.method, asked.framed_params(hook.patience_s))
    if known.answers_unknown:
        return hook.mailbox.request(UNKNOWN_METHOD, encode({"text": text}))
    raise NothingToAsk


def read_next(known: Known, answered: Answered) -> None:
    """Raises BadMessage unless this answers what `next_call` asked."""
    if known.usable:
        read_answer(known.usable[0], answered)


async def still_answers(hook: Subject, known: Known, before: bytes = b"") -> None:
    """Write `before`, then a call, and read its answer. Raises what asking raises, and NothingToAsk."""
    call_id, frame = next_call(hook, known)
    read_next(known, await hook.exchange(before + frame, call_id))


# --- hello --------------------------------------------------------------------------------------------------


async def probe_hello(hook: Subject, known: Known) -> Finding:
    """Offered everything: all stages, all modes."""
    began = monotonic()
    offer = known.offer
    answered = await _say_hello(hook, hello_params(offer.name, offer.stages, observes=offer.observes), known)
    hello = known.declared = _read_hello(answered, offer.stages)
    if offer.configured and (problem := undeclared(hello, offer.stages)):
        named = sorted(hello.stages or ())
        raise WrongAnswer(
            f"hello: {problem}", f'"stages": {shown(named)}', f'"stages": {shown(sorted(offer.stages))}'
        )
    return ok("hello", f"answered in {round((monotonic() - began) * 1000)} ms; {_declaration(hello)}")


async def probe_plain_v1(hook: Subject, known: Known) -> Finding:
    """Told no more than the page of version 1 knows: name, version, modes."""
    modes = ["observe", "llm", "tool", "approve"]
    params = encode({"name": known.offer.name, "version": 1, "modes": modes})
    _read_hello(await _say_hello(hook, params, known), ALL_STAGES)
    if known.usable:
        await still_answers(hook, known)
    return ok("plain v1", "works without the members that hookgate adds to hello")


async def _say_hello(hook: Subject, params: bytes, known: Known) -> Answered:
    return await hook.call("hook.hello", params, known.limits.hello_s)


EXPECTED_HELLO = '{"ok":true,"name":"...","stages":[some of those that were offered]}'


def _read_hello(answered: Answered, offered: frozenset[Stage]) -> Hello:
    match answered:
        case ErrorAnswer(code=code, message=message):
            raise WrongAnswer(f"hello: error {code}: {message}", f"error {code}: {message}", EXPECTED_HELLO)
        case Result(value=value):
            try:
                return parse_hello(value, offered)
            except BadMessage as error:
                raise WrongAnswer(str(error), value, EXPECTED_HELLO) from None


def _declaration(hello: Hello) -> str:
    stages = None if hello.stages is None else [stage for stage in Stage if stage in hello.stages]
    parts = [
        f"name {hello.name!r}" if hello.name else "no name",
        "declares no stages" if stages is None else f"stages {', '.join(stages) or 'none'}",
        "" if hello.events is None else f"events {', '.join(hello.events) or 'none'}",
        f"tools {', '.join(spec.name for spec in hello.tools)}" if hello.tools else "",
        "cancel" if hello.cancel else "",
        f"max_in_flight {hello.max_in_flight}" if hello.max_in_flight else "",
    ]
    return "; ".join(part for part in parts if part)


# --- stages -------------------------------------------------------------------------------------------------


async def probe_stage(stage: Stage, hook: Subject, known: Known) -> Finding:
    answered = await ask(hook, question(stage), known.limits.stages_s.get(stage, 0))
    declared = bool(known.declared and known.declared.stages is not None)
    match answered:
        case ErrorAnswer(code=-32601) if not declared:
            known.answers_unknown = True
            return ok(stage, "not offered (error -32601): leave it out of `intercept`")
        case _:
            pass
    answer = read_answer(stage, answered)
    known.usable.append(stage)
    match answer:
        case Continue(ignored=ignored) if ignored:
            fix = "say modify, or leave them out"
            return warned(stage, f"continue; {', '.join(ignored)} beside it have no effect", fix)
        case Refuse() if answered in (Result(None), Result({})):
            fix = 'answer {"approved": true} or {"approved": false, "reason": ...}'
            verdict = failed if declared else warned
            return verdict(stage, "an empty answer, which hookgate takes for a refusal", fix)
        case Modify(changes=changes):
            known.injected += tuple(
                spec for spec in changes.get("tools", ()) if stage is Stage.BEFORE_LLM and spec.name != BASH.name
            )
            return ok(stage, f"modify {', '.join(sorted(changes))}")
        case _:
            return ok(stage, answer.action)


async def probe_unknown_method(hook: Subject, known: Known) -> Finding:
    answered = await hook.call(UNKNOWN_METHOD, b'{"a":1}')
    known.answers_unknown = True
    known.refuses_unknown = isinstance(answered, ErrorAnswer)
    fix = "answer methods you do not know with error -32601, so that a newer hookgate can tell"
    match answered:
        case ErrorAnswer(code=code) if code == METHOD_NOT_FOUND and type(code) is int:
            return ok("unknown method", "error -32601")
        case ErrorAnswer(code=code):
            return warned("unknown method", f"error {code!r} instead of -32601", fix)
        case Result():
            return warned("unknown method", "a result instead of error -32601", fix)


async def probe_unknown_notification(hook: Subject, known: Known) -> Finding:
    await still_answers(hook, known, notification_frame(UNKNOWN_NOTIFICATION, b'{"a":1}'))
    return ok("unknown notification", "ignored")


async def probe_unknown_members(hook: Subject, known: Known) -> Finding:
    if not known.usable:
        raise NothingToAsk
    for stage in known.usable:
        params = question(stage).framed_params(hook.patience_s)[:-1] + FUTURE_MEMBERS
        read_answer(stage, await hook.call(stage.method, params))
    return ok("unknown members", "params may hold members that the hook does not know")


# --- text and numbers ---------------------------------------------------------------------------------------


async def probe_text(hook: Subject, known: Known) -> Finding:
    """Both spellings of what is not ASCII: as UTF-8, and escaped."""
    if not known.usable:
        raise NothingToAsk
    results: list[object] = []
    for stage in known.usable:
        params = question(stage, ODD_TEXT).framed_params(hook.patience_s)
        for spelling in (params, ascii_spelling(params)):
            answered = await hook.call(stage.method, spelling)
            read_answer(stage, answered)
            results.append(answered.value if isinstance(answered, Result) else None)
    return _text_finding(changed_texts(results), changed_numbers(results))


def ascii_spelling(params: bytes) -> bytes:
    """The same JSON with every character over ASCII written as an escape."""
    return "".join(_escaped(character) for character in params.decode()).encode()


def _escaped(character: str) -> str:
    if character.isascii():
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def _text_finding(texts: list[str], numbers: list[object]) -> Finding:
    if numbers:
        fix = "keep integers as they came: decode them as integers and write them without point or exponent"
        return failed("text", f"an integer came back as {numbers[0]!r}", fix)
    if any(is_mangled(text) for text in texts):
        fix = "read stdin and write stdout as UTF-8, whatever the locale is"
        return failed("text", f"characters are lost: {next(filter(is_mangled, texts))[:60]!r}", fix)
    if texts:
        return warned("text", f"came back changed: {texts[0][:60]!r}", "nothing, if the hook means to change it")
    return ok("text", "umlauts, emoji, escapes and integers pass")


# --- owned tools --------------------------------------------------------------------------------------------


async def probe_owned_tools(hook: Subject, known: Known) -> Finding:
    tools: tuple[ToolSpec, ...] = known.declared.tools if known.declared else ()
    return await _called("owned tools", tools, hook, known)


async def probe_injected_tools(hook: Subject, known: Known) -> Finding:
    """Tools that it adds to a request are called too: a model that reads of one calls it."""
    declared = {spec.name for spec in known.declared.tools} if known.declared else set[str]()
    return await _called(
        "injected tools", [spec for spec in known.injected if spec.name not in declared], hook, known
    )


async def _called(check: str, tools: Sequence[ToolSpec], hook: Subject, known: Known) -> Finding:
    if not tools:
        return skipped(check, "none declared" if check == "owned tools" else "none added in before_llm")
    for spec in tools:
        answered = await ask(hook, owned_call(spec), known.limits.long_s)
        answer = read_answer(Stage.BEFORE_TOOL, answered)
        if not isinstance(answer, Respond):
            what = f"a call of {spec.name} is answered with {answer.action}"
            fix = "answer calls of a tool that you brought with respond, errors too"
            came = shown(answered.value) if isinstance(answered, Result) else answer.action
            return failed(check, what, fix, came, '{"action":"respond","result":{"for_llm":"..."}}')
    return ok(check, f"respond: {', '.join(spec.name for spec in tools)}")
