"""What the journal keeps of a reply's calls, and what is left of them where a crash has cut a turn off. Runs none."""

from __future__ import annotations

from collections.abc import Iterator

from hookgate.loop.calls.batch import Batch, Ready, Settled
from hookgate.loop.sessions.transcript import Transcript
from hookgate.protocol.chat import Inbound
from hookgate.protocol.journal.replies import open_calls
from hookgate.protocol.journal.values import CallRecord, CallState, Entry
from hookgate.protocol.redacting import presentable
from hookgate.protocol.values import ProposedCall, ToolCall, ToolSpec
from hookgate.protocol.values.spec_digest import spec_digest
from hookgate.tools.decode import ReadCall
from hookgate.tools.failures import failure

MAY_HAVE_RUN = "hookgate stopped while this ran: it may have happened, and nobody knows here"
STALE = "the tool is not the one any more that was asked for before hookgate was started again"


def record(batch: Batch, read: ReadCall) -> CallRecord:
    """A call as it was asked for, and what its tool was then."""
    call, step = read.call, batch.step
    asked = (call, None) if isinstance(call, ToolCall) else (None, call)
    tool = _tool(batch.own_spec(read.proposed.name))
    return CallRecord(*asked, step.agent, step.iteration, **tool, extension=step.extension, model=step.model)


def _tool(spec: ToolSpec | None) -> dict[str, str]:
    if spec is None:
        return {"provider": "", "owner": "", "spec_digest": ""}
    return {"provider": spec.provider, "owner": spec.owner, "spec_digest": spec_digest(spec)}


def names(reply: Entry) -> dict[str, str]:
    """Of its calls: the journal's by the model's."""
    return {call.id: kept.id for call, kept in zip(reply.message.tool_calls, reply.calls, strict=True)}


def last_reply(transcript: Transcript) -> Entry | None:
    """The one whose calls are not all answered."""
    if not open_calls(transcript.turn):
        return None
    return next(entry for entry in reversed(transcript.turn) if entry.message.role == "assistant")


def replies(transcript: Transcript, inbound: Inbound) -> int:
    """How often the model has answered in this turn; what the message itself brought is none of it."""
    brought = 0 if inbound.client is None else sum(it.role == "assistant" for it in inbound.client.messages)
    said = [entry for entry in transcript.turn if entry.message.role == "assistant"]
    return max([len(said) - brought, 0, *(call.iteration + 1 for entry in said for call in entry.calls)])


def left(batch: Batch, transcript: Transcript, reply: Entry) -> Iterator[ReadCall | Settled | Ready]:
    """The calls that have no result in the transcript, as far as each has come. One that may have run is never run
    again, but where it has begun a turn of its own: then it goes on with that. One of which nothing is stored passes
    the gate again. Both only if their tool is still the same."""
    records = dict(zip(reply.message.tool_calls, reply.calls, strict=True))
    for proposed in open_calls(transcript.turn):
        kept = records[proposed]
        yield _left(batch, proposed, kept, transcript.stored.call(kept.id))


def _left(batch: Batch, proposed: ProposedCall, kept: CallRecord, state: CallState) -> ReadCall | Settled | Ready:
    name, call = proposed.name, kept.call
    if call is None:
        return ReadCall(proposed, kept.unreadable or failure("validation", name, "its arguments cannot be read"))
    if state.result is not None:
        by, shown = "hook" if kept.owner else "tool", presentable(batch.redactor, call)
        return Settled(shown, state.result, by=by, duration_ns=state.duration_ns)
    spec, tool = batch.own_spec(name), batch.snapshot.get(name)
    same = _tool(spec) == {"provider": kept.provider, "owner": kept.owner, "spec_digest": kept.spec_digest}
    begun = state.begun if state.begun is not None and state.begun.name == name else None
    if begun is not None and same and spec is not None and tool is not None:
        return Ready(begun, spec, tool, batch.agent.gate.chains, begun=True)
    if state.intended:
        told = failure("unknown", name, MAY_HAVE_RUN, hint="Look before you do it again.")
        return Settled(call, told, MAY_HAVE_RUN, (batch.notice(f"{name}: {MAY_HAVE_RUN}"),))
    if not same:
        told = failure("stale", name, STALE, hint="Look at its description and call it again.")
        return Settled(call, told, STALE)
    return ReadCall(proposed, call)
