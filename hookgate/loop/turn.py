"""One turn, from an Inbound to its Outbound: ask the model, run what it asked for, repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import count
from time import perf_counter_ns

import trio

from hookgate.loop.agent import Agent
from hookgate.loop.calls import Batch, run_calls
from hookgate.loop.model import complete
from hookgate.loop.transcript import Transcript
from hookgate.protocol.errors import ProviderFailed, SessionAborted, StepLimitReached, TurnAborted
from hookgate.protocol.interfaces import Channel
from hookgate.protocol.payloads import ErrorEvent, TurnEnd, TurnStart
from hookgate.protocol.values import (
    Inbound,
    LLMReply,
    LLMRequest,
    Message,
    Outbound,
    ProposedCall,
    Step,
    ToolResult,
)
from hookgate.tools.decode import read_calls
from hookgate.tools.registry import Snapshot


@dataclass(frozen=True)
class Turn:
    agent: Agent
    channel: Channel
    transcript: Transcript
    inbound: Inbound
    id: str

    def step(self, iteration: int) -> Step:
        return Step(self.agent.name, self.id, self.inbound, iteration, model=self.agent.model)


class _Progress:
    """How far a turn has come, for its last event, whatever ends it."""

    def __init__(self) -> None:
        self.step: Step | None = None
        self.status = "aborted"
        self.answer = ""
        self.iterations = 0


async def run_turn(turn: Turn) -> None:
    """Answer the message; every failure is one plain line in the chat.

    Raises SessionAborted (the turn is then rolled back, and the caller says so in the chat) and Cancelled; after
    both, as after everything else, the transcript is valid.
    """
    started, begun, progress = perf_counter_ns(), len(turn.transcript), _Progress()
    events, first = turn.agent.gate.events, turn.step(0)
    events.emit(TurnStart(turn.inbound.text, len(turn.inbound.media)), first)
    try:
        outbound = await _outcome(turn, progress)
        if outbound is not None:
            await turn.channel.send(outbound)
    except SessionAborted:
        turn.transcript.rollback(begun)
        raise
    finally:
        turn.transcript.repair()
        duration = perf_counter_ns() - started
        end = TurnEnd(progress.status, progress.iterations, duration, len(progress.answer))
        events.emit(end, progress.step or first)


async def _outcome(turn: Turn, progress: _Progress) -> Outbound | None:
    """The answer, or the line that stands for it; None where tools have delivered everything."""
    try:
        answer = await _converse(turn, progress)
    except SessionAborted:
        raise
    except TurnAborted as error:
        return _error(turn, str(error))
    except StepLimitReached as error:
        progress.status = "step_limit"
        return _error(turn, str(error))
    except ProviderFailed as error:
        progress.status = "error"
        turn.agent.gate.events.emit(ErrorEvent("llm", error.reason), progress.step)
        return _error(turn, f"The model call failed ({error.kind}): {error.reason}")
    progress.status, progress.answer = "completed", answer or ""
    return Outbound(turn.inbound.chat, answer) if answer is not None else None


async def _converse(turn: Turn, progress: _Progress) -> str | None:
    turn.transcript.append(Message("user", turn.inbound.text, media=turn.inbound.media))
    for iteration in range(turn.agent.max_steps):
        progress.step, progress.iterations = turn.step(iteration), iteration + 1
        batch, reply = await _ask_model(turn, progress.step)
        calls = read_calls(with_ids(reply.tool_calls, iteration), cut=reply.finish_reason == "length")
        recorded = tuple(call.recorded for call in calls)
        turn.transcript.append(Message("assistant", reply.content, recorded, reasoning=reply.reasoning))
        if not calls:
            return reply.content
        if await run_calls(batch, calls, lambda call_id, result: _record(turn, call_id, result)):
            return None
    tried = f"after {turn.agent.max_steps} model calls in one turn (agent.max_steps) it still wanted to run tools"
    raise StepLimitReached(f"I stopped: {tried}.")


async def _ask_model(turn: Turn, step: Step) -> tuple[Batch, LLMReply]:
    """Freeze the tools, pass the gate, ask, pass the gate again."""
    # A turn that was stopped by now asks neither hooks nor the model.
    await trio.lowlevel.checkpoint()
    agent, snapshot = turn.agent, turn.agent.registry.snapshot()
    request = await agent.gate.before_llm(step, _request(turn, snapshot))
    step = replace(step, model=request.model)
    held = agent.gate.holds_text(step, request.model)
    reply = await complete(agent, step, request, _deaf if held else _listener(turn))
    reply = await agent.gate.after_llm(step, reply)
    if held:
        turn.channel.stream(step.chat, reply.content)
    if reply.tool_calls and reply.content:
        turn.channel.end_stream(step.chat)
    return Batch(agent, turn.channel, step, request, snapshot), reply


def _request(turn: Turn, snapshot: Snapshot) -> LLMRequest:
    agent = turn.agent
    system = (Message("system", agent.system),) if agent.system else ()
    return LLMRequest(agent.model, (*system, *turn.transcript.messages), snapshot.specs, agent.options)


def _deaf(_text: str | None) -> None:
    """Nobody reads along while a hook may still change the text; it goes out whole when all have passed it."""


def _listener(turn: Turn) -> Callable[[str | None], None]:
    chat, channel = turn.inbound.chat, turn.channel
    return lambda text: channel.restart_stream(chat) if text is None else channel.stream(chat, text)


def with_ids(calls: Iterable[ProposedCall], iteration: int) -> tuple[ProposedCall, ...]:
    """Every call of a reply under an id of its own: a missing or repeated one is replaced."""
    given = list(calls)
    taken = {call.id for call in given}
    spare = (name for number in count() if (name := f"call_{iteration}_{number}") not in taken)
    used: set[str] = {""}
    named: list[ProposedCall] = []
    for call in given:
        call_id = next(spare) if call.id in used else call.id
        used.add(call_id)
        named.append(replace(call, id=call_id))
    return tuple(named)


def _record(turn: Turn, call_id: str, result: ToolResult) -> None:
    media = () if result.response_handled else result.media
    turn.transcript.append(Message("tool", result.for_llm, tool_call_id=call_id, media=media))


def _error(turn: Turn, text: str) -> Outbound:
    return Outbound(turn.inbound.chat, text, kind="error")
