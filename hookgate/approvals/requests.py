"""Requests: a call waits here until people have decided about it, wherever they were shown it and wherever they did.

A request is stored before it is shown, and what was decided stands in the journal alone. Fails closed: one that
expires, that nobody can be asked about, or that is refused is a refusal. Does not know how a channel shows anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

import trio

from hookgate.approvals import rules as ruling
from hookgate.approvals.asking import Asking
from hookgate.approvals.binding import (
    PEOPLE_CHANGED,
    RULES_CHANGED,
    SCRIPT_CHANGED,
    NotApproved,
    Permit,
    Subject,
    policy,
)
from hookgate.approvals.decide import UNKNOWN, counted, not_yours, outcome, unread
from hookgate.approvals.deciders import Deciders
from hookgate.approvals.grants import Extent, Grants
from hookgate.approvals.people import People, requester
from hookgate.approvals.reading import Reading
from hookgate.approvals.rules import Rule
from hookgate.approvals.surroundings import Surroundings
from hookgate.approvals.waiting import Waiting
from hookgate.approvals.wording import wish_of
from hookgate.protocol.approval import Decision, Outcome, Voter, Wish
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.interfaces import Channel
from hookgate.protocol.journal.decisions import Standing, StoredGrant, StoredRequest
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Approval, Intent, PolicyChanged
from hookgate.protocol.values import Step, ToolCall


class Approvals:
    """Calls wait in `settle`; every surface decides by `decide`; the yes is used up by `spend`."""

    def __init__(
        self, rules: Iterable[Rule], journal: Journal, around: Surroundings, people: People | None = None
    ) -> None:
        self._rules = tuple(rules)
        self.revision = ruling.revision(self._rules)
        self.deciders = Deciders(people or People())
        self._journal, self._decisions, self._around = journal, journal.decisions, around
        self._reading = Reading(around.channels)
        extent = Extent(around.directory, around.clock, around.parts)
        self.grants = Grants(
            journal.decisions, extent, lambda wish, chat, voters: self.deciders.enough(wish, chat, voters)
        )
        self._waiting = Waiting(journal, around.clock, lambda request: partial(self.decide, request))
        self._asking = Asking(journal.decisions, around, self._waiting, lambda: self.deciders)

    # --- the rules ---

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self._rules

    def adopt(
        self,
        rules: Iterable[Rule],
        people: People | None = None,
        approvers: Mapping[str, tuple[str, ...]] | None = None,
    ) -> bool:
        """Ask by these rules from here on; by these people, and these approvers of channels, where some are given.
        Grants and open requests of a rule that is gone, or says something else, are void. Whether any is."""
        before, self._rules = self._rules, tuple(rules)
        self.revision = ruling.revision(self._rules)
        limits = self.deciders.limits if approvers is None else approvers
        self.deciders = Deciders(people or self.deciders.people, limits)
        contents, now = ({rule.content for rule in it} for it in (before, self._rules))
        gone = {f"rule:{content}" for content in contents - now}
        self.grants.end(gone)
        self._waiting.end(lambda stored: self._outdated(stored, gone))
        return contents != now

    def _outdated(self, stored: StoredRequest, gone: Collection[str]) -> str:
        """Why it is not the one any more that has to be asked; empty: it is."""
        if stored.asker in gone:
            return RULES_CHANGED
        return "" if self.deciders.same(stored) else PEOPLE_CHANGED

    def roles(self, chat: Chat) -> tuple[str, ...]:
        """Of whoever a turn there answers, by now."""
        return self.deciders.people.roles(requester(chat))

    def name(self, chat: Chat) -> str:
        """Of whoever writes there; empty: not listed."""
        return self.deciders.people.name(requester(chat))

    def wishes(self, step: Step, call: ToolCall) -> tuple[Wish, ...]:
        """What the rules demand for this call."""
        return ruling.wishes(self._rules, step, call) if self._rules else ()

    def forget(self, session_key: str) -> None:
        """A conversation starts anew: what was granted in it is void."""
        self.grants.end([session_key])

    # --- a call ---

    async def settle(self, subject: Subject, wishes: Sequence[Wish], channel: Channel) -> NotApproved | Permit:
        """Ask for each wish in turn. Raises PolicyChanged where the rules have changed meanwhile: the call has to be
        judged again."""
        subject = replace(subject, files=await self._files(subject.call))
        before = await self.asked_before(subject, wishes)
        wishes = (*wishes, *before)
        approvals, lasting = list[Approval](), list[Callable[[], None]]()
        grants = list[tuple[Wish, StoredGrant]]()
        for number, wish in enumerate(wishes, 1):
            if grant := await self.grants.covering(subject, wish):
                grants.append((wish, grant))
                continue
            among = f"question {number} of {len(wishes)}" if len(wishes) > 1 else ""
            placed = replace(subject, place=", ".join(filter(None, (subject.place, among))))
            asked = await self._asking.put(placed, wish, policy(wishes), channel)
            if isinstance(asked, NotApproved):
                return asked
            approvals.append(Approval(asked.request.id, asked.request.digest))
            vote = asked.votes[-1]
            # Several who have to agree agree on what they allow, too.
            if vote.grant == "once" or any((it.grant, it.prefix) != (vote.grant, vote.prefix) for it in asked.votes):
                continue
            if vote.grant == "always" and wish.lasting is not None:
                lasting.append(partial(wish.lasting.keep, vote.name))
            else:
                await self.grants.give(subject, wish, asked.votes, asked.request.id)
        # Only now: what another approver refuses must not stand allowed for good.
        for keep in lasting:
            keep()
        return Permit(subject, policy(wishes), tuple(approvals), tuple(grants), before)

    async def asked_before(self, subject: Subject, wishes: Sequence[Wish]) -> tuple[Wish, ...]:
        """What people were asked about a call that was cut off, by rules and hooks of the gateway that had it, which
        may be others than those here: that has to be satisfied too."""
        if not subject.step.resumed:
            return ()
        askers, before = {it.asker for it in wishes}, dict[str, Wish]()
        for standing in await self._decisions.asked(subject.claim, subject.id):
            wish = wish_of(standing.request)
            if askers.isdisjoint((standing.request.asker, wish.asker)):
                before[standing.request.asker] = wish
        return tuple(before.values())

    async def spend(self, permit: Permit) -> None:
        """The call begins, and uses up its approvals. Raises PolicyChanged and AlreadyIntended: then it must not."""
        subject = permit.subject
        if policy((*self.wishes(subject.step, subject.call), *permit.before)) != permit.policy:
            raise PolicyChanged(RULES_CHANGED)
        if await self._files(subject.call) != subject.files:
            raise PolicyChanged(SCRIPT_CHANGED)
        for approval in permit.approvals:
            standing = await self._decisions.standing(approval.request)
            if standing is not None and standing.state == "approved" and not self.deciders.hold(standing):
                raise PolicyChanged(PEOPLE_CHANGED)
        if not all(self.deciders.enough(it, subject.step.chat, grant.voters) for it, grant in permit.grants):
            raise PolicyChanged(PEOPLE_CHANGED)
        heard = tuple(subject.step.heard.get(subject.call.id, ()))
        begun = subject.call if subject.goes_on else None
        grants = tuple(grant.id for _, grant in permit.grants)
        intent = Intent(subject.id, permit.policy, permit.approvals, grants, self.revision, heard, begun)
        await self._journal.work.intend(subject.claim, intent)

    async def _files(self, call: ToolCall) -> str:
        scripts = self._around.scripts
        return await trio.to_thread.run_sync(scripts, call) if scripts is not None else ""

    # --- a person ---

    def look_at(self, request: str) -> None:
        """One of its cards will never arrive; empty: that was none."""
        if request:
            self._waiting.look_at(request)

    async def decide(self, request: str, decision: Decision, voter: Voter) -> Outcome:
        """What somebody has pressed or typed, wherever: the first no decides, and as many yes as it takes. Whoever
        comes later, or has no say, reads what became of the request."""
        await self._waiting.void_changed(request)
        standing = await self._decisions.standing(request)
        if standing is None:
            return UNKNOWN
        stored = standing.request
        if not self.deciders.may(stored, voter):
            return not_yours(standing, self.deciders.limit(standing.request.shown.chat))
        vote = counted(stored.shown, decision, self.deciders.people, voter)
        chat = decision.said_in if vote.approved and standing.state == "open" else None
        if chat is not None and not self._reading.done(stored, vote.person, chat):
            return unread(stored.shown)
        if vote.approved and self._waiting.shows_other(stored, decision.files, SCRIPT_CHANGED):
            return Outcome(False, "void", f"Not counted: {SCRIPT_CHANGED}.")
        if vote.approved and decision.within:
            prefix = self.grants.narrowed((stored.shown.unredacted or stored.shown).call, decision.within)
            vote = replace(vote, prefix=prefix) if prefix else replace(vote, grant="once")
        return outcome(await self._waiting.vote(stored, vote))

    def told(self, stored: StoredRequest, chat: Chat) -> None:
        """All of it, to whoever has asked for that there."""
        self._reading.add(stored, self.deciders.people.known_as(requester(chat)), chat)

    async def standing(self, request: str) -> Standing | None:
        return await self._decisions.standing(request)

    async def named(self, text: str) -> tuple[str, ...]:
        """The requests that somebody may mean who types so much of an id: all that wait, else two of the rest."""
        waiting = tuple(it.id for it in await self.pending() if it.id.startswith(text))
        return waiting or await self._decisions.beginning(text)

    async def pending(self, session: str = "") -> tuple[StoredRequest, ...]:
        """What waits for people, oldest first; in one session or all."""
        return tuple(standing.request for standing in await self._decisions.pending(session))

    async def decidable(self, voter: Voter) -> tuple[Standing, ...]:
        """What waits for this very person among others."""
        return tuple(it for it in await self._decisions.pending() if self.deciders.may(it.request, voter))
