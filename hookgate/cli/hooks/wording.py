"""What a question to a hook is about, as a line for people. Does not know what was answered."""

from __future__ import annotations

from hookgate.channels.printable import printable
from hookgate.protocol.codec import encode
from hookgate.protocol.hook.stages import Question, subject_members
from hookgate.protocol.values import Finished, ToolCall

SHOWN_CHARS = 160


def call_of(question: Question) -> str:
    """The stage, the tool where there is one, and what stands in the call."""
    return " ".join(filter(None, (question.stage, question.tool, subject_of(question))))


def subject_of(question: Question) -> str:
    match question.subject:
        case ToolCall(arguments=arguments) | Finished(call=ToolCall(arguments=arguments)):
            return cut(printable(encode(arguments).decode()))
        case subject:
            return cut(printable(encode(subject_members(subject)).decode()))


def cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."
