"""The tool `delegate`: a task for another agent, which works on it in a turn and a conversation of its own.

That turn is the call's: it passes the same gate, works on its place, ends with it, and its answer is the result.
Where a crash cuts it off, the call goes on with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import structlog
import trio

from hookgate.loop.agent import Agent
from hookgate.loop.nested import call_scope
from hookgate.loop.nested.call_scope import Served
from hookgate.loop.nested.limits import TaskLimits
from hookgate.loop.nested.transcript import TaskTranscript
from hookgate.loop.nested.within import Within, conversation_of
from hookgate.loop.sessions.claims import LEASE_S
from hookgate.loop.slots import Slot
from hookgate.loop.turn import run_turn
from hookgate.loop.turn_state import Turn
from hookgate.protocol import call_context
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.errors import (
    PASSING,
    ApprovalExpired,
    ProviderFailed,
    SessionAborted,
    StepLimitReached,
    TurnAborted,
)
from hookgate.protocol.values import Fault, Json, JsonObject, ToolCall, ToolResult, ToolSpec
from hookgate.tools import arguments
from hookgate.tools.errors import ToolError
from hookgate.tools.failures import failure, faulted
from hookgate.tools.memo import Memo
from hookgate.tools.names import DELEGATE, SEND_FILE

log = structlog.get_logger("hookgate.loop")

LONGEST_S = 30 * 86_400.0
"""The clock that counts is the task's own, which stands still while a person is waited for."""
PROPERTIES: JsonObject = {
    "task": {"type": "string", "minLength": 1, "description": "What to do, and what to answer with."},
    "agent": {"type": "string", "description": "Who does it."},
    "context": {"type": "string", "description": "What it has to know besides."},
}
SPEC = ToolSpec(
    name=DELEGATE,
    description=(
        "Hand a task to another agent. It works on it by itself, with its own instructions and tools, in this "
        "workspace, and its answer is the result. It knows nothing of this conversation: say all that it needs. "
        "Several calls in one reply run side by side."
    ),
    parameters={"type": "object", "properties": PROPERTIES, "required": ["task"], "additionalProperties": False},
    affects_workspace=False,
    timeout_s=LONGEST_S,
    # What it does in the workspace its calls do, one by one.
    access="none",
)


def parameters_for(agents: Mapping[str, str]) -> JsonObject:
    """As one agent may call it: these agents, each with what it is for."""
    told = "; ".join(f"{name}: {purpose}" if purpose else name for name, purpose in agents.items())
    names: list[Json] = list(agents)
    whom: JsonObject = {"type": "string", "enum": names, "description": f"Who does it. {told}"}
    required: list[Json] = ["task"] if len(agents) == 1 else ["task", "agent"]
    return {**SPEC.parameters, "properties": {**PROPERTIES, "agent": whom}, "required": required}


class Delegate:
    """`agent`: by name, as it is configured now."""

    def __init__(self, agent: Callable[[str], Agent | None], limits: TaskLimits) -> None:
        self.spec = SPEC
        self._limits = limits
        self._agent = agent

    async def execute(self, call: ToolCall) -> ToolResult:
        served = call_scope.current.get()
        slot = None if served is None else served.batch.slot
        if served is None or slot is None:
            raise ToolError("permission", DELEGATE, "tasks are handed on within the turn of an agent alone")
        agent, limits = self._chosen(served, arguments.text(call, "agent")), self._limits
        if not slot.begin(limits.per_turn):
            raise ToolError("budget", DELEGATE, f"this message has led to {limits.per_turn} tasks already")
        task, context = arguments.text(call, "task"), arguments.text(call, "context")
        text = f"{task}\n\n{context}" if context else task
        # What its calls call in their turn belongs to it, and not to this call.
        token = call_scope.current.set(None)
        try:
            async with slot.lent(limits.at_once, limits.timeout_s) as its:
                assert its.clock is not None  # noqa: S101 - what is lent has one
                with its.clock.scope:
                    return await _done(served, agent, text, its)
        finally:
            call_scope.current.reset(token)
        why = f"{agent.name} was not done after {limits.timeout_s:g} s"
        return faulted(Fault("transient", DELEGATE, why, timed_out=True))

    def _chosen(self, served: Served, name: str) -> Agent:
        """Raises ToolError where this agent may not hand it a task, or not here."""
        batch = served.batch
        its, above = batch.agent, batch.within.agents if batch.within is not None else ()
        if not name and len(its.delegates_to) == 1:
            [name] = its.delegates_to
        if name not in its.delegates_to:
            known = ", ".join(its.delegates_to) or "nobody"
            raise ToolError(
                "not_found", DELEGATE, f"{its.name} may hand tasks to {known}, not to {name or 'anybody'}"
            )
        if len(above) >= self._limits.depth:
            raise ToolError("budget", DELEGATE, f"tasks lead to each other {len(above)} deep already: do it yourself")
        if name in above and name != its.name:
            chain = " waits for ".join((*above[above.index(name) :], its.name))
            raise ToolError("permission", DELEGATE, f"{chain}: a task does not go round in a circle")
        found = its if name == its.name else self._agent(name)
        if found is None:
            raise ToolError("not_found", DELEGATE, f"there is no agent {name} any more")
        # It has no chat to send anything to.
        selection = found.selection.without(SEND_FILE)
        return replace(found, around=its.around, providers=its.providers, selection=selection)


async def _done(served: Served, agent: Agent, task: str, slot: Slot) -> ToolResult:
    """What the task comes to. Begun by this very call before, it goes on where it was."""
    batch, work = served.batch, served.batch.journal.work
    conversation = conversation_of(batch.claim, served.call_id, agent.name)
    message = batch.within.claim if batch.within is not None else batch.claim
    transcript = TaskTranscript(batch.journal, conversation, message)
    claim = await work.claim(work.me, LEASE_S, conversation)
    if claim is None:
        raise ToolError("transient", DELEGATE, "somebody else works on it")
    try:
        await transcript.take(claim)
        if (answer := transcript.answer) is None:
            turn = _turn(served, agent, task, (transcript, slot))
            await run_turn(turn)
            if turn.progress.failure is not None:
                return _failed(agent, turn.progress.failure, show=batch.outlet.policy.show_errors == "full")
            answer = turn.progress.answer
    except SessionAborted as error:
        # It stops everything, from the message on: whoever runs this call raises it.
        served.abort(error)
        await trio.sleep_forever()
    finally:
        if (cost := transcript.cost) is not None:
            batch.spend(cost)
        batch.cut_off.extend(replace(it, id=f"{served.call_id}/{it.id}") for it in transcript.cut_off)
        with trio.move_on_after(LEASE_S, shield=True):
            await transcript.release()
    return ToolResult(answer, data={"agent": agent.name, "conversation": conversation.id})


def _turn(served: Served, agent: Agent, task: str, its: tuple[TaskTranscript, Slot]) -> Turn:
    batch, (transcript, slot) = served.batch, its
    above, claim = (), batch.claim
    if batch.within is not None:
        above, claim = batch.within.agents, batch.within.claim
    within = Within(
        batch.step.turn_id,
        (*above, batch.agent.name),
        claim,
        batch.within_writer,
        call_context.progress.get(),
    )
    return Turn(
        agent=agent,
        outlet=batch.outlet,
        transcript=transcript,
        inbound=replace(batch.step.inbound, text=task, media=(), replaces=0, album="", client=None),
        id=f"{agent.name}-turn-{transcript.conversation.agent.partition('+')[2]}",
        journal=batch.journal,
        slot=slot,
        memo=Memo(agent.around.memo),
        within=within,
    )


def _failed(agent: Agent, error: Exception, *, show: bool) -> ToolResult:
    """As whoever asked is told. `show`: a provider's own words."""
    match error:
        case ApprovalExpired():
            return failure("permission", DELEGATE, f"{agent.name}: {error}", denied_by=error.hook)
        case TurnAborted():
            return failure("permission", DELEGATE, f"{agent.name}: {error}", denied_by=f"hook:{error.hook}")
        case StepLimitReached():
            why = f"{agent.name} still wanted to run tools after {agent.max_steps} model calls (max_steps)"
            return failure("budget", DELEGATE, why)
        case ProviderFailed():
            kind = "transient" if error.kind in PASSING else "fatal"
            said = f": {error.reason}" if show else ""
            why = f"{agent.name}: the model call failed ({error.kind}){said}"
            return faulted(Fault(kind, DELEGATE, why, retry_after_s=error.retry_after_s))
        case _:
            return failure("fatal", DELEGATE, f"{agent.name}: something went wrong inside hookgate; the log has it")
