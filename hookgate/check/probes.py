"""The checks of what a hook answers: hello, the stages, what it does not know.

Each takes a running process and gives one finding; `run.py` turns what is raised into findings.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import monotonic

from hookgate.check.asking import (
    ALL_STAGES,
    UNKNOWN_METHOD,
    Learnt,
    NothingToAsk,
    WrongAnswer,
    ask,
    read_answer,
    shown,
    still_answers,
)
from hookgate.check.golden import (
    BASH,
    ODD_TEXT,
    SEPARATED,
    changed_numbers,
    changed_texts,
    is_mangled,
    question,
)
from hookgate.check.mailbox import Answered, ErrorAnswer, Result
from hookgate.check.report import Finding, failed, ok, skipped, warned
from hookgate.check.subject import HookGone, NoAnswer, Subject
from hookgate.processes.child import why_unheard
from hookgate.processes.deadlines import overdue
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.answers import Continue, Modify, Refuse
from hookgate.protocol.hook.hello import Hello, hello_params, parse_hello, undeclared
from hookgate.protocol.hook.peer import METHOD_NOT_FOUND, notification_frame
from hookgate.protocol.hook.stages import Stage

UNKNOWN_NOTIFICATION = "hook.check_unknown_event"
FUTURE_MEMBERS = b',"future_member":{"list":[1,null,"x"]},"future_flag":true}'

SPLIT_FIX = (
    "split stdin at \\n only: U+2028, U+2029 and U+0085 stand in strings as they are, where Node's readline and "
    "Python's str.splitlines end a line; anybody in a chat can type them"
)
UNNAMED_FIX = (
    "where it answers them, name all the stages it answers as `stages` in its hello; if it only observes, nothing"
)
LEFT_OUT_FIX = "answer them, and name them as `stages` in the hello; or take them out of intercept"
SLOW_START_FIX = (
    "configure what is compiled or installed already (go build, npm install), or raise hello_timeout_ms in "
    "[hooks.defaults]"
)
V1_FIX = "nothing for hookgate, which always sends `stages`; picoclaw does not: take all stages where it is missing"
PARSE_FIX = "compare it with what `hookgate docs hook-json-protocol` says of this answer"


@dataclass(frozen=True, slots=True)
class Probe:
    """`fix`: what to do where the hook ends, is silent, or answers nothing usable; empty: what that mostly means."""

    name: str
    run: Callable[[Subject, Learnt], Awaitable[Finding]]
    fix: str = ""


# --- hello --------------------------------------------------------------------------------------------------


async def probe_hello(hook: Subject, known: Learnt) -> Finding:
    """Offered everything: all stages, all modes."""
    began = monotonic()
    offer = known.offer
    params = hello_params(offer.name, offer.stages, observes=offer.observes)
    with overdue(hook.deadlines, known.limits.late_s, lambda: known.late(why_unheard(hook.mailbox.unread))):
        answered = await _say_hello(hook, params, known)
    hello, took_s = _read_hello(answered, offer.stages), monotonic() - began
    known.declared, known.limits = hello, known.limits.started(took_s)
    if offer.configured and (problem := undeclared(hello, offer.stages)):
        named = sorted(hello.stages or ())
        raise WrongAnswer(
            f"hello: {problem}", f'"stages": {shown(named)}', f'"stages": {shown(sorted(offer.stages))}'
        )
    if took_s > (usual_s := known.limits.usual_hello_s):
        what = f"answered in {took_s:.1f} s, where a gateway waits for {usual_s:g} s; {_declaration(hello)}"
        return warned("hello", what, SLOW_START_FIX)
    return ok("hello", f"answered in {round(took_s * 1000)} ms; {_declaration(hello)}")


async def probe_plain_v1(hook: Subject, known: Learnt) -> Finding:
    """Told no more than picoclaw tells: name, version, modes. hookgate itself always names the stages."""
    modes = ["observe", "llm", "tool", "approve"]
    params = encode({"name": known.offer.name, "version": 1, "modes": modes})
    try:
        _read_hello(await _say_hello(hook, params, known), ALL_STAGES)
        if known.usable:
            await still_answers(hook, known)
    except (BadMessage, HookGone, NoAnswer) as error:
        return warned("plain v1", f"without `stages` in the params of hello: {error}", V1_FIX)
    return ok("plain v1", "works without the members that hookgate adds to hello")


async def _say_hello(hook: Subject, params: bytes, known: Learnt) -> Answered:
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


async def probe_stage(stage: Stage, hook: Subject, known: Learnt) -> Finding:
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
            return warned(stage, f"continue, so this beside it has no effect: {', '.join(ignored)}", fix)
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


async def probe_unnamed(_hook: Subject, known: Learnt) -> Finding:
    """Of the stages that are never asked of a hook that names none, whatever it would answer."""
    names, what = ", ".join(known.unnamed), "not asked: its hello does not name them in stages"
    if known.usable:
        return skipped(names, what)
    return warned(names, f"{what}, and no other stage gives a usable answer", UNNAMED_FIX)


async def probe_left_out(_hook: Subject, known: Learnt) -> Finding:
    """Where its hello leaves out a stage that is configured."""
    passing = known.offer.guarded - {*known.offered}
    what = f"{known.left_out}: it is not asked there, and all passes"
    return (failed if passing else warned)("configured stages", what, LEFT_OUT_FIX)


async def probe_unknown_method(hook: Subject, known: Learnt) -> Finding:
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


async def probe_unknown_notification(hook: Subject, known: Learnt) -> Finding:
    await still_answers(hook, known, notification_frame(UNKNOWN_NOTIFICATION, b'{"a":1}'))
    return ok("unknown notification", "ignored")


async def probe_unknown_members(hook: Subject, known: Learnt) -> Finding:
    if not known.usable:
        raise NothingToAsk
    for stage in known.usable:
        params = question(stage).framed_params(hook.patience_s)[:-1] + FUTURE_MEMBERS
        read_answer(stage, await hook.call(stage.method, params))
    return ok("unknown members", "params may hold members that the hook does not know")


async def probe_separators(hook: Subject, known: Learnt) -> Finding:
    if not known.usable:
        raise NothingToAsk
    stage = known.usable[0]
    read_answer(stage, await ask(hook, question(stage, SEPARATED)))
    return ok("separators", "a line ends at \\n only")


# --- text and numbers ---------------------------------------------------------------------------------------


async def probe_text(hook: Subject, known: Learnt) -> Finding:
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
