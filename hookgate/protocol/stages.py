"""Stage calls: the question that a hook is asked, and its params on the wire.

The shapes come from the seed page and design section 5. What a hook may answer is in `answers.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from hookgate.protocol.codec import encode
from hookgate.protocol.values import Finished, LLMReply, LLMRequest, Step, ToolCall
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

    @property
    def tool(self) -> str:
        match self.subject:
            case ToolCall(name=name) | Finished(call=ToolCall(name=name)):
                return name
            case _:
                return ""

    @property
    def model(self) -> str:
        match self.subject:
            case LLMRequest(model=model) | LLMReply(model=model):
                return model
            case _:
                return self.step.model

    @cached_property
    def params(self) -> bytes:
        """The params object without its closing brace: `deadline_ms` differs from hook to hook."""
        step, call = self.step, _call(self.subject)
        members = {"meta": meta_members(step, SOURCES[self.stage]), **_subject_members(self.subject)}
        members["channel"] = step.chat.channel
        members["chat_id"] = step.chat.chat_id
        if isinstance(self.subject, LLMRequest):
            members["graceful_terminal"] = self.subject.graceful_terminal
        if call is not None:
            members["tool_call_id"] = call.id
        members["context"] = context_members(step, call)
        return encode(members)[:-1]

    def framed_params(self, timeout_s: float) -> bytes:
        return b'%s,"deadline_ms":%d}' % (self.params, round(timeout_s * 1000))


def _call(subject: Subject) -> ToolCall | None:
    match subject:
        case ToolCall():
            return subject
        case Finished():
            return subject.call
        case _:
            return None


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
