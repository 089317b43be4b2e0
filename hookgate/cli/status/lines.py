"""A gateway's status as lines for a person: first of all what is wrong. Asks nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from hookgate.cli.printing import aligned, counted, lasting, moment
from hookgate.operations.gateways import TurnStatus
from hookgate.operations.journal.store import OK
from hookgate.operations.status import Status

MB = 1_000_000
SHORT = 60
GATEWAY = ("gateway", "asked", "version", "runs", "state", "work", "configuration")
TURN = ("message", "session", "agent", "runs", "now")
CHANNEL = ("channel", "kind", "state", "why")
HOOK = ("hook", "state", "p50 / p99", "said")
APPROVAL = ("request", "session", "tool", "ends", "asked by")
LEAVING = ("session", "messages", "waits", "tried")
LETTER = ("letter", "session", "since", "why")
"""What the columns are, where the screen has no room for them side by side."""


def report(it: Status, width: int | None) -> list[str]:
    """`width`: columns of the screen; None: nothing is wrapped."""
    up = lasting(it.at - it.started_at)
    lines = [f"hookgate {it.version}, process {it.pid}, up {up}, with {it.config}"]
    lines += [f"WRONG: {line}" for line in it.problems] or ["Nothing is wrong."]
    where = ("gateway",) if it.gateways else ()
    for title, names, rows in (
        ("Gateways", GATEWAY, _gateways(it)),
        (f"Turns: {_all(it, 'at_work')} of {_all(it, 'most')} at work", (*where, *TURN), _turns(it)),
        ("Channels", (*where, *CHANNEL), _channels(it)),
        ("Hooks", (*where, *HOOK), _hooks(it)),
        ("Waiting for people", APPROVAL, _approvals(it)),
        ("On its way to chats", LEAVING, _outgoing(it)),
        (f"Dead letters: {it.dead} (hookgate control letters.retry or letters.drop)", LETTER, _letters(it)),
        ("Besides", (), _besides(it)),
    ):
        if cells := list(rows):
            lines += ["", title, *aligned(cells, width, names)]
    return lines


def _all(it: Status, figure: Literal["at_work", "most"]) -> int:
    """Of this gateway, or of all that share its journal."""
    return sum(getattr(each, figure) for each in it.gateways) if it.gateways else getattr(it.sessions, figure)


def _everywhere(it: Status, rows: Literal["turns", "hooks", "channels"]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each row, behind the name of its gateway where there are several."""
    for each in it.gateways:
        yield from (((each.name,), row) for row in getattr(each, rows))
    if not it.gateways:
        yield from (((), row) for row in getattr(it, rows))


def _gateways(it: Status) -> Iterator[Sequence[str]]:
    for each in it.gateways:
        work = f"{each.at_work} of {each.most} turns" if each.config else "says nothing that is understood here"
        state = "draining" if each.draining else "wrong" if each.problems else "well"
        here = "asked" if each.here else "-"
        yield each.name, here, each.version, f"up {lasting(it.at - each.since)}", state, work, each.configuration[:8]


def _turns(it: Status) -> Iterator[Sequence[str]]:
    for where, turn in _everywhere(it, "turns"):
        behind = f", {turn.behind} more behind it" if turn.behind else ""
        since = f"{activity(turn)}, {lasting(it.at - turn.doing_since)}"
        yield *where, turn.message or "-", turn.session, turn.agent, lasting(it.at - turn.since), f"{since}{behind}"


def activity(turn: TurnStatus) -> str:
    """What it does now, as a person says it."""
    task = f", in the task of agent {turn.task_of}" if turn.task_of else ""
    return f"{ACTIVITIES[turn.doing](turn.name)}{task}"


ACTIVITIES: Mapping[str, Callable[[str], str]] = {
    "hooks": lambda stage: f"asks hooks ({stage})",
    "model": lambda model: f"asks the model {model}",
    "tool": lambda tool: f"runs the tool {tool}",
    "person": lambda tool: f"waits for a person to decide about {tool}",
    "slot": lambda _name: "waits for a place among the turns at work",
    "compacting": lambda _name: "sums up what is older",
    "sending": lambda _name: "brings its answer to the chat",
}


def _channels(it: Status) -> Iterator[Sequence[str]]:
    for where, row in _everywhere(it, "channels"):
        since = f"for {lasting(it.at - row.since)}" if row.since else ""
        yield *where, row.name, row.kind or "-", row.state, f"{since} {row.why}".strip() or "-"


def _hooks(it: Status) -> Iterator[Sequence[str]]:
    for where, row in _everywhere(it, "hooks"):
        times = "-" if row.p50_ms is None else f"{row.p50_ms:g} / {row.p99_ms or 0:g} ms"
        said = ", ".join(f"{count} {action}" for action, count in sorted(row.decisions.items()))
        fell = ", ".join(_some(("failure", row.failures or 0), ("restart", row.restarts or 0)))
        yield (
            *where,
            row.name,
            row.state,
            times,
            "; ".join(filter(None, (said, fell, row.failing, row.reason))) or "-",
        )


def _some(*counts: tuple[str, int]) -> Iterator[str]:
    return (counted(count, noun) for noun, count in counts if count)


def _approvals(it: Status) -> Iterator[Sequence[str]]:
    for row in it.approvals:
        ends = f"a no in {lasting(row.expires_at - it.at)}" if row.expires_at else "no end"
        yield (
            row.request,
            row.session,
            row.tool,
            ends,
            f"{row.asked_by} asks {', '.join(row.approvers) or 'whoever may'}",
        )


def _outgoing(it: Status) -> Iterator[Sequence[str]]:
    for row in it.queues.outgoing:
        tried = f"tried {counted(row.tries, 'time')}: {row.why}" if row.tries else "not tried yet"
        yield row.session, str(row.rows), f"for {lasting(it.at - row.since)}", tried


def _letters(it: Status) -> Iterator[Sequence[str]]:
    for row in it.letters:
        yield row.id, row.session, moment(row.at), f"{row.why}: {row.text[:SHORT]}"


def _besides(it: Status) -> Iterator[Sequence[str]]:
    store, audit, calls, queues = it.store, it.audit, it.calls, it.queues
    yield "queues", f"{counted(queues.unfinished, 'message')} unfinished, {queues.waiting} of them behind another"
    kept = f"{it.sessions.stored} stored" if store.path or it.store_state != OK else "none of them is kept"
    yield "sessions", f"{it.sessions.loaded} in memory, {kept}"
    ends = f"{calls.executed} executed, {calls.cached} from the memo, {calls.dropped} dropped"
    decided = f"{calls.denied} denied + {calls.answered} answered + {calls.allowed} allowed"
    yield "tool calls", f"{calls.calls} = {decided} ({ends})"
    if store.path:
        size = f"{store.bytes / MB:.1f} MB, {store.used / MB:.1f} MB used"
        written = f"written {lasting(it.at - store.written_at)} ago" if store.written_at else "nothing written yet"
        yield "store", f"{it.store_state}: {store.path}, {size}, {written}"
    if audit.records:
        signed = (
            f"signed up to {audit.signed}, {lasting(it.at - audit.signed_at)} ago" if audit.signed else "not signed"
        )
        yield "audit", f"{counted(audit.records, 'record')}, head {audit.head[:16]}, {signed}"
