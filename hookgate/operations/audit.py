"""The audit chain of a running gateway: how far it is signed, and whether it is what was written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import time

import trio

from hookgate.store.journal.audit.anchors import State, anchor_file, checkpoints, verify
from hookgate.store.journal.operators.looking import open_look


@dataclass(frozen=True)
class Verified:
    """As `hookgate audit verify` says it; `at`: when, in seconds of the wall clock."""

    state: State
    records: int
    anchored: int
    why: str
    at: float


@dataclass(frozen=True)
class AuditState:
    """`checkpoint`: the last record that the last one covers, 0: there is none; `checkpoint_at`: when its file was
    written. `verdict` None: nobody has asked this gateway for one."""

    records: int
    checkpoint: int
    checkpoint_at: float
    verdict: Verified | None


class Auditing:
    """Of the journal in this file. One at a time reads it all."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._one = trio.CapacityLimiter(1)
        self._verdict: Verified | None = None

    async def state(self) -> AuditState:
        return await trio.to_thread.run_sync(self._state)

    async def verify(self) -> Verified:
        """The whole chain, as long as that takes. Raises StoreFailed."""
        self._verdict = await trio.to_thread.run_sync(self._verify, limiter=self._one)
        return self._verdict

    def _state(self) -> AuditState:
        with open_look(self._journal) as tables:
            [records] = tables.one("SELECT max(number) FROM audit") or (0,)
        last = checkpoints(self._journal)
        at = anchor_file(self._journal).stat().st_mtime if last else 0.0
        return AuditState(records or 0, int(str(last[-1]["n"])) if last else 0, at, self._verdict)

    def _verify(self) -> Verified:
        with open_look(self._journal) as tables:
            its = verify(self._journal, tables)
        return Verified(its.state, its.records, its.anchored, its.why, time())
