"""What people said and were asked under chaos, and what stands in their chats once it is quiet again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from hookgate.protocol.catalog import StoreFailed
from hookgate.store.journal.operators.looking import check
from hookgate.store.places import JournalPlace, open_look_at
from tests.chaos.platform import Chats, Read
from tests.crash.people import UNFINISHED, WAITING
from tests.crash.world import Effects, effects

WORDS = tuple(f" word{number}" for number in range(30))
"""Of an answer that is read while it is written."""
NOTICE = "\u2139\ufe0f "
"""Before what a hook lets people know."""
GIVEN_UP = "I broke off three times"
"""What people read of a message under which the gateway was killed too often."""
REFUSED = "the queue is full"
"""What people read at once of a message for which too many wait already."""
_ENDS = re.compile(rf"({NOTICE}dropped|done) (\d+)")


@dataclass
class Said:
    kind: str
    key: str
    chat: str
    at: float = field(default_factory=monotonic)

    @property
    def text(self) -> str:
        return f"{self.kind} {self.key}"

    @property
    def call(self) -> str:
        return f"{self.kind}-{self.key}"

    @property
    def allowed(self) -> bool:
        return int(self.key) % 2 == 0

    @property
    def answer(self) -> str:
        if self.kind == "spam":
            return f"{NOTICE}dropped {self.key}"
        return f"done {self.key}" + "".join(WORDS if self.kind == "tell" else ())


@dataclass
class Books:
    """`deaths`: when a gateway was killed, or was thought dead, each from when to when. `stood`: by the id of
    each message when its chat was last seen without it, and first with it."""

    platform: Chats
    said: dict[str, Said] = field(default_factory=dict[str, Said])
    deaths: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    stood: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    _looked: float = field(default_factory=monotonic)

    def look(self) -> None:
        before, self._looked = self._looked, monotonic()
        for id_ in self.platform.standing():
            self.stood.setdefault(id_, (before, self._looked))

    def settled(self, journal: JournalPlace) -> bool:
        """Whether everything that was said has come in, to its end, and to its chat."""
        with suppress(StoreFailed), open_look_at(journal) as tables:
            accepted = tables.one("SELECT count(*) FROM messages WHERE kind = 'message'")
            return accepted == (len(self.said),) and tables.one(WAITING + UNFINISHED, 0) == (0,)
        return False

    def problems(self, journal: JournalPlace, *folders: Path) -> list[str]:
        """`folders`: of gateways."""
        with open_look_at(journal) as tables:
            damaged = check(tables).mistakes
        # What came since the last look stands there too.
        self.look()
        return [
            *self.platform.wrong,
            *damaged,
            *(problem for chat in self.platform.chats for problem in self._of_chat(chat)),
            *self._of_effects(effects(*folders)),
        ]

    def _of_chat(self, chat: str) -> Iterator[str]:
        read = self.platform.read(chat)
        texts = [it.text for it in read if it.text in self._answers or GIVEN_UP in it.text]
        at, missing, unexplained = 0, list[str](), 0
        for said in (it for it in self.said.values() if it.chat == chat):
            if said.answer not in texts:
                missing.append(said.text)
                continue
            if (found := texts.index(said.answer)) < at:
                yield f"{chat} reads the answer to {said.text} before an earlier one"
            unexplained += _unexplained(missing, texts[at:found])
            at, missing = found + 1, []
        unexplained += _unexplained(missing, texts[at:])
        if (lost := unexplained - sum(REFUSED in it.text for it in read)) > 0:
            yield f"{chat} reads no answer to {lost} messages, and no line that says why"
        for before, again in _repeated(read):
            if not self._is_excused(before, again):
                yield f"{chat} reads this again: {again}, after {before}"

    @property
    def _answers(self) -> set[str]:
        return {it.answer for it in self.said.values()}

    def _is_excused(self, before: Read, again: Read) -> bool:
        """Nobody could tell the gateway, or the one that was told has died since."""
        died = self._died(self.stood[before.id][0], self.stood[again.id][1])
        return died or (self.platform.repeats and not before.heard)

    def _died(self, since: float, until: float) -> bool:
        return any(begin <= until and since <= end for begin, end in self.deaths)

    def _of_effects(self, seen: Effects) -> Iterator[str]:
        by_call = {it.call: it for it in self.said.values()}
        for call, times in seen.ran.items():
            if times > 1:
                yield f"ran {times} times: {call}"
            if call not in seen.passed:
                yield f"the hook was passed over: {call}"
            if call.startswith("never") or (call.startswith("careful") and not by_call[call].allowed):
                yield f"nobody allowed it: {call}"
        answered = {
            (chat, it.text): it.id for chat in self.platform.chats for it in reversed(self.platform.read(chat))
        }
        for said in self.said.values():
            wanted = said.kind == "append" or (said.kind == "careful" and said.allowed)
            answer = answered.get((said.chat, said.answer))
            if wanted and answer and not seen.ran[said.call] and not self._died(said.at, self.stood[answer][1]):
                yield f"answered, and never ran: {said.text}"

    @property
    def totals(self) -> Counter[str]:
        questions = sum(it.kind == "careful" for it in self.said.values())
        again = sum(len(list(_repeated(self.platform.read(chat)))) for chat in self.platform.chats)
        counted = {"messages": len(self.said), "questions": questions, "deaths": len(self.deaths)}
        return Counter({**counted, "read again": again})


def _unexplained(missing: list[str], between: list[str]) -> int:
    """How many have no line which says that they were given up, between the answers to their neighbours."""
    return max(0, len(missing) - sum(GIVEN_UP in text for text in between))


def _repeated(read: list[Read]) -> Iterator[tuple[Read, Read]]:
    """An answer of which a part or all stands there twice."""
    last = dict[str, Read]()
    for it in read:
        found = _ENDS.match(it.text)
        if found and found[2] in last:
            yield last[found[2]], it
        if found:
            last[found[2]] = it
