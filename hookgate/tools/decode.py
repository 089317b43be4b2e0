"""Arguments as the model wrote them, to a ToolCall; what cannot be read is a result. Knows no tool's schema.

The reading itself is `repair`'s; here it becomes a call with a record of what it took, or what the model is told.
"""

from __future__ import annotations

from collections.abc import Iterable

from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.values import STRICT, Decode, ProposedCall, ToolCall, ToolResult, ToolSpec
from hookgate.tools.failures import failure
from hookgate.tools.repair import Undecodable, decode_arguments, plain_object

NO_RECORD = ("empty",)
"""Blank arguments are how many models write none at all: nothing was repaired."""


@dataclass(frozen=True, slots=True)
class ReadCall:
    """A call as the model wrote it, and what it was read as: a call, or what the model is told instead."""

    proposed: ProposedCall
    call: ToolCall | ToolResult

    @property
    def call_or_blank(self) -> ToolCall:
        """The call as it was asked for, without arguments where they cannot be read."""
        call = self.call
        return call if isinstance(call, ToolCall) else ToolCall(self.proposed.id, self.proposed.name, {})

    @property
    def recorded(self) -> ProposedCall:
        """The call for the transcript, always in JSON: some endpoints refuse a history that is not."""
        if isinstance(self.call, ToolResult):
            return replace(self.proposed, arguments="{}")
        if not self.call.decode.steps and _is_plain(self.proposed.arguments):
            return self.proposed
        return replace(self.proposed, arguments=encode(self.call.arguments).decode())


def _is_plain(text: str) -> bool:
    """An object as it stands, with no half of a surrogate pair: strict reading mends those, and a byte order mark."""
    return text.startswith("{") and text.isascii() and "\\ud" not in text.lower()


def read_calls(proposed: Iterable[ProposedCall], *, cut: bool) -> tuple[ReadCall, ...]:
    """Each call decoded, once and for all. `cut`: the reply hit its length limit, so none of them may be whole."""
    return tuple([ReadCall(call, marked(decode_call(call), cut)) for call in proposed])


def marked(call: ToolCall | ToolResult, cut: bool) -> ToolCall | ToolResult:
    """A call of a reply that was `cut` may have been longer, whatever it looks like."""
    if cut and isinstance(call, ToolCall):
        return replace(call, decode=replace(call.decode, truncated=True))
    return call


def decode_call(proposed: ProposedCall) -> ToolCall | ToolResult:
    """The call with its arguments decoded, or the validation failure that the model is told instead."""
    plain = plain_object(proposed.arguments)
    if plain is not None:
        return ToolCall(proposed.id, proposed.name, plain)
    try:
        read = decode_arguments(proposed.arguments, guess=False)
    except Undecodable as error:
        return failure("validation", proposed.name, error.reason, hint=error.fix)
    steps = () if read.steps == NO_RECORD else read.steps
    took = Decode(steps, read.truncated, read.guessed) if steps else STRICT
    return ToolCall(proposed.id, proposed.name, read.value, decode=took)


def incomplete(spec: ToolSpec, call: ToolCall) -> ToolResult | None:
    """The refusal of cut or guessed arguments for a tool that changes state; None where they may run."""
    if not (call.decode.truncated or call.decode.guessed) or spec.read_only:
        return None
    what = "were cut off" if call.decode.truncated else "could only be guessed"
    fix = "Send the whole call again; split large content over several calls."
    return failure("validation", call.name, f"your arguments {what}, and this tool changes state", hint=fix)
