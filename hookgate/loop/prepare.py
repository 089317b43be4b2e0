"""One call on its way to being run: read, looked up, validated; then the gate, and a person where one must say yes.

Every way to run a tool comes through `prepare`. Yields a call to run, or the result that stands instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import structlog

from hookgate.approvals.binding import Permit, Subject
from hookgate.approvals.requests import RULES_CHANGED, Refused
from hookgate.hooks.chains import Chains
from hookgate.hooks.decision import refusal
from hookgate.hooks.verdicts import Allowed, Answered, Denied
from hookgate.loop.batch import Batch, Owned, Ready, Settled
from hookgate.loop.finish import answered
from hookgate.protocol.approval import Wish
from hookgate.protocol.codec import canonical
from hookgate.protocol.errors import ApprovalExpired
from hookgate.protocol.events.inside import CallDecided, PersonAsked
from hookgate.protocol.journal.values import AlreadyIntended, PolicyChanged
from hookgate.protocol.redacting import presentable
from hookgate.protocol.values import Fault, Outbound, ToolCall, ToolResult, ToolSpec
from hookgate.tools.decode import ReadCall, incomplete
from hookgate.tools.dispatch import failure, invalid, not_found, settled_arguments
from hookgate.tools.failures import removed

log = structlog.get_logger("hookgate.loop")

MAX_JUDGED = 8
"""How often one call is judged while hooks or rules change under it; then it is refused."""


async def prepare(batch: Batch, read: ReadCall) -> Ready | Owned | Settled:
    """Look up, validate; then the gate: before_tool and approval. A changed call is looked up again."""
    call = read.call
    if isinstance(call, ToolResult):
        return Settled(read.proposed, call, "its arguments cannot be read")
    spec = batch.spec(call.name)
    if spec is None:
        return _unknown(batch, call)
    settled = _settled(batch, spec, call)
    if isinstance(settled, ToolResult):
        return Settled(call, settled, "its arguments do not fit the tool")
    for _ in range(MAX_JUDGED):
        try:
            return await _judged(batch, settled, spec)
        except PolicyChanged as error:
            # Whoever was asked did not know of it, so hooks and people are asked again.
            log.info("call_judged_again", session=batch.step.session_key, tool=call.name, reason=str(error))
    return _denied(batch, settled, refusal("approval:", RULES_CHANGED))


def _settled(batch: Batch, spec: ToolSpec, call: ToolCall) -> ToolCall | ToolResult:
    """The call with the arguments that hooks judge, people approve and the tool gets, or why it cannot be made."""
    if batch.agent.around.redactor.marker(canonical(call.arguments).decode()):
        reason = "an argument holds a mark that stands for a secret; the secret itself is not known here"
        return failure(
            "validation", call.name, reason, hint="Leave it out, or have the user put it where it belongs."
        )
    refusal = incomplete(spec, call)
    if refusal is not None:
        return refusal
    rules = batch.agent.selection.rules(spec, batch.step.chat.channel)
    own, tool = batch.snapshot.spec(spec.name), batch.snapshot.get(spec.name)
    if spec.owner or tool is None or own is None:
        return settled_arguments(spec, call, rules)
    # Where a hook has shown the model another schema, the arguments must fit that as well.
    other = own.parameters != spec.parameters
    return (invalid(spec, rules.applied(call)) if other else None) or settled_arguments(tool, call, rules)


async def _judged(batch: Batch, call: ToolCall, spec: ToolSpec) -> Ready | Owned | Settled:
    verdict = await batch.agent.gate.before_tool(batch.step, call, batch.owners)
    # It ends only where all that stand at that moment have been asked.
    judges = batch.agent.gate.chains
    match verdict:
        case Denied(result=result):
            return _denied(batch, verdict.call, result)
        case Answered():
            return await _answered(batch, verdict, judges)
        case Allowed(call=allowed):
            if allowed is call:
                return await _approved(batch, call, spec, judges)
            return await _rejudged(batch, call, allowed, judges)


async def _rejudged(batch: Batch, call: ToolCall, changed: ToolCall, judges: Chains) -> Ready | Owned | Settled:
    """What hooks made of a call is looked up and read again."""
    target = batch.spec(changed.name)
    if target is None:
        settled = _unknown(batch, changed).result
    else:
        settled = _settled(batch, target, changed)
        if isinstance(settled, ToolCall):
            return await _approved(batch, settled, target, judges)
    batch.agent.tally.calls += 1
    batch.agent.tally.denied += 1
    return Settled(call, settled, "a hook changed it into a call that cannot run")


async def _answered(batch: Batch, verdict: Answered, judges: Chains) -> Settled:
    """A hook that does not own the tool gave its result: a rule's person is still asked, unless config trusts it."""
    tally, call = batch.agent.tally, verdict.call
    # By the name that was judged: what an answer says was called must not talk a rule away.
    approvals, judged = batch.agent.approvals, verdict.judged
    wishes = () if verdict.unapproved else approvals.wishes(batch.step, judged)
    permit = await _permitted(batch, judged, batch.spec(judged.name), wishes)
    if isinstance(permit, ToolResult):
        return _denied(batch, call, permit)
    if permit is not None:
        _still_judged(batch, judged, judges, permit)
        if late := await spent(batch, permit):
            return _denied(batch, call, late)
    tally.calls += 1
    tally.answered += 1

    async def result() -> ToolResult:
        if permit is not None:
            await batch.journal.work.finish(batch.claim, permit.subject.id, verdict.result, 0)
        return verdict.result

    return await answered(batch, call, result)


async def _approved(batch: Batch, call: ToolCall, spec: ToolSpec, judges: Chains) -> Ready | Owned | Settled:
    agent = batch.agent
    # Before anybody is asked: hooks and rules change in one step, and the call is judged by those of one moment.
    wishes = agent.approvals.wishes(batch.step, call)
    verdict = await agent.gate.approve_tool(batch.step, call)
    if isinstance(verdict, ToolResult):
        return _denied(batch, call, verdict)
    permit = await _permitted(batch, call, spec, (*wishes, *verdict))
    if isinstance(permit, ToolResult):
        return _denied(batch, call, permit)
    _still_judged(batch, call, judges, permit)
    agent.tally.calls += 1
    if spec.owner:
        agent.tally.answered += 1
        return Owned(call, spec, judges, permit)
    tool = batch.snapshot.get(call.name)
    if tool is None or not agent.registry.holds(spec):
        agent.tally.denied += 1
        return _unknown(batch, call) if tool is None else Settled(call, removed(call.name), "it has been removed")
    agent.tally.allowed += 1
    return Ready(call, spec, tool, judges, permit)


def _subject(batch: Batch, call: ToolCall, spec: ToolSpec | None) -> Subject:
    # Whoever waits for a person holds nothing that others wait for.
    outer = batch.within_writer
    why = f"a person would have to be asked, and {outer}, which makes this call, keeps the workspace from all others"
    return Subject(
        batch.claim, batch.step, call, batch.id_of(call), spec, why if outer else "", while_asking=batch.while_asking
    )


async def _permitted(
    batch: Batch, call: ToolCall, spec: ToolSpec | None, wishes: Sequence[Wish]
) -> Permit | ToolResult | None:
    """What the call may run on, or its result where somebody does not let it through; None: nobody has to be asked.
    Raises PolicyChanged."""
    if not wishes:
        return None
    step, events = batch.step, batch.agent.gate.events
    seen = presentable(batch.agent.around.redactor, call)
    events.emit(PersonAsked(seen, "; ".join(wish.title or wish.text or call.name for wish in wishes)), step)
    match await batch.agent.approvals.settle(_subject(batch, call, spec), wishes, batch.outlet.channel):
        case Refused(denied_by=by, reason=reason, ends_turn=ends_turn):
            events.emit(CallDecided(seen, "denied", "user", reason), step)
            if ends_turn:
                raise ApprovalExpired(by, seen.name, reason)
            return refusal(by, reason)
        case permit:
            events.emit(CallDecided(seen, "approved", "user"), step)
            return permit


def _still_judged(batch: Batch, call: ToolCall, judges: Chains, permit: Permit | None) -> None:
    """Raises PolicyChanged where a hook or a rule has come meanwhile that has not been asked about the call."""
    agent = batch.agent
    unasked = permit is None and agent.approvals.wishes(batch.step, call)
    if unasked or agent.gate.came_since(judges, batch.step, call):
        raise PolicyChanged(RULES_CHANGED)


def outdated(batch: Batch, item: Ready | Owned) -> ToolResult | None:
    """The result of a call that was let through by others than it would have to be now."""
    try:
        _still_judged(batch, item.call, item.judges, item.permit)
    except PolicyChanged as error:
        return refusal("approval:", str(error))
    return None


async def spent(batch: Batch, permit: Permit) -> ToolResult | None:
    """Uses up what people have allowed; the result of a call that may run no more."""
    try:
        await batch.agent.approvals.spend(permit)
    except (PolicyChanged, AlreadyIntended) as error:
        asked = next((it.request for it in permit.approvals), "")
        return refusal(f"approval:{asked}", str(error))
    return None


def _denied(batch: Batch, call: ToolCall, result: ToolResult) -> Settled:
    batch.agent.tally.calls += 1
    batch.agent.tally.denied += 1
    if not batch.outlet.policy.show_denials:
        return Settled(call, result, result.for_llm)
    text = batch.agent.around.redactor.text(f"{call.name}: {result.for_llm}")
    return Settled(call, result, result.for_llm, (Outbound(batch.step.chat, text, kind="notice"),))


def _unknown(batch: Batch, call: ToolCall) -> Settled:
    """The model reads which names are close; clients and extensions that know zot's words read those."""
    result = not_found(call.name, [spec.name for spec in batch.request.tools])
    known_as = Fault("not_found", call.name, f'unknown tool "{call.name[:100]}"')
    return Settled(call, replace(result, error=known_as), "there is no such tool")
