"""What the operators' page of a gateway shows and does, each by the function of `operations/` that all other ways in
call too. The only place that knows both."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from hookgate.assembly.app import Runtime
from hookgate.channels.http.requests import Refused
from hookgate.channels.web.api.approvals import read_decision
from hookgate.channels.web.cards import card
from hookgate.channels.web.ops.parts import Action, OpsParts
from hookgate.channels.web.shapes import Card
from hookgate.operations.approvals import decide, may_decide
from hookgate.operations.audit import Auditing, AuditState
from hookgate.operations.channels import ChannelStatus, list_channels
from hookgate.operations.finding import Located, find_messages
from hookgate.operations.hooks import HookStatus, Reloaded, list_hooks, reload_hooks, restart_hook
from hookgate.operations.refused import OperationRefused
from hookgate.operations.sessions import (
    SessionStatus,
    StoredSession,
    Transcript,
    forget_session,
    list_sessions,
    read_transcript,
    stop_turn,
    stored_sessions,
)
from hookgate.protocol.approval import Outcome, Voter
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
    """`problems`: a line for each thing that is wrong. `counts`: by view, what somebody may want to look at there."""

    problems: tuple[str, ...]
    turns: tuple[SessionStatus, ...]
    counts: Mapping[str, int]


def ops_parts(runtime: Runtime, journal: StoredJournal) -> OpsParts:
    its = _Ops(runtime, journal)
    views = {
        "now": its.now,
        "hooks": its.hooks,
        "approvals": its.approvals,
        "messages": its.messages,
        "sessions": its.sessions,
        "transcript": its.transcript,
        "channels": its.channels,
        "audit": its.audit,
    }
    actions = {
        "approvals.decide": Action(its.decide, "id"),
        "sessions.stop": Action(its.stop, "session"),
        "sessions.forget": Action(its.forget, "session"),
        "hooks.restart": Action(its.restart, "name"),
        "reload": Action(its.reload),
        "audit.verify": Action(its.verify),
    }
    return OpsParts(views, actions, its.record)


class _Ops:
    def __init__(self, runtime: Runtime, journal: StoredJournal) -> None:
        self._runtime, self._journal = runtime, journal
        self._held, self._gateway = runtime.agent.approvals, runtime.gateway
        self._auditing = Auditing(journal.path)

    async def record(self, by: Voter, did: str, about: str) -> None:
        await self._journal.upkeep.note(str(by), did, about)

    # --- what is shown ---

    async def now(self, _by: Voter, _query: Query) -> Now:
        hooks, channels = await list_hooks(self._runtime), await list_channels(self._runtime)
        turns = tuple(it for it in await list_sessions(self._gateway) if it.busy)
        counts = {
            "approvals": len(await self._held.pending()),
            "hooks": sum(bool(it.command) and it.state != "up" for it in hooks),
            "channels": sum(it.state != "receiving" for it in channels),
        }
        return Now((), turns, counts)

    async def hooks(self, _by: Voter, _query: Query) -> tuple[HookStatus, ...]:
        return await list_hooks(self._runtime)

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
        found = await stored_sessions(self._gateway, query.get("words", ""), most + 1)
        return Sessions(found[:most], len(found) > most)

    async def transcript(self, _by: Voter, query: Query) -> Transcript:
        hidden = self._runtime.agent.around.redactor.text
        return await _refusing(read_transcript(self._gateway, query.get("id", ""), _most(query), hidden))

    async def audit(self, _by: Voter, _query: Query) -> AuditState:
        return await self._auditing.state()

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
        return Done(_told(await _refusing(reload_hooks(self._runtime))))

    async def verify(self, _by: Voter, _members: Members) -> Done:
        its = await self._auditing.verify()
        return Done(f"{its.records} records: {its.state}{f': {its.why}' if its.why else ''}.")


def _most(query: Query) -> int:
    """Raises Refused."""
    most = query.get("most", "") or str(USUAL)
    if not (most.isascii() and most.isdecimal() and 0 < int(most[:6]) <= MOST and len(most) < 6):
        raise Refused(400, f"most has to be a number from 1 to {MOST}")
    return int(most)


async def _refusing(doing: Awaitable[T]) -> T:
    try:
        return await doing
    except OperationRefused as error:
        raise Refused(409, str(error)) from None


def _told(done: Reloaded) -> str:
    changes = {"added": done.added, "gone": done.dropped, "restarted": done.restarted, "changed": done.changed}
    said = [f"{what}: {', '.join(names)}" for what, names in changes.items() if names]
    said += ["the approval rules differ"] if done.approvals_changed else []
    text = f"Reloaded: {'; '.join(said)}." if said else "Reloaded: no hook and no rule differs."
    later = f" What changed in {', '.join(done.needs_restart)} counts only after a restart."
    return text + (later if done.needs_restart else "")
