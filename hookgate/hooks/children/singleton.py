"""A hook that exactly one gateway of several runs, by a lease: here its process, elsewhere the way to it.

Events of other gateways are brought to it by notes: in order, at most once; what is lost on the way is counted. Where
its gateway drains, or is gone, another one starts it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING

import structlog
import trio

from hookgate.processes.rounds import Rounds
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.event import Event
from hookgate.protocol.hook.answers import Answer, Failed
from hookgate.protocol.hook.hello import Hello
from hookgate.protocol.hook.match import Observed
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.journal.cluster import EVENT, Cluster, Note, drains, name_of

if TYPE_CHECKING:
    from hookgate.hooks.children.supervise import Late, Live, Startable

log = structlog.get_logger("hookgate.hooks")

MOVED = "it runs on another gateway now"
LOOK_S = 1.0
"""How often a gateway looks whether it may have it, or may have it no longer."""


@dataclass(frozen=True)
class _Brought:
    """An event of another gateway, as it goes to the process."""

    hook_event: bytes
    runtime_event: bytes


class Here:
    """Its process, on this gateway. `events_dropped`: what was lost on the way to it, too."""

    def __init__(self, live: Live) -> None:
        self._live, self._last, self._lost = live, dict[str, int](), 0
        self.ended, self.end_reason = trio.Event(), ""

    @property
    def name(self) -> str:
        return self._live.name

    @property
    def declared(self) -> Hello:
        return self._live.declared

    @property
    def pid(self) -> int | None:
        return self._live.pid

    @property
    def events_dropped(self) -> int:
        return self._live.events_dropped + self._lost

    @property
    def last_words(self) -> tuple[str, ...]:
        return self._live.last_words

    async def drained(self) -> None:
        await self._live.drained()

    async def ask(self, question: Question, timeout_s: float) -> Answer:
        return await self._live.ask(question, timeout_s)

    def notify(self, event: Event) -> None:
        self._live.notify(event)

    def end(self, why: str) -> None:
        if not self.ended.is_set():
            self.end_reason = why
            self.ended.set()

    async def follow(self) -> None:
        """It ends with the process."""
        await self._live.ended.wait()
        self.end(self._live.end_reason)

    def bring(self, body: Mapping[str, str]) -> None:
        """What another gateway has seen; what comes late is not brought any more."""
        by, number = body["by"], int(body["number"])
        last = self._last.get(by, number - 1)
        if number <= last:
            return
        self._last[by], self._lost = number, self._lost + number - last - 1
        if self.declared.events is None or Observed(self.declared.events).covers(body["kind"], body["runtime"]):
            brought = _Brought(body["hook_event"].encode(), body["runtime_event"].encode())
            self._live.notify(brought)  # type: ignore[arg-type]


class Elsewhere:
    """The way to its process on another gateway; `holder` empty: none has it just now."""

    declared, pid, last_words = Hello(), None, ()

    def __init__(self, name: str, cluster: Cluster, holder: str) -> None:
        self.name, self._cluster, self.holder = name, cluster, holder
        self._number, self.events_dropped = 0, 0
        self.ended, self.end_reason = trio.Event(), MOVED

    @property
    def place(self) -> str:
        return f"it runs at {name_of(self._cluster, self.holder)}" if self.holder else "it runs nowhere just now"

    async def drained(self) -> None:
        await trio.lowlevel.checkpoint()

    async def ask(self, question: Question, timeout_s: float) -> Answer:
        await trio.lowlevel.checkpoint()
        return Failed(self.place)

    def notify(self, event: Event) -> None:
        if not self.holder:
            self.events_dropped += 1
            return
        self._number += 1
        payload, by, number = event.payload, self._cluster.me, str(self._number)
        body = {"by": by, "number": number, "kind": payload.kind, "runtime": payload.runtime}
        forms = {"hook_event": event.hook_event.decode(), "runtime_event": event.runtime_event.decode()}
        self._cluster.tell(Note(EVENT, self.name, {**body, **forms}), self.holder)


class Singletons:
    """Those of one gateway."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._here: dict[str, Here] = {}
        cluster.hear(EVENT, self._bring)

    def _bring(self, note: Note) -> None:
        if (here := self._here.get(note.session)) is not None:
            here.bring(note.body)

    @asynccontextmanager
    async def open(self, spec: Startable, rounds: Rounds, late: Late) -> AsyncGenerator[Here | Elsewhere]:
        """Raises HelloFailed, and then another gateway may try."""
        name, lease = spec.hook_name, f"hook {spec.hook_name}"
        holder = await self._holder(lease)
        if holder != self.cluster.me:
            elsewhere = Elsewhere(name, self.cluster, holder)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._until_free, lease, elsewhere)
                yield elsewhere
                nursery.cancel_scope.cancel()
            return
        try:
            async with spec.open(rounds, late) as live, trio.open_nursery() as nursery:
                here = self._here[name] = Here(live)
                nursery.start_soon(here.follow)
                nursery.start_soon(self._until_lost, here)
                yield here
                nursery.cancel_scope.cancel()
        finally:
            self._here.pop(name, None)
            with trio.CancelScope(shield=True), suppress(StoreFailed):
                await self.cluster.give(lease)

    async def _holder(self, lease: str) -> str:
        """This one, if it may have it; empty: that is not known, or nobody."""
        try:
            if not drains(self.cluster) and await self.cluster.take(lease):
                return self.cluster.me
            holder = await self.cluster.holder(lease)
        except StoreFailed:
            return ""
        return "" if holder == self.cluster.me else holder

    async def _until_free(self, lease: str, elsewhere: Elsewhere) -> None:
        while True:
            await trio.sleep(LOOK_S)
            try:
                holder = await self.cluster.holder(lease)
            except StoreFailed:
                continue
            if holder != elsewhere.holder or not (holder or drains(self.cluster)):
                break
        elsewhere.ended.set()

    async def _until_lost(self, here: Here) -> None:
        with self.cluster.present():
            while True:
                await trio.sleep(LOOK_S)
                if drains(self.cluster):
                    break
        here.end(MOVED)


@dataclass(frozen=True)
class Singleton:
    """A Startable, that one gateway starts."""

    spec: Startable
    singletons: Singletons

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def hook_name(self) -> str:
        return self.spec.hook_name

    @property
    def command(self) -> tuple[str, ...]:
        return self.spec.command

    @property
    def directory(self) -> str:
        return self.spec.directory

    @property
    def environment(self) -> Mapping[str, str]:
        return self.spec.environment

    def resting(self, last: Hello | None) -> Hello:
        return self.spec.resting(last)

    def guards(self, stage: Stage) -> bool:
        return self.spec.guards(stage)

    def open(self, rounds: Rounds, late: Late) -> AbstractAsyncContextManager[Here | Elsewhere]:
        return self.singletons.open(self.spec, rounds, late)
