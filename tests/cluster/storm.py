"""Three gateways on one database while people talk: what can happen to gateways, to their way to the database and to
the database itself. Prints nothing; the books say what does not hold."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from time import monotonic

import trio

from hookgate.store.places import Database
from tests.chaos.books import Books
from tests.chaos.people import RULE, STAGES, People, model_says
from tests.chaos.platform import Chats
from tests.chaos.platforms import PLATFORMS
from tests.chaos.webhooks import open_webhooks
from tests.cluster.books import problems
from tests.cluster.gateways import Gateway, TakeOver, Watch
from tests.cluster.namespaces import Net, as_seen_from, open_namespace, relayed
from tests.crash.world import furnish
from tests.forwarding import open_way
from tests.model_server import open_model_server
from tests.postgres import postgres, standby

NAMES = ("one", "two", "three")
CLOCKS_S = (-150.0, 0.0, 150.0)
"""Five minutes apart; what is signed may be as old as that."""
KINDS = ("say", "say", "append", "append", "careful", "never", "spam", "tell")
WEBHOOKS = "webhooks"
LOOK_S = 0.3
TURNS = 16
"""At once in a gateway: one has to do what three did, and what waits for a place there is taken over all the same."""
PATIENCE_S = 300.0
FAULTS = (
    *("killed", "killed with its guardian", "paused", "cut off silently", "cut off", "cut off, and told"),
    *("drained", "database stopped", "database crashed", "failed over"),
)
OF_NAMESPACES = ("unplugged",)
"""What can happen only to a gateway that has one."""


@dataclass
class Storm:
    """`sessions`: so many people. `talk_s`: between two messages, all in all. `namespaces`: each gateway has one of
    its own. `on`: where they talk, one of the chat platforms, or by webhooks. `taken_over`: after each kill.
    `away`: the database, each time from when to when; the last may go on."""

    folder: Path
    chance: Random
    sessions: int
    lease_s: float
    talk_s: float
    namespaces: bool = False
    on: str = WEBHOOKS
    seen: list[str] = field(default_factory=list[str])
    taken_over: list[TakeOver] = field(default_factory=list[TakeOver])
    away: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    _one_database: trio.Lock = field(default_factory=trio.Lock)
    """Held by whatever happens to it: one thing after the other."""

    async def blow(self, rounds: AsyncGenerator[Sequence[str]]) -> list[str]:
        """What does not hold. The faults of a round come at once."""
        with ExitStack() as self._servers:
            self._server = await trio.to_thread.run_sync(self._servers.enter_context, postgres("wal_level = replica"))
            address = await trio.to_thread.run_sync(self._server.database)
            self._name = address.rpartition("/")[2]
            async with AsyncExitStack() as stack:
                await self._open(stack)
                async with trio.open_nursery() as talking:
                    talking.start_soon(self.people.talk)
                    await self._begun()
                    async for names in rounds:
                        await self._together(names)
                    talking.cancel_scope.cancel()
                await self._come_to_rest()
            return await trio.to_thread.run_sync(self._problems)

    @property
    def database(self) -> Database:
        return Database(self._server.address(self._name), self.folder / "journal")

    def _ask(self, sql: str) -> str:
        return self._server.sql(sql, self.database.address)

    def _problems(self) -> list[str]:
        found = problems(self.books, self.platform, self.gateways, self.database, self.away)
        if found:
            (self.folder / "journal.sql").write_text(self._server.dump(self.database.address))
            (self.folder / "told").write_text("\n".join(map(str, self.platform.record())))
        return found

    # --- what there is ---

    async def _open(self, stack: AsyncExitStack) -> None:
        self.platform: Chats = await stack.enter_async_context(self._open_platform())
        self.books = Books(self.platform)
        self.people = People(self.platform, self.books, self.chance, KINDS, self.talk_s)
        model = await stack.enter_async_context(open_model_server(otherwise=model_says))
        self.gateways = [
            await self._gateway(stack, name, model.base_url, ahead_s)
            for name, ahead_s in zip(NAMES, CLOCKS_S, strict=True)
        ]
        stack.push_async_callback(self._end)
        async with trio.open_nursery() as nursery:
            for it in self.gateways:
                nursery.start_soon(it.start)
        self.watch = Watch(self._ask)

    def _open_platform(self) -> AbstractAsyncContextManager[Chats]:
        if self.on != WEBHOOKS:
            return PLATFORMS[self.on](self.chance, self.sessions)
        return open_webhooks(self.chance, self.sessions, lambda: [it.address for it in self.gateways])

    async def _gateway(self, stack: AsyncExitStack, name: str, model: str, ahead_s: float) -> Gateway:
        net = await stack.enter_async_context(open_namespace()) if self.namespaces else Net()
        way = await stack.enter_async_context(open_way(self._server.port, net.ours))
        store = f'url = "postgresql://tests@{net.ours}:{way.port}/{self._name}"'
        config = furnish(self.folder / name, model, self.platform.sections + RULE, *STAGES, store=store, turns=TURNS)
        # What a platform numbers is good only where that has one address: as it is in the world.
        told = self.platform.sections + self.platform.socket
        config.write_text(await as_seen_from(net, config.read_text(), told, stack))
        await relayed(net, told, stack)
        return Gateway(config, way, net, ahead_s, self.lease_s, self.platform.variables)

    async def _end(self) -> None:
        with trio.CancelScope(shield=True):
            for it in self.gateways:
                await it.end()

    async def _begun(self) -> None:
        """Until a message is stored: before that Slack has no place from which what was missed is asked for."""
        with trio.fail_after(PATIENCE_S):
            while not int(await trio.to_thread.run_sync(self._ask, "SELECT count(*) FROM hookgate.messages")):
                await trio.sleep(LOOK_S)

    async def _come_to_rest(self) -> None:
        with trio.move_on_after(PATIENCE_S):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.people.press)
                while not await trio.to_thread.run_sync(self.books.settled, self.database):
                    await trio.sleep(LOOK_S)
                nursery.cancel_scope.cancel()
        for it in self.gateways:
            if (status := await it.drain()) != 0:
                self.platform.wrong.append(f"{it.name} ended with status {status}")

    # --- what happens ---

    async def _together(self, names: Sequence[str]) -> None:
        victims = self.chance.sample(self.gateways, len(self.gateways))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.people.press)
            async with trio.open_nursery() as round_:
                for name in names:
                    self.seen.append(name)
                    round_.start_soon(self._fault(name, victims, names))
            nursery.cancel_scope.cancel()

    def _fault(self, name: str, victims: list[Gateway], names: Sequence[str]) -> Callable[[], Awaitable[None]]:
        match name:
            case "database stopped":
                return partial(self._restart, "fast")
            case "database crashed":
                return partial(self._restart, "immediate")
            case "failed over":
                return self._failed_over
            case "killed" | "killed with its guardian":
                return partial(self._kill, victims.pop(), names, guardian=name != "killed")
            case "paused":
                return partial(victims.pop().pause, 1.5 * self.lease_s)
            case "cut off silently":
                return partial(self._silence, victims.pop())
            case "cut off" | "cut off, and told":
                return partial(self._cut, victims.pop(), told=name != "cut off")
            case "unplugged":
                return partial(self._unplug, victims.pop())
            case "drained":
                return partial(self._drain, victims.pop())
            case _:
                raise AssertionError(name)

    async def _kill(self, victim: Gateway, names: Sequence[str], *, guardian: bool) -> None:
        had = list[str]()
        with trio.move_on_after(2 * self.lease_s):
            # In the middle of something.
            while not had:
                had = await self.watch.held_by(victim.pids)
        killed = monotonic()
        await victim.kill(guardian=guardian)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._see_it_taken_over, victim.name, had, killed, names)
            await trio.sleep(self.chance.random() * self.lease_s)
            await victim.start()

    async def _see_it_taken_over(self, name: str, had: list[str], killed: float, faults: Sequence[str]) -> None:
        over = await self.watch.taken_over(had)
        back = max((end for begin, end in self.away if begin <= over and killed <= end), default=killed)
        self.taken_over.append(TakeOver(name, len(had), over - killed, over - min(back, over), " + ".join(faults)))

    async def _silence(self, victim: Gateway) -> None:
        victim.trouble()
        victim.way.silence()
        await trio.sleep(1.5 * self.lease_s)
        victim.way.reopen()
        victim.relieve()

    async def _unplug(self, victim: Gateway) -> None:
        """For longer than the lease."""
        async with victim.unplugged():
            await self.watch.buried(victim.pids)

    async def _cut(self, victim: Gateway, *, told: bool) -> None:
        for _ in range(5):
            await victim.way.cut(told=told)
            await trio.sleep(self.chance.random() * self.lease_s / 5)

    async def _drain(self, victim: Gateway) -> None:
        if (status := await victim.drain()) != 0:
            self.platform.wrong.append(f"{victim.name} drained with status {status}")
        await victim.start()

    async def _restart(self, how: str) -> None:
        async with self._one_database:
            with self._away():
                await trio.to_thread.run_sync(self._server.stop, how)
                await trio.sleep(self.chance.random())
                await trio.to_thread.run_sync(self._server.start)

    async def _failed_over(self) -> None:
        async with self._one_database:
            await self._fail_over()

    async def _fail_over(self) -> None:
        """The machine of the database is gone in the middle of what it does; another one has followed it."""
        follower = await trio.to_thread.run_sync(self._servers.enter_context, standby(self._server))
        await trio.sleep(self.chance.random() * self.lease_s)
        with self._away():
            for it in self.gateways:
                it.way.silence()
            await trio.to_thread.run_sync(self._server.stop, "immediate")
            await trio.to_thread.run_sync(follower.promote)
            self._server = follower
            for it in self.gateways:
                it.way.target = self._server.port
                await it.way.cut()
                it.way.reopen()

    @contextmanager
    def _away(self) -> Generator[None]:
        """The database, for whoever has a receipt to store, or something to take over."""
        self.away.append((monotonic(), float("inf")))
        yield
        self.away[-1] = self.away[-1][0], monotonic()
