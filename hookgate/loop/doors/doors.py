"""The doors of all channels: each message is let in or turned away, and whoever is turned away is told, seldom.

Knows no channel and stores nothing: what is turned away is the gateway's to settle.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

import structlog
import trio

from hookgate.approvals.people import People, requester
from hookgate.loop.doors.door import Door, Quota, is_listed, judge
from hookgate.processes.rates import Rate
from hookgate.protocol.approval import Voter
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Inbound
from hookgate.protocol.dataclasses import dataclass

log = structlog.get_logger("hookgate.doors")

STRANGER = "You are not on the list of those who may talk to me. Whoever runs me can put you there."
TOO_OFTEN = "That was too much at once: I do not read on for now. Please send this again in a while."
SHUT_OUT = "whoever sent it may not talk here any more"
STRANGE = "a stranger"
TOLD_S = 1200.0
"""A stranger is told once in so long, however often they write."""
KEPT_AT_ONCE, KEPT_EVERY_S = 60, 1.0
"""Of the messages of strangers, by channel; more are not even stored: nobody fills a disk from outside."""


@dataclass(frozen=True, slots=True)
class Turned:
    """A message that does not come in. `why`: for the books; empty: it was not meant for the bot, or is one of too
    many of strangers, and is in no book. `tell`: one line for its chat; empty: none. `pairs`: whom that line may give
    a code besides."""

    why: str = ""
    tell: str = ""
    pairs: Voter | None = None


ASIDE = Turned()


@dataclass
class Judged:
    """`turned` None: it comes in. `counts` False: it is as if it had not come, and costs its sender nothing."""

    turned: Turned | None
    counts: bool = True


class Doors:
    """A channel without a door is the program's own, and open. `clock`: seconds that never go back."""

    def __init__(self, clock: Callable[[], float] = trio.current_time) -> None:
        self._clock = clock
        self._doors: Mapping[str, Door] = {}
        self.people = People()
        self.changed: list[Callable[[], None]] = []
        """Called when somebody may be a stranger who was none before."""
        self._quotas: dict[str, tuple[Quota, Rate, Rate]] = {}
        self._told = Rate(1, TOLD_S, clock)
        self._kept, self._warned = Rate(KEPT_AT_ONCE, KEPT_EVERY_S, clock), Rate(1, 60.0, clock)

    def adopt(self, doors: Mapping[str, Door], people: People) -> None:
        """Whoever comes from now on is judged by these."""
        self._doors = doors
        self.know(people)

    def know(self, people: People) -> None:
        """As `adopt`, with the doors as they are."""
        self.people = people
        for shut_out in self.changed:
            shut_out()

    def lists(self, voter: Voter) -> bool:
        """Whether this one may come in at all."""
        door = self._doors.get(voter.channel)
        return door is None or is_listed(door, self.people, voter)

    def shuts_out(self, inbound: Inbound) -> bool:
        """Whether somebody whose message was taken in before is a stranger by now."""
        door = self._doors.get(inbound.chat.channel)
        return door is not None and judge(door, self.people, inbound, commands=True) == "stranger"

    def hears(self, inbound: Inbound) -> bool:
        """Whether it would come in now, if it is no command: for whoever would have to fetch its files first."""
        door, sender = self._doors.get(inbound.chat.channel), requester(inbound.chat)
        if door is None:
            return True
        wait = self._paces(door.quota, sender)[0].wait(sender.id) if door.quota else 0
        return not wait and judge(door, self.people, inbound) == "in"

    @contextmanager
    def judging(self, inbound: Inbound, *, commands: bool, counts: bool) -> Generator[Judged]:
        """While it is stored, which may fail. `commands`: it is one of our commands; `counts`: against the sender's
        quota."""
        judged = Judged(self._turn_away(inbound, commands=commands, counts=counts))
        try:
            yield judged
        except StoreFailed:
            judged.counts = False
            raise
        finally:
            if not judged.counts:
                self._give_back(inbound, judged.turned, counts=counts)

    def _turn_away(self, inbound: Inbound, *, commands: bool, counts: bool) -> Turned | None:
        door = self._doors.get(inbound.chat.channel)
        if door is None:
            return None
        match judge(door, self.people, inbound, commands=commands):
            case "aside":
                return ASIDE
            case "stranger":
                return self._strange(inbound, pairing=door.pairing)
            case "in":
                return self._excess(door.quota, requester(inbound.chat)) if counts and door.quota else None

    def _give_back(self, inbound: Inbound, turned: Turned | None, *, counts: bool) -> None:
        door, sender = self._doors.get(inbound.chat.channel), requester(inbound.chat)
        if door is None or turned is ASIDE:
            return
        if turned is not None and turned.why == STRANGE:
            self._kept.give_back(sender.channel)
            if turned.tell:
                self._told.give_back(str(sender))
        elif door.quota and (counts or turned is not None):
            pace, told = self._paces(door.quota, sender)
            if turned is None:
                pace.give_back(sender.id)
            elif turned.tell:
                told.give_back(sender.id)

    def _strange(self, inbound: Inbound, *, pairing: bool) -> Turned:
        chat = inbound.chat
        if self._kept.take(chat.channel):
            if not self._warned.take(chat.channel):
                log.warning("strangers_not_stored", channel=chat.channel)
            return ASIDE
        # Those who share a group with a stranger need not read it each time one of them tries.
        tells = chat.chat_type == "direct" and not self._told.take(str(requester(chat)))
        return Turned(STRANGE, STRANGER if tells else "", requester(chat) if tells and pairing else None)

    def _excess(self, quota: Quota, sender: Voter) -> Turned | None:
        pace, told = self._paces(quota, sender)
        if not pace.take(sender.id):
            return None
        return Turned("too many messages", "" if told.take(sender.id) else TOO_OFTEN)

    def _paces(self, quota: Quota, sender: Voter) -> tuple[Rate, Rate]:
        """Of what is heard from one person there, and of what they are told of that."""
        known = self._quotas.get(sender.channel)
        if known is None or known[0] != quota:
            pace = Rate(quota.most, quota.window_s / quota.most, self._clock)
            known = self._quotas[sender.channel] = (quota, pace, Rate(1, quota.window_s, self._clock))
        return known[1:]
