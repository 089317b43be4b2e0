"""The parts of the journal in memory, over the same tables."""

from __future__ import annotations

from collections.abc import Callable
from time import time

from hookgate.protocol.dataclasses import replace
from hookgate.store.alone import Alone
from hookgate.store.memory.books import Books, Holds
from hookgate.store.memory.chats import Chats
from hookgate.store.memory.decisions import Decisions
from hookgate.store.memory.intake import Intake
from hookgate.store.memory.keys import KnownKeys
from hookgate.store.memory.people import KnownPeople
from hookgate.store.memory.posting import Posting
from hookgate.store.memory.tables import Tables
from hookgate.store.memory.work import Work


class MemoryJournal:
    """`clock`: seconds of the wall clock."""

    outlives = False

    def __init__(self, clock: Callable[[], float] = time) -> None:
        self._tables = Tables(clock)
        self.cluster = Alone()
        self.intake = Intake(self._tables)
        self.work = Work(self._tables)
        self.decisions = Decisions(self._tables)
        self.posting = Posting(self._tables)
        self.holds = Holds(self._tables)
        self.books = Books(self._tables)
        self.chats = Chats(self._tables)
        self.people = KnownPeople(self._tables)
        self.keys = KnownKeys(self._tables)

    def reopen(self) -> None:
        """As after the death of the one gateway that had it: no claim is in force any more."""
        for thread in self._tables.threads.values():
            thread.fence += 1
            if thread.claim is not None:
                thread.claim = replace(thread.claim, until=0.0)
