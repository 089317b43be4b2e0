"""What happens in chats here, on its way to other gateways where somebody listens. Knows no channel.

Whoever begins to listen is told the running turn from its beginning. What is told is numbered for each gateway and
chat, so that whoever misses something knows; the journal has all that was said.
"""

from __future__ import annotations

from dataclasses import field

import trio

from hookgate.channels.live.items import Item, begins, ends, packed
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import ApprovalDecided, ApprovalRequested
from hookgate.protocol.journal.cluster import LIVE, WATCH, Cluster, Note

TELL_S = 0.03
"""What happens within this goes together."""
RENEW_S, KEPT_S = 5.0, 20.0
"""How often somebody who listens says so again; how long that counts."""
MOST_ITEMS = 20_000
"""Of a turn that is kept for who comes in the middle; one that is longer is read when it has ended."""


@dataclass
class _Watcher:
    """`told`: how many notes it was sent."""

    until: float
    told: int = 0
    due: list[Item] = field(default_factory=list[Item])


class Telling:
    """`kept`: the channels whose turns are kept from their beginning."""

    def __init__(self, cluster: Cluster, kept: frozenset[str]) -> None:
        self._cluster, self._kept = cluster, kept
        self._turns: dict[str, list[Item]] = {}
        self._watchers: dict[str, dict[str, _Watcher]] = {}
        self._due: dict[tuple[str, str], _Watcher] = {}
        self._stirred = trio.Event()
        cluster.hear(WATCH, self._watched)

    def tell(self, session: str, item: Item) -> None:
        """It has happened there."""
        if len(self._cluster.members) > 1 or session in self._watchers or session in self._turns:
            self._keep(session, item)
        for by, watcher in self._watchers.get(session, {}).items():
            watcher.due.append(item)
            self._stir(by, session, watcher)
        if isinstance(item, Event) and isinstance(item.payload, ApprovalRequested | ApprovalDecided):
            self._tell_others(session, item)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._stirred.wait()
            await trio.sleep(TELL_S)
            self._stirred = trio.Event()
            due, self._due = self._due, {}
            for (by, session), watcher in due.items():
                self._send(by, session, watcher)
            self._let_go()

    def _keep(self, session: str, item: Item) -> None:
        if begins(item) and session.partition(":")[0] in self._kept:
            self._turns[session] = []
        if (turn := self._turns.get(session)) is not None:
            turn.append(item)
        if turn is not None and (ends(item) or len(turn) > MOST_ITEMS):
            del self._turns[session]

    def _tell_others(self, session: str, item: Event) -> None:
        """Whoever may decide it has any chat open, at any gateway."""
        watchers = self._watchers.get(session, {})
        for member in self._cluster.members:
            if member.id != self._cluster.me and member.id not in watchers:
                self._cluster.tell(Note(LIVE, session, {"by": self._cluster.me, "items": packed([item])}), member.id)

    # --- who listens --------------------------------------------------------------------------------------------

    def _watched(self, note: Note) -> None:
        by, how, now = note.body["by"], note.body["how"], trio.current_time()
        if how == "leaves":
            self._watchers.get(note.session, {}).pop(by, None)
            return
        watchers = self._watchers.setdefault(note.session, {})
        # Of one who stays nobody may have heard that they came.
        comes = how == "comes" or by not in watchers
        watcher = watchers.setdefault(by, _Watcher(now))
        watcher.until = now + KEPT_S
        if comes:
            watcher.told, watcher.due = 0, list(self._turns.get(note.session, ()))
        if watcher.due or watcher.told:
            self._stir(by, note.session, watcher)

    def _stir(self, by: str, session: str, watcher: _Watcher) -> None:
        self._due[by, session] = watcher
        self._stirred.set()

    def _send(self, by: str, session: str, watcher: _Watcher) -> None:
        """Without items it says what should have been heard by now."""
        items, watcher.due = watcher.due, []
        body = {"by": self._cluster.me, "at": f"{watcher.told}", "items": packed(items)}
        watcher.told += bool(items)
        self._cluster.tell(Note(LIVE, session, body), by)

    def _let_go(self) -> None:
        now = trio.current_time()
        for session, watchers in tuple(self._watchers.items()):
            for by in [by for by, it in watchers.items() if it.until < now]:
                del watchers[by]
            if not watchers:
                del self._watchers[session]
