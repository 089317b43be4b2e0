"""One call on its way to being run: read, looked up, validated; then the gate, and a person where one must say yes.

Every way to run a tool comes through `prepare`. Yields a call to run, or the result that stands instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from hookgate.approvals.binding import RULES_CHANGED, Permit, Subject
from hookgate.hooks.chains import Chains
from hookgate.hooks.decision import refusal
from hookgate.hooks.verdicts import Answered, Denied
from hookgate.loop.calls.batch import Batch, Ready, Settled
from hookgate.loop.nested.within import delegates
from hookgate.protocol.approval import Wish
from hookgate.protocol.errors import ApprovalExpired
from hookgate.protocol.events.inside import CallDecided, PersonAsked
from hookgate.protocol.events.payloads import ToolExecStart
from hookgate.protocol.journal.values import AlreadyIntended, PolicyChanged
from hookgate.protocol.redacting import presentable
from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.tools.decode import ReadCall, incomplete
from hookgate.tools.dispatch import failure, invalid, not_found, settled_arguments, sound
from hookgate.tools.failures import away, removed

log = structlog.get_logger("hookgate.loop")

MAX_JUDGED = 8
"""How often one call is judged while hooks or rules change under it; then it is refused."""


async def prepare(batch: Batch, read: ReadCall) -> Ready | Settled:
    """Look up, validate; then the gate: before_tool and approval. A changed call is looked up again."""
    call = read.call
    if isinstance(call, ToolResult):
        return Settled(read.proposed, call, "its arguments cannot be read")
    found = _looked_up(batch, call)
    if isinstance(found, Settled):
        return found
    for _ in range(MAX_JUDGED):
        try:
            return await _judged(batch, *found)
        except PolicyChanged as error:
            # Whoever was asked did not know of it, so hooks and people are asked again.
            log.info("call_judged_again", session=batch.step.session_key, tool=call.name, reason=str(error))
    return _denied(batch, found[0], refusal("approval:", RULES_CHANGED))


def _looked_up(batch: Batch, call: ToolCall) -> tuple[ToolCall, ToolSpec] | Settled:
    """The tool, and the call with the arguments that hooks judge, people approve and the tool gets."""
    spec = batch.spec(call.name)
    if spec is None or batch.away(call.name):
        return _absent(batch, call, gone=False)
    refused = incomplete(spec, call)
    if batch.redactor.marker(call.arguments):
        reason = "an argument holds a mark that stands for a secret; the secret itself is not known here"
        hint = "Leave it out, or have the user put it where it belongs."
        refused = failure("validation", call.name, reason, hint=hint)
    if refused is None:
        rules = batch.agent.selection.rules(spec, batch.step.chat.channel)
        own, tool = batch.snapshot.spec(spec.name), batch.snapshot.get(spec.name)
        if spec.owner or tool is None or own is None:
            settled = settled_arguments(spec, call, rules)
        else:
            # Where a hook has shown the model another schema, the arguments must fit that as well.
            other = invalid(spec, rules.applied(call)) if own.parameters != spec.parameters else None
            settled = other or settled_arguments(tool, call, rules)
        if isinstance(settled, ToolCall):
            return settled, spec
        refused = settled
    return Settled(call, refused, "its arguments do not fit the tool")


async def _judged(batch: Batch, call: ToolCall, spec: ToolSpec) -> Ready | Settled:
    """By hooks, then by approvers and people. Raises PolicyChanged where those who should judge have changed."""
    agent = batch.agent
    verdict = await agent.gate.before_tool(batch.step, call, batch.owner)
    # It ends only where all that stand at that moment have been asked.
    judges = agent.gate.chains
    match verdict:
        case Denied():
            return _denied(batch, verdict.call, verdict.result)
        case Answered():
            return await _answered(batch, verdict, judges)
        case ToolCall() as changed if changed is not call:
            found = _looked_up(batch, changed)
            if isinstance(found, Settled):
                agent.tally.count("denied")
                return Settled(call, found.result, "a hook changed it into a call that cannot run")
            call, spec = found
            if call is not changed and (refused := await agent.gate.judged_by_guards(batch.step, call)):
                return _denied(batch, refused.call, refused.result)
        case _:
            pass
    # Before anybody is asked: hooks and rules change in one step, and the call is judged by those of one moment.
    wishes = agent.approvals.wishes(batch.step, call)
    refused = await agent.gate.approve_tool(batch.step, call)
    if isinstance(refused, ToolResult):
        return _denied(batch, call, refused)
    permit = await _permitted(batch, call, spec, (*wishes, *refused), judges)
    if isinstance(permit, ToolResult):
        return _denied(batch, call, permit)
    owned = bool(spec.owner)
    tool = None if owned else batch.snapshot.get(call.name)
    if not owned and (tool is None or not agent.registry.holds(spec)):
        agent.tally.count("denied")
        return _absent(batch, call, gone=tool is not None)
    agent.tally.count("answered" if owned else "allowed")
    return Ready(call, spec, tool, judges, permit)


async def _answered(batch: Batch, verdict: Answered, judges: Chains) -> Settled:
    """A hook that does not own the tool gave its result: a rule's person is still asked, unless config trusts it."""
    # By the name that was judged: what an answer says was called must not talk a rule away.
    call, judged, result = verdict.call, verdict.judged, batch.presented(sound(verdict.result))
    wishes = () if verdict.unapproved else batch.agent.approvals.wishes(batch.step, judged)
    if wishes:
        permit = await _permitted(batch, judged, batch.spec(judged.name), wishes, judges)
        late = permit if isinstance(permit, ToolResult) else await may_run(batch, judged, judges, permit)
        if late is not None:
            return _denied(batch, call, late)
    batch.agent.tally.count("answered")
    batch.events.emit(ToolExecStart.of(call), batch.step)
    if wishes:
        await batch.journal.work.finish(batch.claim, batch.id_of(judged), result, 0)
    return Settled(presentable(batch.redactor, call), result, by="hook")


async def _permitted(
    batch: Batch, call: ToolCall, spec: ToolSpec | None, wishes: Sequence[Wish], judges: Chains
) -> Permit | ToolResult | None:
    """What the call may run on, or its result where somebody does not let it through; None: nobody has to be asked.
    Raises PolicyChanged."""
    permit = None
    if wishes or (batch.step.resumed and await batch.journal.decisions.asked(batch.claim, batch.id_of(call))):
        permit = await _asked(batch, call, spec, wishes)
        if isinstance(permit, ToolResult):
            return permit
    _still_judged(batch, call, judges, permit)
    return permit


async def _asked(batch: Batch, call: ToolCall, spec: ToolSpec | None, wishes: Sequence[Wish]) -> Permit | ToolResult:
    """What people say. Raises PolicyChanged, and ApprovalExpired where their silence ends the turn."""
    seen = presentable(batch.redactor, call)
    why = "; ".join(wish.title or wish.text or call.name for wish in wishes)
    batch.events.emit(PersonAsked(seen, why), batch.step)
    permit = await batch.agent.approvals.settle(_subject(batch, call, spec), wishes, batch.outlet.channel)
    if isinstance(permit, Permit):
        batch.events.emit(CallDecided(seen, "approved", "user"), batch.step)
        return permit
    batch.events.emit(CallDecided(seen, "denied", "user", permit.reason), batch.step)
    if permit.ends_turn:
        batch.agent.tally.count("denied")
        raise ApprovalExpired(permit.denied_by, seen.name, permit.reason)
    return refusal(permit.denied_by, permit.reason)


def _subject(batch: Batch, call: ToolCall, spec: ToolSpec | None) -> Subject:
    # Whoever waits for a person holds nothing that others wait for.
    outer, keeps = batch.within_writer, "which makes this call, runs meanwhile and cannot wait"
    return Subject(
        claim=batch.claim,
        step=batch.step,
        call=call,
        id=batch.id_of(call),
        spec=spec,
        may_not_wait=f"a person would have to be asked, and {outer}, {keeps}" if outer else "",
        while_asking=batch.while_asking,
        wake=batch.outlet.delivery.wake,
        goes_on=spec is not None and delegates(spec),
        place=batch.place_of(call),
    )


def _still_judged(batch: Batch, call: ToolCall, judges: Chains, permit: Permit | None) -> None:
    """Raises PolicyChanged where a hook or a rule has come meanwhile that has not been asked about the call."""
    unasked, chains = permit is None and batch.agent.approvals.wishes(batch.step, call), batch.agent.gate.chains
    if unasked or (chains is not judges and chains.came_since(judges, batch.step, call)):
        raise PolicyChanged(RULES_CHANGED)


async def may_run(batch: Batch, call: ToolCall, judges: Chains, permit: Permit | None) -> ToolResult | None:
    """The result of a call that was let through by others than it would have to be now, or whose permit is worth
    nothing any more; else None, and the permit is spent."""
    try:
        _still_judged(batch, call, judges, permit)
        if permit is not None:
            await batch.agent.approvals.spend(permit)
    except (PolicyChanged, AlreadyIntended) as error:
        asked = permit.approvals[0].request if permit is not None and permit.approvals else ""
        return refusal(f"approval:{asked}", str(error))
    return None


def _denied(batch: Batch, call: ToolCall, result: ToolResult) -> Settled:
    batch.agent.tally.count("denied")
    told = (batch.notice(f"{call.name}: {result.for_llm}"),) if batch.outlet.policy.show_denials else ()
    return Settled(call, result, result.for_llm, told)


def _absent(batch: Batch, call: ToolCall, *, gone: bool) -> Settled:
    """A tool that is not there: just now; or `gone`, since it was offered; or there never was one."""
    if why := batch.away(call.name):
        return Settled(call, away(call.name, why), why)
    if gone:
        return Settled(call, removed(call.name), "it has been removed")
    return Settled(call, not_found(call.name, [spec.name for spec in batch.request.tools]), "there is no such tool")
