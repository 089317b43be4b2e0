"""`hookgate hooks try`: one question to one hook, and what the gate would make of its answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import cast

from hookgate.channels.printable import printable
from hookgate.check.advice import about_node
from hookgate.cli.hooks.explain import step_of
from hookgate.cli.hooks.preparing import left_unfit, prepared
from hookgate.cli.hooks.recorded import recorded_in
from hookgate.cli.hooks.subjects import Named, own_tools, plan_of, quiet, telling
from hookgate.cli.hooks.wording import call_of
from hookgate.cli.printing import complain, say, say_json
from hookgate.config import ConfigError
from hookgate.hooks.children.mounts import Plan
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.stages import Question, Stage, subject_members
from hookgate.protocol.values import JsonObject
from hookgate.rehearsal.questions import Words, made_up
from hookgate.rehearsal.recording import Broken, Recorded
from hookgate.rehearsal.subject import TimedVerdict, open_subject
from hookgate.sections import Config

LINES_HEARD = 50
"""Of its stderr, for what is known to help."""
STATUS = {"allowed": 0, "changed": 0, "answered": 0, "denied": 1, "unanswered": 1, "asked": 3}
USUAL_TERMS = (("title", ""), ("text", ""), ("required", 1))
USUAL = ' (continue, the default: a guard wants on_failure = "deny")'


@dataclass(frozen=True)
class About:
    """The question, in words: of the stage `stage`, or as it stands in a file. `call`: who says it, where."""

    stage: str | None
    tool: str = ""
    arguments: str = ""
    text: str | None = None
    failed: bool = False
    call: Mapping[str, str] = field(default_factory=dict[str, str])
    role: str | None = None
    file: Path | None = None
    line: int | None = None


async def try_hook(named: Named, about: About, *, as_json: bool) -> int:
    """The exit status: 0, it goes on; 1, it is denied, or fails as the call of a tool of the hook's own; 3, a person
    would be asked; 2, a program of which nothing is configured has failed, so what that would count for is not known.
    Raises ConfigError."""
    quiet()
    plan, config = plan_of(named)
    question = question_of(config, about)
    told, heard = telling(named, plan), deque[bytes](maxlen=LINES_HEARD)

    def take(lines: Sequence[bytes]) -> None:
        told.stderr(lines)
        heard.extend(lines)

    async with open_subject(plan, replace(told, stderr=take), own_tools(config)) as subject:
        question, unfit = await prepared(config, subject, question, recorded=about.file is not None)
        asked = await subject.ask(question)
        left = left_unfit(config, subject, question, asked.verdict)
    if asked.verdict.unasked:
        unfit = ""
    if unfit:
        complain(f"note: no gateway makes this call of {question.tool}: {unfit}")
    elif left:
        complain(f"note: no gateway makes the call that it leaves, and the model reads why: {left}")
    audit = plan.rules.mode != "enforce"
    if as_json:
        say_json(_members(plan, question, asked, unfit, left))
    else:
        for line in _lines(plan, question, asked, configured=not named.is_program):
            say(line)
        if asked.verdict.failed and (advice := about_node([line.decode("utf-8", "replace") for line in heard])):
            say(advice)
    if asked.verdict.failed and named.is_program and asked.verdict.decision == "allowed":
        return 2
    return 0 if audit else STATUS[asked.verdict.decision]


def question_of(config: Config, about: About) -> Question:
    """As it stands in the file, or made up. Raises ConfigError."""
    if about.file:
        return _recorded(about)
    if about.line is not None:
        raise ConfigError("--line is of a file: say --from FILE")
    step, stage = step_of(config, about.call, about.role), Stage(about.stage or _usual(about))
    return made_up(stage, replace(step, turn_id=f"{step.agent}-turn-1"), _words(about))


def _usual(about: About) -> Stage:
    return Stage.BEFORE_TOOL if about.tool or about.arguments or about.text is None else Stage.ON_MESSAGE


def _words(about: About) -> Words:
    return Words(about.tool, _arguments(about.arguments), about.text, about.failed)


def _arguments(text: str) -> JsonObject | None:
    if not text:
        return None
    try:
        arguments = decode(text)
    except BadMessage as error:
        raise ConfigError(f"--args is not JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise ConfigError('--args must be a JSON object, like {"command": "ls"}')
    return cast("JsonObject", arguments)


def _recorded(about: About) -> Question:
    """That of the line, else the last one, of the stage where one is named. Raises ConfigError."""
    file, found, there = cast("Path", about.file), None, list[int]()
    for line in recorded_in(file):
        if isinstance(line, Recorded) and about.stage in (None, line.question.stage):
            there.append(line.line)
        if about.line is not None and line.line != about.line:
            continue
        if isinstance(line, Broken):
            if about.line is not None:
                raise ConfigError(f"{file}:{line.line}: {line.why}")
        elif not about.stage or line.question.stage == about.stage:
            found = line.question
    if found is None:
        what = f"in line {about.line}" if about.line is not None else "in it"
        at = f" at {about.stage}" if about.stage else ""
        raise ConfigError(f"{file}: there is no stage call{at} {what}{_instead(there)}")
    return found


def _instead(lines: Sequence[int]) -> str:
    if not lines:
        return ""
    shown = ", ".join(map(str, lines[:LINES_SHOWN]))
    return f"; there is one in line {shown}{f' and {len(lines) - LINES_SHOWN} more' if lines[LINES_SHOWN:] else ''}"


LINES_SHOWN = 10


def _members(plan: Plan, question: Question, asked: TimedVerdict, unfit: str, left: str) -> dict[str, object]:
    verdict = asked.verdict
    members: dict[str, object] = {
        "hook": plan.name,
        "stage": question.stage,
        "tool": question.tool,
        "subject": subject_members(question.subject),
        "decision": verdict.decision,
        "answer": verdict.said,
        "model_reads": verdict.model_reads,
        "diff": verdict.patch,
        "ms": round(asked.duration_ns / 1e6, 3),
        "mode": plan.rules.mode,
        "failed": verdict.failed,
        "ignored": verdict.ignored,
        "unasked": verdict.unasked,
        "unfit": unfit,
        "left_unfit": left,
    }
    return {key: value for key, value in members.items() if value not in ("", ())}


def _lines(plan: Plan, question: Question, asked: TimedVerdict, *, configured: bool) -> Iterator[str]:
    name, mode = plan.name, plan.rules.mode
    verdict, about = asked.verdict, call_of(question)
    if verdict.unasked:
        yield f"{about}: {name} is not asked: {printable(verdict.unasked)}"
        return
    if verdict.failed:
        yield f"{about}: {name} gave no usable answer: {printable(verdict.failed)}"
        usual = "" if configured or verdict.decision != "allowed" else USUAL
        what = "the call of its own tool is" if verdict.model_reads else "its on_failure counts:"
        yield f"so {what} {_decided(asked)}{usual}"
    else:
        yield f"{about}: {_decided(asked)}"
    for line in verdict.patch:
        yield f"  {printable(line)}"
    if verdict.ignored:
        yield f"it says continue, so this beside it has no effect: {printable(', '.join(verdict.ignored))}"
    if mode != "enforce":
        yield f'its mode is "{mode}": nothing that it says counts'
    yield f"{name}, {asked.duration_ns / 1e6:.1f} ms"


def _decided(asked: TimedVerdict) -> str:
    said = asked.verdict.said
    why = printable(asked.verdict.reason)
    match asked.verdict.decision:
        case "answered":
            given = cast("Mapping[str, object]", said.get("result", said.get("reply")))
            error = " (error)" if given.get("is_error") else ""
            return f"answered{error}: {printable(str(given.get('for_llm', given.get('text', ''))))}"
        case "asked":
            ask = dict(cast("Mapping[str, object]", said.get("ask") or {}))
            words = [str(ask.pop(it)) for it in ("title", "text") if ask.get(it)]
            terms = [f"{name}: {encode(it).decode()}" for name, it in ask.items() if (name, it) not in USUAL_TERMS]
            wish = "; ".join((*words, *terms))
            return f"a person is asked{': ' + printable(wish) if wish else ''}"
        case "unanswered":
            return f"unanswered, and the model reads: {printable(asked.verdict.model_reads)}"
        case decision:
            action = f" ({said['action']})" if decision == "denied" else ""
            return f"{decision}{action}{': ' + why if why else ''}"
