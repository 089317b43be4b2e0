"""Calls of tools that whoever asks runs itself: they end the turn as its answer, and the next message of the
conversation brings their results. Runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from hookgate.loop.calls.batch import Batch, Ready, Settled
from hookgate.loop.sessions.transcript import Transcript
from hookgate.loop.turn_state import Turn
from hookgate.protocol.chat import Inbound
from hookgate.protocol.chat.client_input import CLIENT
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.replies import open_calls
from hookgate.protocol.journal.values import Draft
from hookgate.protocol.values import Json, LLMRequest, Message, ProposedCall, ToolCall
from hookgate.tools.decode import ReadCall
from hookgate.tools.failures import failure

UNANSWERED = "No result: whoever was to run it went on without one. It may have run."
UNSURE = "its arguments were cut off or had to be guessed"


def brought(transcript: Transcript, said: Inbound) -> tuple[Message, ...]:
    """What a program brings with its message, without results that no call waits for by now: a call has one result,
    whoever else has brought or made that."""
    waiting, kept = {call.id for call in open_calls(transcript.entries)}, list[Message]()
    for it in () if said.client is None else said.client.messages:
        if it.role != "tool":
            waiting = {call.id for call in it.tool_calls}
        elif it.tool_call_id in waiting:
            waiting.discard(it.tool_call_id)
        else:
            continue
        kept.append(it)
    return tuple(kept)


def entering(transcript: Transcript, said: Inbound) -> Iterator[Draft]:
    """What a message adds to its conversation: an end for each call that waits for a result and gets none, what a
    program brings, what is said."""
    messages = brought(transcript, said)
    answered = {it.tool_call_id for it in takewhile(lambda it: it.role == "tool", messages)}
    for call in open_calls(transcript.entries):
        if call.id not in answered:
            yield Draft(Message("tool", UNANSWERED, tool_call_id=call.id, is_error=True))
    # Nobody was shown that here.
    yield from (Draft(it, shown="" if it.role == "assistant" else None) for it in messages)
    if said.client is None or said.text or said.media:
        yield Draft(Message("user", said.text, media=said.media))


def asked_with(request: LLMRequest, inbound: Inbound, *, calls_made: bool) -> LLMRequest:
    """The request of a turn with what a program has sent for it. A tool of ours keeps its name; that some tool has to
    be called is done once one is."""
    client = inbound.client
    if client is None:
        return request
    taken = {spec.name for spec in request.tools}
    tools = (*request.tools, *(spec for spec in client.tools if spec.name not in taken))
    options: dict[str, Json] = {**request.options, **client.options}
    most = [it for it in (request.options.get("max_tokens"), client.options.get("max_tokens")) if isinstance(it, int)]
    if most:
        options["max_tokens"] = min(most)
    if not tools or (calls_made and options.get("tool_choice") != "none"):
        options.pop("tool_choice", None)
    if not tools:
        options.pop("parallel_tool_calls", None)
    head = len([it for it in request.messages[:1] if it.role == "system"])
    system = (Message("system", client.system),) if client.system else ()
    messages = (*request.messages[:head], *system, *request.messages[head:])
    return replace(request, messages=messages, tools=tools, options=options)


def divided(
    batch: Batch, calls: Sequence[ReadCall | Settled | Ready]
) -> tuple[tuple[ReadCall | Settled | Ready, ...], tuple[ProposedCall, ...]]:
    """What is run here, and what whoever asks runs: whatever cannot be made is answered here."""
    ours, theirs = list[ReadCall | Settled | Ready](), list[ProposedCall]()
    for it in calls:
        spec = batch.spec(it.proposed.name if isinstance(it, ReadCall) else it.call.name)
        call = it.call
        if not isinstance(it, ReadCall) or spec is None or spec.provider != CLIENT or not isinstance(call, ToolCall):
            ours.append(it)
        elif call.decode.truncated or call.decode.guessed:
            ours.append(Settled(call, failure("validation", call.name, UNSURE), UNSURE))
        else:
            theirs.append(it.recorded)
    return tuple(ours), tuple(theirs)


async def hand_over(turn: Turn, calls: Sequence[ProposedCall]) -> None:
    """The turn ends with these calls as its answer; without any, all of it is in the chat already."""
    redact = turn.redactor.text
    shown = tuple(replace(it, arguments=redact(it.arguments)) for it in calls)
    answer = replace(turn.line("", "answer"), calls=shown)
    await turn.end(outbox=(answer,) if calls else (), handed_over={it.id for it in calls})
