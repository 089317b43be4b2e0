"""What the operators' page of a gateway shows and does, each by the function of `operations/` that all other ways in
call too. The only place that knows both."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

import trio

from hookgate.assembly.app import Runtime
from hookgate.channels.http.requests import HttpRefused
from hookgate.channels.web.api.approvals import read_decision
from hookgate.channels.web.cards import card
from hookgate.channels.web.ops.parts import Action, OpsParts
from hookgate.channels.web.shapes import Card
from hookgate.operations.approvals import decide, may_decide
from hookgate.operations.channels import ChannelStatus, list_channels
from hookgate.operations.gateways import DOWN, GatewayStatus, TurnStatus, list_all_hooks
from hookgate.operations.hooks import HookStatus, Reloaded, restart_hook, told
from hookgate.operations.journal.audit import Verified, verify_audit
from hookgate.operations.journal.finding import Located, find_messages
from hookgate.operations.journal.letters import drop_letter, retry_letter
from hookgate.operations.refused import OperationRefused
from hookgate.operations.rolling import reload_gateways
from hookgate.operations.sessions import (
    StoredSession,
    Transcript,
    forget_session,
    read_transcript,
    stop_turn,
    stored_sessions,
)
from hookgate.operations.status import Calls, Queues, status
from hookgate.operations.status import Sessions as Loaded
from hookgate.protocol.approval import Outcome, Voter
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.journal.views import AuditView, DeadLetter
from hookgate.store.journal import StoredJournal

T = TypeVar("T")
USUAL, MOST = 100, 1000
"""Rows of a list that the server sends at a time."""
Query = Mapping[str, str]
Members = Mapping[str, Any]


@dataclass(frozen=True)
class Done:
    """`text`: what happened, as a line."""

    text: str


@dataclass(frozen=True)
class Sessions:
    """`more`: there are others."""

    sessions: tuple[StoredSession, ...]
    more: bool


@dataclass(frozen=True)
class Messages:
    messages: tuple[Located, ...]
    more: bool


@dataclass(frozen=True)
class Now:
    """Of `Status` what an operator looks at first. `counts`: by view, what somebody may want to look at there."""

    version: str
    started_at: float
    problems: tuple[str, ...]
    turns: tuple[TurnStatus, ...]
    sessions: Loaded
    queues: Queues
    calls: Calls
    counts: Mapping[str, int]
    gateways: tuple[GatewayStatus, ...] = ()


@dataclass(frozen=True)
class Letters:
    """`dead`: how many there are, of which `letters` are the last."""

    dead: int
    letters: tuple[DeadLetter, ...]


@dataclass(frozen=True)
class Audit:
    """`verdict` None: nobody has asked this gateway for one."""

    chain: AuditView
    verdict: Verified | None


def ops_parts(runtime: Runtime, journal: StoredJournal) -> OpsParts:
    its = _Ops(runtime, journal)
    views = {
        "now": its.now,
        "hooks": its.hooks,
        "approvals": its.approvals,
        "messages": its.messages,
        "dead": its.dead,
        "sessions": its.sessions,
        "transcript": its.transcript,
        "channels": its.channels,
        "audit": its.audit,
    }
    actions = {
        "approvals.decide": Action(its.decide, "id"),
        "sessions.stop": Action(its.stop, "session"),
        "sessions.forget": Action(its.forget, "session"),
        "letters.retry": Action(its.retry, "id"),
        "letters.drop": Action(its.drop, "id"),
        "hooks.restart": Action(its.restart, "name"),
        "reload": Action(its.reload),
        "audit.verify": Action(its.verify, changes=False),
    }
    return OpsParts(views, actions, its.record)


class _Ops:
    def __init__(self, runtime: Runtime, journal: StoredJournal) -> None:
        self._runtime, self._journal = runtime, journal
        self._held, self._gateway = runtime.agent.approvals, runtime.gateway
        self._hidden = runtime.agent.around.redactor.text
        self._one, self._searching = trio.CapacityLimiter(1), trio.Lock()
        self._verdict: Verified | None = None

    async def record(self, by: Voter, did: str, about: str) -> None:
        await self._journal.upkeep.note(str(by), did, about)

    # --- what is shown ---

    async def now(self, _by: Voter, _query: Query) -> Now:
        its = await status(self._runtime)
        counts = {
            "approvals": len(its.approvals),
            "dead": its.dead,
            "hooks": sum(it.state in DOWN or bool(it.failing) for it in its.hooks),
            "channels": sum(it.state != "receiving" for it in its.channels),
        }
        figures = its.sessions, its.queues, its.calls
        return Now(its.version, its.started_at, its.problems, its.turns, *figures, counts, its.gateways)

    async def dead(self, _by: Voter, _query: Query) -> Letters:
        found = await self._journal.books.overview()
        return Letters(found.dead, tuple(replace(it, text=self._hidden(it.text)) for it in found.letters))

    async def hooks(self, _by: Voter, _query: Query) -> tuple[HookStatus, ...]:
        return await list_all_hooks(self._runtime)

    async def channels(self, _by: Voter, _query: Query) -> tuple[ChannelStatus, ...]:
        return await list_channels(self._runtime)

    async def approvals(self, by: Voter, _query: Query) -> tuple[Card, ...]:
        pending = await self._journal.decisions.pending()
        return tuple(card(it, may=may_decide(self._held, it.request, by)) for it in pending)

    async def messages(self, _by: Voter, query: Query) -> Messages:
        most = _most(query)
        found = await find_messages(self._runtime, self._journal.upkeep, query.get("words", ""), most + 1)
        return Messages(found[:most], len(found) > most)

    async def sessions(self, _by: Voter, query: Query) -> Sessions:
        most = _most(query)
        # All that was ever said is searched: one at a time, or nobody else could read.
        async with self._searching:
            found = await stored_sessions(self._gateway, query.get("words", ""), most + 1)
        shown = tuple(replace(it, title=self._hidden(it.title)) for it in found[:most])
        return Sessions(shown, len(found) > most)

    async def transcript(self, _by: Voter, query: Query) -> Transcript:
        return await _refusing(read_transcript(self._gateway, query.get("id", ""), _most(query), self._hidden))

    async def audit(self, _by: Voter, _query: Query) -> Audit:
        return Audit((await self._journal.books.overview()).audit, self._verdict)

    # --- what is done ---

    async def decide(self, by: Voter, members: Members) -> Outcome:
        return await decide(self._held, members["id"], read_decision(members, str(by)), by)

    async def stop(self, _by: Voter, members: Members) -> Done:
        session = members["session"]
        stopped = await _refusing(stop_turn(self._gateway, session))
        return Done(f"What ran in {session} ends." if stopped else f"Nothing runs in {session} any more.")

    async def forget(self, _by: Voter, members: Members) -> Done:
        session = members["session"]
        await _refusing(forget_session(self._gateway, session))
        for page in self._runtime.pages.values():
            page.channel.feeds.forget(session)
        return Done(f"{session} is forgotten.")

    async def restart(self, _by: Voter, members: Members) -> Done:
        done = await _refusing(restart_hook(self._runtime, members["name"]))
        return Done(f"{', '.join(done.restarted)} has a new process.")

    async def reload(self, _by: Voter, _members: Members) -> Done:
        return Done(_told(await _refusing(reload_gateways(self._runtime))))

    async def retry(self, by: Voter, members: Members) -> Done:
        await _refusing(retry_letter(self._gateway, members["id"], str(by)))
        return Done(f"{members['id']} is tried again.")

    async def drop(self, by: Voter, members: Members) -> Done:
        await _refusing(drop_letter(self._gateway, members["id"], str(by)))
        return Done(f"{members['id']} was dropped.")

    async def verify(self, _by: Voter, _members: Members) -> Done:
        its = self._verdict = await verify_audit(self._journal.place, self._one)
        return Done(f"{its.records} records: {its.state}{f': {its.why}' if its.why else ''}.")


def _most(query: Query) -> int:
    """Raises HttpRefused."""
    most = query.get("most", "") or str(USUAL)
    if not (most.isascii() and most.isdecimal() and 0 < int(most[:6]) <= MOST and len(most) < 6):
        raise HttpRefused(400, f"most has to be a number from 1 to {MOST}")
    return int(most)


async def _refusing(doing: Awaitable[T]) -> T:
    try:
        return await doing
    except OperationRefused as error:
        raise HttpRefused(409, str(error)) from None


def _told(done: Reloaded) -> str:
    many = f" So did {len(done.gateways)} gateways, one after the other."
    return f"Reloaded: {told(done)}{many if done.gateways else ''}"
