"""Claims and approvals, asked for at several gateways at once through connections that break off: what each was
answered is what it would have been, had one come after the other."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from math import inf
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.journal.decisions import StoredRequest, Vote
from hookgate.protocol.journal.values import (
    AlreadyIntended,
    Approval,
    Arrival,
    Claim,
    Draft,
    Fenced,
    Intent,
    PolicyChanged,
)
from hookgate.protocol.values import Message, ToolCall
from hookgate.store.journal.opening import StoredJournal
from hookgate.store.places import Database
from hookgate.store.postgres import cluster, open_postgres_journal
from hookgate.store.postgres.cluster import go
from tests.cluster.linearizing import Operation, explained, puzzle
from tests.forwarding import Way, open_way
from tests.postgres import Server

GATEWAYS, WORKERS, SESSIONS = 3, 9, 3
STEPS = 30
DEADLINE_S = 120.0
REFUSALS: dict[type[Exception], str] = {
    Fenced: "fenced",
    PolicyChanged: "changed",
    AlreadyIntended: "twice",
}
ANYWHERE, LOST = "?", "?"


@dataclass(frozen=True)
class Call:
    """`gateway`: where it was asked for. `given` names what it is about, `result` is what was seen of it."""

    what: str
    gateway: str
    given: tuple[Any, ...] = ()
    result: Any = None


@dataclass(frozen=True)
class State:
    """Of one session. `owner`: empty: nobody; "?": whoever it was shared out to. `messages`: ids and whether each has
    ended, by key. `begun`: those that have been worked on. `claimed`: the one that is."""

    owner: str = ""
    messages: tuple[tuple[str, str, bool], ...] = ()
    begun: frozenset[str] = frozenset()
    fence: int = 0
    holder: str = ""
    claimed: str = ""
    written: int = 0
    requests: tuple[tuple[str, str], ...] = ()
    intended: frozenset[str] = frozenset()

    @property
    def rests(self) -> bool:
        return all(ended for _, _, ended in self.messages)

    def before(self, message: str) -> tuple[bool, bool]:
        """Whether another one that waits there certainly comes first, and whether one may, whose number nobody was
        told."""
        others = {id_ for _, id_, ended in self.messages if not ended} - {message}
        certain = any(self._place(it) < self._place(message) for it in others if it != LOST)
        return certain, certain or (LOST in others and message not in self.begun)

    def _place(self, message: str) -> tuple[bool, int]:
        return message not in self.begun, int(message.removeprefix("M"))


# --- what each call may come to, one after the other ----------------------------------------------------------------


def after(state: State, call: Call, lost: bool) -> Iterator[State]:
    """Whatever a lost one was answered, it has done what it does, here and now."""
    match call.what:
        case "accept":
            yield from _accept(state, call, lost)
        case "claim":
            yield from _claim(state, call, lost)
        case "gone":
            its = state.holder == call.gateway
            owner = ANYWHERE if state.owner == call.gateway else state.owner
            freed = replace(state, fence=state.fence + 1, holder="", claimed="") if its else state
            yield replace(freed, owner=owner)
        case "decide" | "standing":
            yield from _decide(state, call, lost)
        case _:
            yield from _write(state, call, lost)


def _accept(state: State, call: Call, lost: bool) -> Iterator[State]:
    (key,) = call.given
    for owner in {call.gateway, state.owner} - {""} if state.owner else {call.gateway}:
        if state.owner not in ("", ANYWHERE) and not state.rests and owner != state.owner:
            continue
        if state.owner not in ("", ANYWHERE) and state.rests and owner != call.gateway:
            continue
        stored = next((id_ for known, id_, _ in state.messages if known == key), "")
        # Of what is known already nobody is told where it is.
        there = owner != call.gateway and not stored
        id_, known, elsewhere = (stored or LOST, bool(stored), there) if lost else call.result
        if (known, elsewhere) != (bool(stored), there) or stored not in ("", LOST, id_):
            continue
        others = tuple(it for it in state.messages if it[0] != key)
        ended = next((it[2] for it in state.messages if it[0] == key), False)
        messages = tuple(sorted((*others, (key, id_, ended))))
        yield replace(state, owner=owner, messages=messages)


def _claim(state: State, call: Call, lost: bool) -> Iterator[State]:
    (message,) = call.given
    free = not state.holder and any(id_ == message and not ended for _, id_, ended in state.messages)
    here = state.owner in (call.gateway, ANYWHERE)
    certain, perhaps = state.before(message)
    if free and here and not certain and (lost or call.result == state.fence + 1):
        begun = state.begun | {message}
        its = {"owner": call.gateway, "fence": state.fence + 1, "holder": call.gateway, "claimed": message}
        yield replace(state, begun=begun, **its)
    if (lost or call.result is None) and not (free and state.owner == call.gateway and not perhaps):
        yield state


def _decide(state: State, call: Call, lost: bool) -> Iterator[State]:
    request, *said = call.given
    requests = dict(state.requests)
    counted = bool(said) and requests.get(request) == "open"
    if counted:
        requests[request] = "approved" if said[0] else "refused"
    if lost or call.result == (counted, requests.get(request)):
        yield replace(state, requests=tuple(sorted(requests.items())))


def _write(state: State, call: Call, lost: bool) -> Iterator[State]:
    """Under a claim."""
    fence, *given = call.given
    requests, result = dict(state.requests), "fenced"
    then = state
    if fence == state.fence and state.holder:
        match call.what:
            case "append":
                result, then = state.written + 1, replace(state, written=state.written + 1)
            case "complete":
                ended = tuple((key, id_, over or id_ == state.claimed) for key, id_, over in state.messages)
                result, then = "done", replace(state, messages=ended, holder="", claimed="")
            case "request":
                result, requests[given[0]] = "open", "open"
            case "intend" if given[0] in state.intended:
                result = "twice"
            case "intend" if requests.get(given[1]) != "approved":
                result = "changed"
            case _:
                result, requests[given[1]] = "done", "spent"
                then = replace(state, intended=state.intended | {given[0]})
    if lost or call.result == result:
        yield replace(then, requests=tuple(sorted(requests.items())))


# --- what is asked for ----------------------------------------------------------------------------------------------


@dataclass
class Recorder:
    """Those who ask, side by side, of sessions that they share."""

    chance: random.Random
    journals: list[StoredJournal]
    histories: defaultdict[str, list[Operation[Call]]] = field(default_factory=lambda: defaultdict(list))
    _clock: Iterator[int] = field(default_factory=lambda: count(1))
    _claims: defaultdict[str, list[Claim]] = field(default_factory=lambda: defaultdict(list))
    _messages: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _asked: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _completed: set[str] = field(default_factory=set[str])

    async def work(self) -> None:
        for _ in range(STEPS):
            session = f"test:{self.chance.randrange(SESSIONS)}"
            journal = self.chance.choice(self.journals)
            await self._step(session, journal)

    async def gone(self, journal: StoredJournal) -> None:
        """It is thought dead, and comes again by itself."""
        begun, ended = next(self._clock), inf
        with suppress(StoreFailed):
            await journal.engine.write(partial(go, journal.cluster.me))
            ended = next(self._clock)
        for number in range(SESSIONS):
            call = Call("gone", journal.cluster.me)
            self.histories[f"test:{number}"].append(Operation(call, begun, ended))

    async def _step(self, session: str, journal: StoredJournal) -> None:
        kinds = ["accept", "claim", "claim"]
        if self._claims[session]:
            kinds += ["append", "append", "complete", "request", "intend", "intend"]
        if self._asked[session]:
            kinds += ["decide", "decide", "standing"]
        await getattr(self, f"_{self.chance.choice(kinds)}")(session, journal)

    async def _accept(self, session: str, journal: StoredJournal) -> None:
        key = f"k{self.chance.randrange(40)}"
        arrival = Arrival(Inbound(Chat("test", session.partition(":")[2], "ann"), key), "agent", f"{session} {key}")

        async def accept() -> tuple[str, bool, bool]:
            accepted = await journal.intake.accept(arrival)
            self._messages[session].append(accepted.id)
            return accepted.id, accepted.known, accepted.elsewhere

        await self._record(session, journal, "accept", (key,), accept)

    async def _claim(self, session: str, journal: StoredJournal) -> None:
        if not self._messages[session]:
            return
        waiting = [it for it in self._messages[session] if it not in self._completed]
        message = self.chance.choice([*waiting[:2], *self._messages[session][-2:]])

        async def claim() -> int | None:
            taken = await journal.work.claim(journal.work.me, 3600, message=message)
            self._claims[session] += [taken] if taken is not None else []
            return None if taken is None else taken.fence

        await self._record(session, journal, "claim", (message,), claim)

    async def _append(self, session: str, journal: StoredJournal) -> None:
        claim = self._some_claim(session)

        async def append() -> int:
            (entry,) = await journal.work.append(claim, [Draft(Message("user", "x"))])
            return entry.number

        await self._record(session, journal, "append", (claim.fence,), append)

    async def _complete(self, session: str, journal: StoredJournal) -> None:
        claim = self._some_claim(session)

        async def complete() -> str:
            await journal.work.complete(claim, "answered")
            self._completed.add(claim.message)
            return "done"

        await self._record(session, journal, "complete", (claim.fence,), complete)

    async def _request(self, session: str, journal: StoredJournal) -> None:
        claim, id_ = self._some_claim(session), f"A{next(self._clock)}"
        call = ToolCall("c", "ls", {"path": "."})
        shown = ApprovalRequest(id_, Chat("test", "1"), call, "rule:r", "Run ls?", "", (), 60.0, id_)
        request = StoredRequest(id_, claim.conversation, "", id_, id_, "p", "rule:r", shown)

        async def ask() -> str:
            self._asked[session].append(id_)
            return (await journal.decisions.request(claim, request)).state

        await self._record(session, journal, "request", (claim.fence, id_), ask)

    async def _decide(self, session: str, journal: StoredJournal) -> None:
        request, yes = self.chance.choice(self._asked[session][-3:]), self.chance.random() < 0.8

        async def decide() -> tuple[bool, str | None]:
            found = await journal.decisions.decide(request, Vote(f"p{next(self._clock)}", yes))
            return (False, None) if found is None else (found.counted, found.state)

        await self._record(session, journal, "decide", (request, yes), decide)

    async def _standing(self, session: str, journal: StoredJournal) -> None:
        request = self.chance.choice(self._asked[session][-3:])

        async def standing() -> tuple[bool, str | None]:
            found = await journal.decisions.standing(request)
            return False, None if found is None else found.state

        await self._record(session, journal, "standing", (request,), standing)

    async def _intend(self, session: str, journal: StoredJournal) -> None:
        claim, asked = self._some_claim(session), self._asked[session]
        request, call = self.chance.choice(asked[-3:]) if asked else "A0", f"1.{self.chance.randrange(6)}"

        async def intend() -> str:
            await journal.work.intend(claim, Intent(call, "p", (Approval(request, request),)))
            return "done"

        await self._record(session, journal, "intend", (claim.fence, call, request), intend)

    def _some_claim(self, session: str) -> Claim:
        """The last one, or one that somebody thinks they have."""
        return self.chance.choice(self._claims[session][-3:] + self._claims[session][-1:] * 3)

    async def _record(
        self,
        session: str,
        journal: StoredJournal,
        what: str,
        given: tuple[Any, ...],
        act: Callable[[], Awaitable[Any]],
    ) -> None:
        call, begun = Call(what, journal.cluster.me, given), next(self._clock)
        try:
            result = await act()
        except StoreFailed:
            self.histories[session].append(Operation(call, begun))
            return
        except (Fenced, PolicyChanged, AlreadyIntended) as refusal:
            result = REFUSALS[type(refusal)]
        self.histories[session].append(Operation(replace(call, result=result), begun, next(self._clock)))


# --- tests ----------------------------------------------------------------------------------------------------------


async def _cut_off(chance: random.Random, ways: list[Way]) -> None:
    while True:
        await trio.sleep(chance.random() * 0.2)
        await chance.choice(ways).cut(told=True)


async def test_claims_and_approvals_come_one_after_the_other(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nobody is thought dead but by this test.
    monkeypatch.setattr(cluster, "LEASE_S", 600.0)
    chance = random.Random(seed := random.randrange(1 << 30))
    address = server.database()
    async with AsyncExitStack() as stack:
        ways = [await stack.enter_async_context(open_way(server.port)) for _ in range(GATEWAYS)]
        places = [address.replace(f":{server.port}/", f":{it.port}/") for it in ways]
        opening = [open_postgres_journal(Database(it, tmp_path / "journal"), shared=True) for it in places]
        journals = [await stack.enter_async_context(it) for it in opening]
        recorder = Recorder(chance, journals)
        with trio.fail_after(DEADLINE_S):
            async with trio.open_nursery() as weather:
                weather.start_soon(_cut_off, chance, ways)
                async with trio.open_nursery() as nursery:
                    for _ in range(WORKERS):
                        nursery.start_soon(recorder.work)
                    await trio.sleep(1)
                    await recorder.gone(chance.choice(journals))
                weather.cancel_scope.cancel()
    for session, history in recorder.histories.items():
        if beginning := puzzle(history, State(), after):
            raise AssertionError("\n".join([f"seed {seed}, {session}:", *map(str, beginning)]))


def test_the_checker_sees_what_cannot_be() -> None:
    accepted = Operation(Call("accept", "one", ("k",), ("M1", False, False)), 1, 2)
    claimed = Operation(Call("claim", "one", ("M1",), 1), 3, 6)
    asked = Operation(Call("request", "one", (1, "A1"), "open"), 7, 8)
    yes = Operation(Call("decide", "two", ("A1", True), (True, "approved")), 9, 12)
    spent = Operation(Call("intend", "one", (1, "1.0", "A1"), "done"), 10, 13)
    history = [accepted, claimed, asked, yes, spent]
    assert explained(history, State(), after)
    # Spent before anybody has said yes, twice by two calls, under a claim that another one has had since.
    assert not explained([accepted, claimed, asked, replace(yes, begun=14, ended=15), spent], State(), after)
    again = replace(spent, call=replace(spent.call, given=(1, "1.1", "A1")), begun=14, ended=15)
    assert not explained([*history, again], State(), after)
    other = Operation(Call("claim", "one", ("M1",), 2), 4, 5)
    assert not explained([accepted, claimed, other], State(), after)
    # The second before the first.
    second = Operation(Call("accept", "one", ("l",), ("M2", False, False)), 2.1, 2.2)
    early = Operation(Call("claim", "one", ("M2",), 1), 3, 6)
    assert not explained([accepted, second, early], State(), after)
    assert explained([accepted, second, replace(early, call=replace(early.call, result=None))], State(), after)
    gone = Operation(Call("gone", "one"), 4, 5)
    late = Operation(Call("append", "one", (1,), 1), 14, 15)
    assert not explained([*history, late, replace(gone, begun=13, ended=13.5)], State(), after)
    # A yes that was lost may have come.
    assert explained([accepted, claimed, asked, Operation(replace(yes.call, result=None), 9), spent], State(), after)
