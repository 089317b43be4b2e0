"""A question made up for a hook: a few words about it are given, the rest is what is usual. Pure."""

from __future__ import annotations

from hookgate.protocol.chat import ChatMessage
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.stages import Question, Stage, Subject
from hookgate.protocol.values import (
    Finished,
    JsonObject,
    LLMReply,
    LLMRequest,
    Message,
    ProposedCall,
    Step,
    ToolCall,
    ToolResult,
    ToolSpec,
)

MODEL = "scripted/model"
DURATION_NS = 15_000_000
_USUAL = {"bash": {"command": "ls"}}
_TEXTS = {
    Stage.ON_MESSAGE: "Hello",
    Stage.BEFORE_LLM: "Hello",
    Stage.AFTER_LLM: "Hello, what can I do for you?",
    Stage.AFTER_TOOL: "ok",
    Stage.BEFORE_SEND: "Hello, what can I do for you?",
}


@dataclass(frozen=True)
class Words:
    """What a question is about. `text`: of the message, what the person said, the reply or the tool's result; None:
    something usual. `arguments` None: likewise. An empty `tool` is bash where the stage is about a call."""

    tool: str = ""
    arguments: JsonObject | None = None
    text: str | None = None
    failed: bool = False

    @property
    def call(self) -> ToolCall:
        tool = self.tool or "bash"
        return ToolCall("call_1", tool, _USUAL.get(tool, {}) if self.arguments is None else self.arguments)


def made_up(stage: Stage, step: Step, words: Words) -> Question:
    return Question(stage, step, _subject(stage, step.model or MODEL, words))


def request_of(step: Step) -> Question:
    """What a model would be asked before it calls anything; no tool is known there."""
    return Question(Stage.BEFORE_LLM, step, LLMRequest(step.model or MODEL, (Message("user", "Hello"),)))


def _subject(stage: Stage, model: str, words: Words) -> Subject:
    text = _TEXTS.get(stage, "") if words.text is None else words.text
    match stage:
        case Stage.ON_MESSAGE:
            return ChatMessage(text, message_id="1")
        case Stage.BEFORE_SEND:
            return ChatMessage(text, kind="answer", in_reply_to="1")
        case Stage.BEFORE_LLM:
            spec = ToolSpec(words.call.name, "", {"type": "object"})
            return LLMRequest(model, (Message("user", text),), (spec,))
        case Stage.AFTER_LLM:
            return _reply(model, text, words)
        case Stage.AFTER_TOOL:
            return Finished(words.call, ToolResult(text, is_error=words.failed), DURATION_NS)
        case _:
            return words.call


def _reply(model: str, text: str, words: Words) -> LLMReply:
    """It asks for a tool only where one is named."""
    if not words.tool:
        return LLMReply(model, text)
    call = words.call
    proposed = ProposedCall(call.id, call.name, encode(call.arguments).decode())
    return LLMReply(model, text if words.text is not None else "", (proposed,), "tool_calls")
