"""Stage calls: the question that a hook is asked, and its params on the wire.

The shapes come from the seed page and design section 5. What a hook may answer is in `answers.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from hookgate.protocol.codec import Encoded, encode
from hookgate.protocol.values import Decode, Finished, LLMReply, LLMRequest, Step, ToolCall
from hookgate.protocol.wire import (
    context_members,
    message_members,
    meta_members,
    reply_members,
    result_members,
    tool_members,
)


class Stage(StrEnum):
    """In the order in which one tool-calling step passes them."""

    BEFORE_LLM = "before_llm"
    AFTER_LLM = "after_llm"
    BEFORE_TOOL = "before_tool"
    APPROVE_TOOL = "approve_tool"
    AFTER_TOOL = "after_tool"

    @property
    def method(self) -> str:
        return f"hook.{self}"


STRICT = Decode()

SOURCES: Mapping[Stage, str] = {
    Stage.BEFORE_LLM: "turn.llm.request",
    Stage.AFTER_LLM: "turn.llm.response",
    Stage.BEFORE_TOOL: "turn.tool.before",
    Stage.APPROVE_TOOL: "turn.tool.approve",
    Stage.AFTER_TOOL: "turn.tool.after",
}

Subject = LLMRequest | LLMReply | ToolCall | Finished


@dataclass(frozen=True)
class Question:
    """One stage call, the same for every hook that is asked: `params` is encoded once, on first use."""

    stage: Stage
    step: Step
    subject: Subject
    encoded: list[bytes] = field(default_factory=list[bytes], init=False, compare=False, repr=False)

    @property
    def tool(self) -> str:
        call = _call(self.subject)
        return call.name if call is not None else ""

    @property
    def model(self) -> str:
        subject = self.subject
        return self.step.model if isinstance(subject, (ToolCall, Finished)) else subject.model

    @property
    def params(self) -> bytes:
        """The params object but for `deadline_ms`, which differs from hook to hook."""
        if not self.encoded:
            self.encoded.append(encode(self._members()))
        return self.encoded[0]

    def params_parts(self, timeout_s: float) -> tuple[memoryview, bytes]:
        """The params with `deadline_ms`, in two pieces: a large conversation is copied for no hook."""
        return memoryview(self.params)[:-1], b',"deadline_ms":%d}' % round(timeout_s * 1000)

    def framed_params(self, timeout_s: float) -> bytes:
        return b"".join(self.params_parts(timeout_s))

    def _members(self) -> dict[str, object]:
        step, call = self.step, _call(self.subject)
        members: dict[str, object] = {"meta": self._meta()}
        members.update(_subject_members(self.subject))
        members["channel"] = step.chat.channel
        members["chat_id"] = step.chat.chat_id
        if isinstance(self.subject, LLMRequest):
            members["graceful_terminal"] = self.subject.graceful_terminal
        if call is not None:
            members["tool_call_id"] = call.id
        members["context"] = self._context(call)
        return members

    def _meta(self) -> Encoded:
        known, source = self.step.encoded, SOURCES[self.stage]
        if source not in known:
            known[source] = encode(meta_members(self.step, source))
        return Encoded(known[source])

    def _context(self, call: ToolCall | None) -> object:
        """The same for all questions of a step but those about a call that needed more than strict reading."""
        if call is not None and (call.origin != "native" or call.decode != STRICT):
            return context_members(self.step, call)
        known = self.step.encoded
        if "context" not in known:
            known["context"] = encode(context_members(self.step))
        return Encoded(known["context"])


def _call(subject: Subject) -> ToolCall | None:
    if isinstance(subject, ToolCall):
        return subject
    return subject.call if isinstance(subject, Finished) else None


def _subject_members(subject: Subject) -> dict[str, object]:
    match subject:
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
