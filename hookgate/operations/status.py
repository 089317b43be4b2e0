"""How a running gateway is, all of it at one moment: what works, what waits, and what is wrong."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields
from time import time
from typing import TYPE_CHECKING

from hookgate import __version__
from hookgate import config as configuration
from hookgate.assembly.app import Runtime
from hookgate.loop.sessions.jobs import Prompt
from hookgate.operations.approvals import Waiting, pending
from hookgate.operations.channels import ChannelStatus, list_channels
from hookgate.operations.hooks import HookStatus, list_hooks
from hookgate.operations.journal.store import OK, store_state
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.journal.views import AuditView, DeadLetter, Outgoing, Overview, StoreView
from hookgate.telemetry.turns import Activity, Doing

if TYPE_CHECKING:
    from hookgate.loop.sessions.session import Session

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
    `letters` are the last, the newest first."""

    version: str
    pid: int
    config: str
    at: float
    started_at: float
    problems: tuple[str, ...]
    turns: tuple[TurnStatus, ...]
    sessions: Sessions
    hooks: tuple[HookStatus, ...]
    approvals: tuple[Waiting, ...]
    queues: Queues
    dead: int
    letters: tuple[DeadLetter, ...]
    channels: tuple[ChannelStatus, ...]
    store_state: str
    store: StoreView
    audit: AuditView
    calls: Calls


async def status(runtime: Runtime) -> Status:
    """All of the gateway at one moment. It takes a few milliseconds, but that something is written to the disk, to
    know that it can be."""
    return await status_where(runtime, await store_state(runtime.journal))


async def status_where(runtime: Runtime, state: str) -> Status:
    """As `status`, where it is known whether something can be stored: `state`, as `store_state` has it."""
    found, waiting, stored = await _stored(runtime, state)
    hooks, channels = await list_hooks(runtime), await list_channels(runtime)
    sessions, config = runtime.gateway.sessions, runtime.settings
    open_ = {it.request for it in waiting} if stored == OK else None
    turns = tuple(_turn(runtime, it, open_) for it in sessions.values() if it.busy)
    behind = sum(it.jobs.waiting for it in sessions.values())
    tally = runtime.agent.tally
    return Status(
        version=__version__,
        pid=os.getpid(),
        config=config.called or str((config.file or config.base / configuration.FILE_NAME).resolve()),
        at=time(),
        started_at=runtime.telemetry.started_at,
        problems=(*_leaving(runtime), *_wrong(hooks, channels, stored), *_stuck(found), *_untraced(runtime)),
        turns=turns,
        sessions=Sessions(len(turns), config.config.gateway.max_turns, len(sessions), found.conversations),
        hooks=hooks,
        approvals=waiting,
        queues=Queues(behind, found.unfinished, found.outgoing),
        dead=found.dead,
        letters=found.letters,
        channels=channels,
        store_state=stored,
        store=found.store,
        audit=found.audit,
        calls=Calls(**{it.name: getattr(tally, it.name) for it in fields(Calls)}),
    )


async def _stored(runtime: Runtime, state: str) -> tuple[Overview, tuple[Waiting, ...], str]:
    """What the journal says, and how it is; what cannot be read counts as nothing."""
    try:
        return await runtime.journal.books.overview(), await pending(runtime.agent.approvals), state
    except StoreFailed as error:
        return Overview(0, 0, (), 0, ()), (), str(error) if state == OK else state


def _stuck(found: Overview) -> Iterator[str]:
    for it in found.outgoing:
        if it.tries:
            yield f"{it.rows} waiting for {it.session} cannot leave: {it.why} (tried {it.tries} times)"
    if found.dead:
        letters, them = ("letter", "it") if found.dead == 1 else ("letters", "them")
        yield f"{found.dead} dead {letters}: try {them} again or drop {them}"
    if found.audit.signed > found.audit.records:
        yield f"the audit chain is cut off: record {found.audit.signed} was signed, {found.audit.records} are here"
