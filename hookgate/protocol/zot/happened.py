"""What happens inside hookgate, as the events that extensions hear."""

from __future__ import annotations

from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import (
    CallDecided,
    CallEnded,
    CallProposed,
    CompactionBegan,
    PersonAsked,
    ReplyEnded,
    SessionBegan,
    StepBegan,
)
from hookgate.protocol.events.inside import CompactionEnded as CompactionDone
from hookgate.protocol.events.inside import SessionEnded as SessionDone
from hookgate.protocol.events.payloads import TurnStart
from hookgate.protocol.values import bare_text
from hookgate.protocol.zot.blocks import result_members
from hookgate.protocol.zot.events import (
    AssistantSaid,
    CompactionEnded,
    CompactionStarted,
    ConfirmationRequested,
    HostEvent,
    PermissionDecided,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolProposed,
)


def translated(event: Event) -> tuple[HostEvent, ...]:
    """The event as an extension knows it, in order; nothing for what it has no name for."""
    if event.step is not None and event.step.parent_turn_id:
        return _of_task(event)
    match event.payload:
        case SessionBegan():
            return (SessionStarted(),)
        case SessionDone(why=why):
            return (SessionEnded(why),)
        case TurnStart(UserMessage=text, MediaCount=count):
            return (PromptSubmitted(text, image_count=count),)
        case StepBegan(number=number):
            return (StepStarted(number),)
        case ReplyEnded() as reply:
            return _reply(reply)
        case CallProposed(call=call):
            return (ToolProposed(call.id, call.name, call.arguments),)
        case CallEnded() as ended:
            return (_ended(ended),)
        case PersonAsked(call=call, preview=preview):
            return (ConfirmationRequested(call.id, call.name, preview),)
        case CallDecided(call=call) as it:
            return (PermissionDecided(call.id, call.name, it.decision, it.by, "pre_execution", it.why),)
        case CompactionBegan() as it:
            return (CompactionStarted(it.id, it.messages, it.tokens),)
        case CompactionDone() as it:
            return (CompactionEnded(it.id, it.messages, it.tokens, it.status, it.failure),)
        case _:
            return ()


def _of_task(event: Event) -> tuple[HostEvent, ...]:
    """What another agent does that works on a task: its calls alone, as the turn's own."""
    match event.payload:
        case ReplyEnded() as reply:
            return tuple(ToolProposed(call.id, call.name, call.arguments) for call in reply.asked)
        case CallEnded() as ended:
            return (_ended(ended),)
        case PersonAsked(call=call, preview=preview):
            return (ConfirmationRequested(call.id, call.name, preview),)
        case CallDecided(call=call) as it:
            return (PermissionDecided(call.id, call.name, it.decision, it.by, "pre_execution", it.why),)
        case _:
            return ()


def _reply(reply: ReplyEnded) -> tuple[HostEvent, ...]:
    said = (AssistantSaid(reply.visible),) if reply.visible else ()
    proposed = (ToolProposed(call.id, call.name, call.arguments) for call in reply.asked)
    return (*said, *proposed, StepEnded(reply.stop, reply.failure))


def _ended(ended: CallEnded) -> ToolEnded:
    call, outcome = ended.call, ended.outcome
    return ToolEnded(
        tool_id=call.id,
        tool_name=call.name,
        tool_args=call.arguments,
        status=ended.status,
        executed=ended.executed,
        result=result_members(bare_text(outcome), outcome.media, is_error=outcome.is_error),
        tool_args_raw=ended.raw,
    )
