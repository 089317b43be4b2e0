"""Summing up the older part of a conversation so that it fits the model again. Decides nothing about when.

The summary is a model call like any other: it passes the gate, without tools.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from hookgate.loop.agent import Agent
from hookgate.loop.model.model import complete
from hookgate.loop.sessions.jobs import End
from hookgate.loop.sessions.transcript import Transcript
from hookgate.protocol.chat import Outbound
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.errors import ProviderFailed, TurnAborted
from hookgate.protocol.events.inside import CompactionBegan, CompactionEnded
from hookgate.protocol.events.payloads import SessionCompacted
from hookgate.protocol.journal.values import Fenced
from hookgate.protocol.values import LLMRequest, Message, Step, Usage
from hookgate.protocol.values.reasoning import unthinking

log = structlog.get_logger("hookgate.loop")

KEPT_MESSAGES = 4
SUMMARY_TOKENS = 4096
HEADING = "## Context Summary (compacted)\n\n"
ASKED = (
    "Sum up the conversation so far for whoever continues it: what was asked, what was found and done, which files "
    "and facts matter, what is still open. Keep names, paths, numbers and decisions exact. Write the summary alone."
)
_RESULT_CHARS = 2000


class NothingToCompact(Exception):
    """The conversation is too short; it has not changed."""


class EmptySummary(Exception):
    """The model had nothing to say; the conversation has not changed."""


@dataclass(frozen=True)
class Compacted:
    """`dropped` messages became the summary, `kept` stay as they are; `usage` is that of the summary's call."""

    summary: str
    dropped: int
    kept: int
    usage: Usage | None = None


async def compact(agent: Agent, transcript: Transcript, step: Step, keep: int = KEPT_MESSAGES) -> Compacted:
    """Replace all but the last messages by one of the user's that sums them up.

    Raises NothingToCompact, EmptySummary, ProviderFailed, TurnAborted; after each the transcript is as it was.
    """
    messages = transcript.messages
    head = messages[: boundary(messages, keep)]
    if not messages:
        raise NothingToCompact("nothing to compact")
    if not head:
        raise NothingToCompact("nothing to compact: keep-tail covers the whole transcript")
    step = replace(step, purpose="compact")
    tell = agent.gate.events.emit
    tell(CompactionBegan(step.turn_id, len(messages), transcript.tokens), step)
    outcome: Compacted | None = None
    status, failure = "cancelled", ""
    try:
        outcome = done = await _summed_up(agent, transcript, step, head)
        status = "completed"
    except (EmptySummary, ProviderFailed, TurnAborted) as error:
        status, failure = "failed", str(error)
        raise
    finally:
        summary, usage = (outcome.summary, outcome.usage) if outcome is not None else ("", None)
        size = len(transcript), transcript.tokens
        tell(CompactionEnded(step.turn_id, *size, status, summary, failure, usage), step)
    tell(SessionCompacted(done.dropped, done.kept), step)
    return done


async def _summed_up(agent: Agent, transcript: Transcript, step: Step, head: Sequence[Message]) -> Compacted:
    request = await agent.gate.before_llm(step, _request(agent, head))
    reply = await complete(agent, step, replace(request, tools=()), lambda _piece: None)
    reply = await agent.gate.after_llm(replace(step, model=request.model), reply)
    summary = reply.content.strip()
    if not summary:
        raise EmptySummary("empty summary from model")
    # What came meanwhile stays: only the head that was summed up goes.
    await transcript.sum_up(len(head), Message("user", HEADING + summary))
    return Compacted(summary, len(head), len(transcript) - 1, reply.usage)


async def make_room(agent: Agent, transcript: Transcript, step: Step, *, must: bool = False) -> bool:
    """Compact where the conversation nears the model's window, or where it `must`. Whether it is shorter now.

    What goes wrong is logged: the model call that follows tells better whether it matters.
    """
    if not must and not _near(agent, transcript):
        return False
    try:
        await compact(agent, transcript, step)
    except NothingToCompact:
        return False
    except (EmptySummary, ProviderFailed) as error:
        log.warning("compaction_failed", session=step.session_key, reason=str(error))
        return False
    return True


def _near(agent: Agent, transcript: Transcript) -> bool:
    model = agent.known_model(agent.model)
    window = model.context_window if model is not None else 0
    return bool(window) and agent.compact_at > 0 and transcript.tokens >= window * agent.compact_at


def boundary(messages: Sequence[Message], keep: int) -> int:
    """How many messages may go: no result is parted from the call that it answers."""
    end = max(0, len(messages) - keep)
    while end > 0 and messages[end].role == "tool":
        end -= 1
    return end


def _request(agent: Agent, head: Sequence[Message]) -> LLMRequest:
    """The head as plain text: a conversation with calls in it and no tools beside them is refused by some."""
    told = "\n\n".join(_told(message) for message in head)
    messages = (Message("system", ASKED), Message("user", f"{told}\n\n---\n\n{ASKED}"))
    # To think would count against its length.
    options = {**unthinking(agent.options), "max_tokens": SUMMARY_TOKENS}
    return LLMRequest(agent.model, messages, options=options)


def _told(message: Message) -> str:
    asked = "".join(f"\n[calls {call.name} {call.arguments[:_RESULT_CHARS]}]" for call in message.tool_calls)
    pictures = f"\n[{len(message.media)} attachments]" if message.media else ""
    text = message.content
    if message.role == "tool" and len(text) > _RESULT_CHARS:
        text = f"{text[:_RESULT_CHARS]} [...]"
    return f"{message.role}: {text}{asked}{pictures}"


async def compacted(agent: Agent, transcript: Transcript, step: Step) -> tuple[End, Outbound]:
    """As a person has asked for it: what became of it, and the line that says so. Raises Fenced."""
    redactor = agent.around.redactor
    try:
        done = await compact(agent, transcript, step)
    except Fenced:
        raise
    except Exception as error:
        reason = redactor.text(_why_not(error, step))
        return End("failed", reason), Outbound(step.chat, f"Not compacted: {reason.rstrip('.')}.", kind="error")
    text = f"Compacted: {done.dropped} messages became a summary, {done.kept} stay as they are."
    return End("done", summary=redactor.text(done.summary)), Outbound(step.chat, text, kind="notice")


def _why_not(error: Exception, step: Step) -> str:
    if isinstance(error, NothingToCompact | EmptySummary | ProviderFailed | TurnAborted):
        return str(error)
    log.error("compaction_crashed", session=step.session_key, turn=step.turn_id, exc_info=error)
    return f"Something went wrong inside hookgate; the log has it under {step.turn_id}."
