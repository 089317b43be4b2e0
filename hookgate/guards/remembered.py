"""What a guard remembers per turn or conversation, with a bound; and how it tells one call from another."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

from hookgate.protocol.codec import canonical
from hookgate.protocol.hook.stages import Question
from hookgate.protocol.values import Finished, Step, ToolCall, ToolSpec

T = TypeVar("T")

MAX_KEPT = 1000
"""Turns, or conversations; the one that was longest without a call is forgotten first."""

SpecOf = Callable[[str], ToolSpec | None]
"""The spec of a tool by name; None for what nobody registered: a hook's own tool, which counts as changing state."""

Signature: TypeAlias = "tuple[str, bytes]"
"""A tool and its arguments in the one spelling."""
CallKey: TypeAlias = "tuple[int, str]"
"""The model call of the turn and the id: some endpoints count their ids anew in every reply."""


class Kept(Generic[T]):
    def __init__(self, make: Callable[[], T], limit: int = MAX_KEPT) -> None:
        self._make = make
        self._limit = limit
        self._kept: OrderedDict[str, T] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, key: str) -> T:
        """What is known of this one; new where nothing is."""
        if key not in self._kept:
            self._kept[key] = self._make()
            if len(self._kept) > self._limit:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]

    def find(self, key: str) -> T | None:
        return self._kept.get(key)

    def forget(self, key: str) -> None:
        self._kept.pop(key, None)


def called(question: Question) -> ToolCall:
    """The call that a question at a tool stage is about."""
    subject = question.subject
    call = subject.call if isinstance(subject, Finished) else subject
    assert isinstance(call, ToolCall)  # noqa: S101 - guards of tools are asked at tool stages only
    return call


def finished(question: Question) -> Finished:
    assert isinstance(question.subject, Finished)  # noqa: S101 - after_tool is about nothing else
    return question.subject


def signature(call: ToolCall) -> Signature:
    return call.name, canonical(call.arguments)


def key_of(step: Step, call_id: str) -> CallKey:
    return step.iteration, call_id


def advised(text: str, advice: str) -> str:
    """What the model reads, with a guard's advice after it."""
    return f"{text}\n\nAdvice: {advice}"
