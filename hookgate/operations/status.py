"""How a running gateway is, all of it at one moment: what works, what waits, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from time import time

from hookgate.assembly.app import Runtime
from hookgate.operations.approvals import PendingRequest, pending
from hookgate.operations.channels import ChannelStatus
from hookgate.operations.gateways import (
    GatewayStatus,
    TurnStatus,
    list_gateways,
    own_status,
    problems_of_others,
)
from hookgate.operations.hooks import HookStatus
from hookgate.operations.journal.store import OK, store_state
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.views import AuditView, DeadLetter, Outgoing, Overview, StoreView


@dataclass(frozen=True)
class Sessions:
    """`at_work` now, of at most `most`; `loaded`: in memory; `stored`."""

    at_work: int
    most: int
    loaded: int
    stored: int


@dataclass(frozen=True)
class Queues:
    """`waiting`: messages behind those that are worked on, `unfinished`: these and those; `outgoing`: what waits for
    chats, by chat, what was tried most often first."""

    waiting: int
    unfinished: int
    outgoing: tuple[Outgoing, ...]


@dataclass(frozen=True)
class Calls:
    """calls == denied + answered + allowed, and allowed == executed + cached + dropped, since the start."""

    calls: int
    denied: int
    answered: int
    allowed: int
    executed: int
    cached: int
    dropped: int


@dataclass(frozen=True)
class Status:
    """`at`, `started_at`: seconds of the wall clock. `problems`: a line for each thing that is wrong; none: all is
    well. `store_state`: `ok`, or why nothing can be stored. `dead`: how many dead letters there are, of which
    `letters` are the last, the newest first. `gateways`: all that share its journal,
    the oldest first; none where it has that alone."""

    version: str
    pid: int
    config: str
    at: float
    started_at: float
    problems: tuple[str, ...]
    turns: tuple[TurnStatus, ...]
    sessions: Sessions
    hooks: tuple[HookStatus, ...]
    approvals: tuple[PendingRequest, ...]
    queues: Queues
    dead: int
    letters: tuple[DeadLetter, ...]
    channels: tuple[ChannelStatus, ...]
    store_state: str
    store: StoreView
    audit: AuditView
    calls: Calls
    gateways: tuple[GatewayStatus, ...] = ()


async def status(runtime: Runtime) -> Status:
    """All of the gateway at one moment. It takes a few milliseconds, but that something is written to the disk, to
    know that it can be."""
    return await status_where(runtime, await store_state(runtime.journal))


async def status_where(runtime: Runtime, state: str) -> Status:
    """As `status`, where it is known whether something can be stored: `state`, as `store_state` has it."""
    found, waiting, stored = await _stored(runtime, state)
    its = await own_status(runtime, {it.request for it in waiting} if stored == OK else None)
    gateways = await _gateways(runtime)
    behind, tally = sum(it.jobs.waiting for it in runtime.gateway.sessions.values()), runtime.agent.tally
    wrong = (*_unstored(stored), *its.problems, *_stuck(found), *problems_of_others(gateways))
    return Status(
        version=its.version,
        pid=its.pid,
        config=its.config,
        at=time(),
        started_at=runtime.telemetry.started_at,
        problems=wrong,
        turns=its.turns,
        sessions=Sessions(its.at_work, its.most, its.loaded, found.conversations),
        hooks=its.hooks,
        approvals=waiting,
        queues=Queues(behind, found.unfinished, found.outgoing),
        dead=found.dead,
        letters=found.letters,
        channels=its.channels,
        store_state=stored,
        store=found.store,
        audit=found.audit,
        calls=Calls(**{it.name: getattr(tally, it.name) for it in fields(Calls)}),
        gateways=gateways,
    )


async def _gateways(runtime: Runtime) -> tuple[GatewayStatus, ...]:
    try:
        return await list_gateways(runtime)
    except StoreFailed:
        return ()


async def _stored(runtime: Runtime, state: str) -> tuple[Overview, tuple[PendingRequest, ...], str]:
    """What the journal says, and how it is; what cannot be read counts as nothing."""
    try:
        return await runtime.journal.books.overview(), await pending(runtime.agent.approvals), state
    except StoreFailed as error:
        return Overview(0, 0, (), 0, ()), (), str(error) if state == OK else state


def _unstored(stored: str) -> Iterator[str]:
    if stored != OK:
        yield f"nothing can be stored: {stored}"


def _stuck(found: Overview) -> Iterator[str]:
    for it in found.outgoing:
        if it.tries:
            yield f"{it.rows} waiting for {it.session} cannot leave: {it.why} (tried {it.tries} times)"
    if found.dead:
        letters, them = ("letter", "it") if found.dead == 1 else ("letters", "them")
        yield f"{found.dead} dead {letters}: try {them} again or drop {them}"
    if found.audit.signed > found.audit.records:
        yield f"the audit chain is cut off: record {found.audit.signed} was signed, {found.audit.records} are here"
