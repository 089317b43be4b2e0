"""Stage calls: the question that a hook is asked, and its params on the wire.

The shapes are those of `docs/hook-json-protocol.md`. What a hook may answer is in `answers.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from hashlib import sha256

from hookgate.protocol.chat import ChatMessage
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.hook.wire import (
    chat_message_members,
    context_members,
    message_members,
    meta_members,
    reply_members,
    result_members,
    tool_members,
)
from hookgate.protocol.values import STRICT, Finished, LLMReply, LLMRequest, Step, ToolCall


class Stage(StrEnum):
    """In the order in which a message, one tool-calling step and the answer pass them."""

    ON_MESSAGE = "on_message"
    BEFORE_LLM = "before_llm"
    AFTER_LLM = "after_llm"
    BEFORE_TOOL = "before_tool"
    APPROVE_TOOL = "approve_tool"
    AFTER_TOOL = "after_tool"
    BEFORE_SEND = "before_send"

    @property
    def method(self) -> str:
        return _METHODS[self]


_METHODS: Mapping[Stage, str] = {stage: f"hook.{stage}" for stage in Stage}

MESSAGE_STAGES = frozenset({Stage.ON_MESSAGE, Stage.BEFORE_SEND})
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

SHORT_BYTES = 4096
"""Up to here a copy is cheaper than another piece to write."""


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
        return _call(self.subject)

    @property
    def tool(self) -> str:
        call = _call(self.subject)
        return call.name if call is not None else ""

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
        """The params with `deadline_ms`: one piece, of a large subject several, which is then copied for no hook."""
        pieces, deadline_ms = self._pieces(), round(timeout_s * 1000)
        if len(pieces) == 1:
            return (b'%b,"deadline_ms":%d}' % (pieces[0], deadline_ms),)
        return (*pieces, b',"deadline_ms":%d}' % deadline_ms)

    def framed_params(self, timeout_s: float) -> bytes:
        return b"".join(self.params_parts(timeout_s))

    def _pieces(self) -> Pieces:
        """The params object without its end: the subject's members between those that the step has anyway."""
        if not self.encoded:
            subject = encode(subject_members(self.subject))
            if len(subject) > SHORT_BYTES:
                self.encoded.append((self._head(), memoryview(subject)[1:-1], self._tail()))
            else:
                self.encoded.append((b"%b%b%b" % (self._head(), subject[1:-1], self._tail()),))
        return self.encoded[0]

    def _head(self) -> bytes:
        known, stage = self.step.encoded, self.stage
        if stage not in known:
            known[stage] = b'{"meta":%b,' % encode(meta_members(self.step, SOURCES[stage]))
        return known[stage]

    def _tail(self) -> bytes:
        subject, call = self.subject, _call(self.subject)
        own = b',"tool_call_id":' + encode(call.id) if call is not None else b""
        if isinstance(subject, LLMRequest):
            own = b',"graceful_terminal":' + encode(subject.graceful_terminal)
        if self.stage is Stage.BEFORE_SEND and isinstance(subject, ChatMessage):
            own = b',"in_reply_to":' + encode(subject.in_reply_to)
        return b'%b%b,"context":%b' % (self._place(), own, self._context(call))

    def _place(self) -> bytes:
        known, chat = self.step.encoded, self.step.chat
        if "place" not in known:
            known["place"] = b',"channel":%b,"chat_id":%b' % (encode(chat.channel), encode(chat.chat_id))
        return known["place"]

    def _context(self, call: ToolCall | None) -> bytes:
        """The same for all questions of a step but those about a call that needed more than strict reading."""
        if call is not None and not _is_plain(call):
            return encode(context_members(self.step, call))
        known = self.step.encoded
        if "context" not in known:
            known["context"] = encode(context_members(self.step))
        return known["context"]


def _is_plain(call: ToolCall) -> bool:
    return call.origin == "native" and (call.decode is STRICT or call.decode == STRICT)


def _call(subject: Subject) -> ToolCall | None:
    if isinstance(subject, ToolCall):
        return subject
    return subject.call if isinstance(subject, Finished) else None


def subject_members(subject: Subject) -> dict[str, object]:
    """What the stage is about, as params have it."""
    match subject:
        case ChatMessage():
            return {"message": chat_message_members(subject)}
        case LLMRequest():
            return {
                "model": subject.model,
                "messages": [message_members(message) for message in subject.messages],
                "tools": [tool_members(spec) for spec in subject.tools],
                "options": subject.options,
            }
        case LLMReply():
            return {"model": subject.model, "response": reply_members(subject)}
        case ToolCall():
            return {"tool": subject.name, "arguments": subject.arguments}
        case Finished():
            return {
                "tool": subject.call.name,
                "arguments": subject.call.arguments,
                "result": result_members(subject.result),
                "duration": subject.duration_ns,
            }
