"""A model that follows a script: for the demo, for tests, and for trying hooks without a key.

Knows no endpoint. A script is a list of steps. For each model call the first step that *answers* is taken: one
whose `when` is found in the last message, if a person wrote it (`on = "user"`) or a tool (`on = "tool"`); such
steps answer as often as they match. If none does, the next step without `when` is taken, each of them once, in
order. When these are used up the model echoes, or (`echo = false`) fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Literal, cast

import trio
from pydantic import ConfigDict, TypeAdapter, ValidationError

from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.errors import BadMessage, ProviderFailed, ProviderFault
from hookgate.protocol.values import JsonObject, LLMReply, LLMRequest, Message, ProposedCall, Usage
from hookgate.protocol.values.delta import CallPiece, Delta, Thought
from hookgate.providers.names import NewCallIds

_STRICT = ConfigDict(extra="forbid")
_PIECE = re.compile(r"\s*\S+\s*|\s+")
_GROUP = re.compile(r"\$(\d)")
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """Arguments as an object, or as the raw text that a model would write. An empty id is made up."""

    __pydantic_config__ = _STRICT

    name: str
    arguments: dict[str, Any] | str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class ScriptedFailure:
    """The call ends with this ProviderFailed, after the step's text, and its calls but the end of the last."""

    __pydantic_config__ = _STRICT

    kind: ProviderFault
    reason: str = "the script says so"
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """One reply. In a step with `when`, `$1` to `$9` in the text and in arguments stand for the groups of the
    match and `$0` for the whole message that it was found in. `hang`: after its text and calls,
    the last of them unfinished, the reply never ends."""

    __pydantic_config__ = _STRICT

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    when: re.Pattern[str] | None = None
    on: Literal["user", "tool"] = "user"
    reasoning: str = ""
    finish_reason: str = ""
    fail: ScriptedFailure | None = None
    hang: bool = False

    def answer_to(self, message: Message) -> ScriptStep | None:
        """This step with its groups filled in, or None where it has no `when` that matches."""
        found = self.when.search(message.content) if self.when and message.role == self.on else None
        if found is None:
            return None
        calls = (replace(call, arguments=_filled(call.arguments, found)) for call in self.calls)
        return replace(self, text=_filled(self.text, found), calls=tuple(calls))


@dataclass(frozen=True, slots=True)
class Script:
    """`pace_s`: seconds between two words of a reply."""

    __pydantic_config__ = _STRICT

    steps: tuple[ScriptStep, ...] = ()
    echo: bool = True
    pace_s: float = 0.0

    @staticmethod
    def parse(data: JsonObject) -> Script:
        """`{"steps": [{"text", "calls", "when", ...}], "echo", "pace_s"}`. Raises BadMessage, naming the member."""
        try:
            return _adapter().validate_python(data)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in ("script", *first["loc"]))
            raise BadMessage(f"{where}: {first['msg']}") from error


@cache
def _adapter() -> TypeAdapter[Script]:
    return TypeAdapter(Script)


class ScriptedProvider:
    """A Provider."""

    def __init__(self, script: Script | None = None) -> None:
        self._script = script or Script()
        self._queue = iter([step for step in self._script.steps if step.when is None])

    async def complete(self, request: LLMRequest, on_text: Callable[[Delta], None]) -> LLMReply:
        step = self._next(_last(request))
        calls = _calls(step, request)
        thoughts = map(Thought, _PIECE.findall(step.reasoning))
        for piece in (*thoughts, *_PIECE.findall(step.text), *_pieces(calls, cut=step.hang or step.fail is not None)):
            await trio.sleep(self._script.pace_s)
            on_text(piece)
        await trio.lowlevel.checkpoint()
        if step.hang:
            await trio.sleep_forever()
        if step.fail:
            raise ProviderFailed(step.fail.kind, step.fail.reason, retry_after_s=step.fail.retry_after_s)
        return _reply(step, request, calls)

    def _next(self, last: Message) -> ScriptStep:
        for rule in self._script.steps:
            if answer := rule.answer_to(last):
                return answer
        step = next(self._queue, None)
        if step is None and not self._script.echo:
            return ScriptStep(fail=ScriptedFailure("unknown", "the script has no more steps"))
        return step or ScriptStep(text=last.content or "(nothing to echo)")


def _last(request: LLMRequest) -> Message:
    """What is to be answered: the last word of a person or a tool."""
    heard = (message for message in reversed(request.messages) if message.role in ("user", "tool"))
    return next(heard, Message("user", ""))


def _calls(step: ScriptStep, request: LLMRequest) -> tuple[ProposedCall, ...]:
    ids = NewCallIds(request)
    return tuple(ProposedCall(ids.of(call.id), call.name, _text(call)) for call in step.calls)


def _pieces(calls: tuple[ProposedCall, ...], *, cut: bool) -> Iterator[CallPiece]:
    """Name and arguments, word by word. `cut`: the last call does not come to its end."""
    for call in calls:
        yield CallPiece(call.id, call.name)
        for piece in _PIECE.findall(call.arguments):
            yield CallPiece(call.id, call.name, piece)
        if not (cut and call is calls[-1]):
            yield CallPiece(call.id, call.name, ended=True)


def _reply(step: ScriptStep, request: LLMRequest, calls: tuple[ProposedCall, ...]) -> LLMReply:
    return LLMReply(
        model=request.model,
        content=step.text,
        tool_calls=calls,
        finish_reason=step.finish_reason or ("tool_calls" if calls else "stop"),
        usage=_usage(step, request),
        reasoning=step.reasoning,
    )


def _text(call: ScriptedCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else encode(call.arguments).decode()


def _usage(step: ScriptStep, request: LLMRequest) -> Usage:
    """An estimate that grows as a real one does."""
    prompt = sum(len(message.content) for message in request.messages)
    return Usage(1 + prompt // CHARACTERS_PER_TOKEN, 1 + len(step.text) // CHARACTERS_PER_TOKEN)


def _filled(value: Any, found: re.Match[str]) -> Any:  # noqa: ANN401 - any JSON, of the same shape
    match value:
        case str():
            return _GROUP.sub(lambda mark: _group(found, mark), value)
        case dict():
            return {name: _filled(item, found) for name, item in cast("dict[str, Any]", value).items()}
        case list():
            return [_filled(item, found) for item in cast("list[Any]", value)]
        case _:
            return value


def _group(found: re.Match[str], mark: re.Match[str]) -> str:
    number = int(mark[1])
    if number == 0:
        return found.string
    return (found[number] or "") if number <= found.re.groups else mark[0]
