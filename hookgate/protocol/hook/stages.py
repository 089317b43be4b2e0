"""Stage calls: the question that a hook is asked, and its params on the wire.

The shapes are those of `docs/hook-json-protocol.md`. What a hook may answer is in `answers.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from hookgate.protocol.chat import ChatMessage
from hookgate.protocol.codec import Encoded, encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.framing import SHORT_BYTES
from hookgate.protocol.hook.wire import (
    chat_message_members,
    context_members,
    encoded_meta,
    message_members,
    reply_members,
    result_members,
    tool_members,
)
from hookgate.protocol.identity import known_again
from hookgate.protocol.values import STRICT, Finished, LLMReply, LLMRequest, Step, ToolCall, ToolSpec

if TYPE_CHECKING:
    from hookgate.protocol.hook import shapes


class Stage(StrEnum):
    """In the order in which a message, one tool-calling step and the answer pass them."""

    ON_MESSAGE = "on_message"
    BEFORE_LLM = "before_llm"
    AFTER_LLM = "after_llm"
    BEFORE_TOOL = "before_tool"
    APPROVE_TOOL = "approve_tool"
    AFTER_TOOL = "after_tool"
    BEFORE_SEND = "before_send"

    method: str

    def __init__(self, stage: str) -> None:
        self.method = f"hook.{stage}"

    # Enum has one in Python, and each call to a hook looks its stage up nine times.
    __hash__ = str.__hash__


MESSAGE_STAGES = frozenset({Stage.ON_MESSAGE, Stage.BEFORE_SEND})
"""Their subject is a ChatMessage."""
BEYOND_V1 = frozenset({Stage.ON_MESSAGE, Stage.BEFORE_SEND})
"""Those that version 1 does not know: a hook that does not declare them is never asked there."""

SOURCES: Mapping[Stage, str] = {
    Stage.ON_MESSAGE: "turn.message.received",
    Stage.BEFORE_LLM: "turn.llm.request",
    Stage.AFTER_LLM: "turn.llm.response",
    Stage.BEFORE_TOOL: "turn.tool.before",
    Stage.APPROVE_TOOL: "turn.tool.approve",
    Stage.AFTER_TOOL: "turn.tool.after",
    Stage.BEFORE_SEND: "turn.message.sending",
}

Subject = ChatMessage | LLMRequest | LLMReply | ToolCall | Finished
Pieces = tuple[bytes | memoryview, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One stage call, the same for every hook that is asked: what it says is encoded once, on first use."""

    stage: Stage
    step: Step
    subject: Subject
    encoded: list[Pieces] = field(default_factory=list[Pieces], init=False, compare=False, repr=False)

    @property
    def call(self) -> ToolCall | None:
        """The one that it is about."""
        subject = self.subject
        if isinstance(subject, ToolCall):
            return subject
        return subject.call if isinstance(subject, Finished) else None

    @property
    def tool(self) -> str:
        subject = self.subject
        if isinstance(subject, ToolCall):
            return subject.name
        return subject.call.name if isinstance(subject, Finished) else ""

    @property
    def model(self) -> str:
        subject = self.subject
        return subject.model if isinstance(subject, (LLMRequest, LLMReply)) else self.step.model

    @property
    def digest(self) -> str:
        """SHA-256, in hex, of all it says but what differs from one process to the next that asks it."""
        step = replace(self.step, turn_id="", resumed=False)
        return sha256(replace(self, step=step).params).hexdigest()

    @property
    def params(self) -> bytes:
        """The params object but for `deadline_ms`, which differs from hook to hook."""
        return b"".join((*self._pieces(), b"}"))

    def params_parts(self, timeout_s: float) -> Pieces:
        """The params with `deadline_ms`, in pieces: what is large is copied for no hook, what is short is two."""
        return (*self._pieces(), _deadline(timeout_s))

    def framed_params(self, timeout_s: float) -> bytes:
        return b"".join(self.params_parts(timeout_s))

    def _pieces(self) -> Pieces:
        """The params object without its end: its own members between those that the step has anyway."""
        if self.encoded:
            return self.encoded[0]
        call, known, source = self.call, self.step.encoded, SOURCES[self.stage]
        # The same for all questions of a step at one stage, and for nearly all of a step.
        head, context = known.get(source) or self._head(source), known.get("context") or self._context(None)
        if call is not None and not (call.decode is STRICT and call.origin == "native"):
            context = self._context(call)
        own = encode(self._members(call))
        short = len(own) <= SHORT_BYTES
        pieces = (head + own[1:-1] + context,) if short else (head, memoryview(own)[1:-1], context)
        self.encoded.append(pieces)
        return pieces

    def _head(self, source: str) -> bytes:
        head = self.step.encoded[source] = b'{"meta":%b,' % encoded_meta(self.step, source)
        return head

    def _members(self, call: ToolCall | None) -> dict[str, object]:
        subject, chat = self.subject, self.step.inbound.chat
        members = subject_members(subject)
        members["channel"], members["chat_id"] = chat.channel, chat.chat_id
        if call is not None:
            members["tool_call_id"] = call.id
        elif isinstance(subject, LLMRequest):
            members["tools"], members["graceful_terminal"] = _encoded_tools(subject.tools), subject.graceful_terminal
        elif isinstance(subject, ChatMessage) and self.stage is Stage.BEFORE_SEND:
            members["in_reply_to"] = subject.in_reply_to
        return members

    def _context(self, call: ToolCall | None) -> bytes:
        """`call`: one that needed more than strict reading."""
        context = b',"context":%b' % encode(context_members(self.step, call))
        if call is None:
            self.step.encoded["context"] = context
        return context


@lru_cache(maxsize=64)
def _deadline(timeout_s: float) -> bytes:
    """The end of the params. What is configured for a hook is nearly always all that its calls have."""
    return b',"deadline_ms":%d}' % round(timeout_s * 1000)


@known_again(most=64)
def _tools(specs: Sequence[ToolSpec]) -> list[shapes.Tool]:
    return [tool_members(spec) for spec in specs]


@known_again(most=64)
def _encoded_tools(specs: Sequence[ToolSpec]) -> Encoded:
    return Encoded(encode(_tools(specs)))


def subject_members(subject: Subject) -> dict[str, object]:
    """What the stage is about, as params have it."""
    match subject:
        case ToolCall():
            return {"tool": subject.name, "arguments": subject.arguments}
        case ChatMessage():
            return {"message": chat_message_members(subject)}
        case LLMRequest():
            return {
                "model": subject.model,
                "messages": [message_members(message) for message in subject.messages],
                "tools": _tools(subject.tools),
                "options": subject.options,
            }
        case LLMReply():
            return {"model": subject.model, "response": reply_members(subject)}
        case Finished():
            return {
                "tool": subject.call.name,
                "arguments": subject.call.arguments,
                "result": result_members(subject.result),
                "duration": subject.duration_ns,
            }
