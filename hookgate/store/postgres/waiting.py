"""What lets plain functions over a database wait as trio does: each runs in a greenlet, and psycopg's own generators
are driven from the task that it belongs to. Knows no statement.

Held by tests: psycopg's `Connection.wait` and `Connection._connect_gen` are what this stands on.
"""

from __future__ import annotations

import select
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import greenlet
import outcome
import trio
from psycopg import Connection, OperationalError
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.waiting import WAIT_R, WAIT_W

T = TypeVar("T")
Ask = Callable[[], Awaitable[object]]
CONNECT_S = 5.0
ANSWER_S = 25.0
"""Longer than the database lets a statement take: who is silent for so long is not there."""


async def in_greenlet(act: Callable[[], T]) -> T:
    """What `act` returns or raises. Whatever it waits for by `wait_for` is waited for here."""
    inner = greenlet.greenlet(act)
    said: Any = inner.switch()
    while not inner.dead:
        ask: Ask = said
        # What is raised here is raised where it was asked for.
        came = await outcome.acapture(ask)
        said = inner.throw(came.error) if isinstance(came, outcome.Error) else inner.switch(came.value)
    return said


def wait_for(ask: Callable[[], Awaitable[T]]) -> T:
    """Only within `in_greenlet`."""
    outer = greenlet.getcurrent().parent
    if outer is None:
        raise RuntimeError("nobody waits for this greenlet")
    return outer.switch(ask)


class WaitingConnection(Connection[Any]):
    """A connection for functions that run in a greenlet. `life`: of the server since its start or its last crash; who
    stands in for it has another one."""

    life = ""

    def wait(self, gen: Any, *_given: object, **_named: object) -> Any:  # noqa: ANN401 - of psycopg's
        return wait_for(lambda: self._answered(gen))

    async def _answered(self, generator: Any) -> Any:  # noqa: ANN401 - of psycopg's
        with trio.CancelScope(deadline=trio.current_time() + ANSWER_S):
            return await driven(generator, self.pgconn.socket)
        self.close()
        raise OperationalError(f"no answer for {ANSWER_S:g} s")

    @classmethod
    async def opened(cls, address: str) -> WaitingConnection:
        """Of several hosts the first that can be had; none keeps the others waiting for long. Raises
        psycopg.Error."""
        *firsts, last = _hosts(address)
        for first in firsts:
            with suppress(OperationalError):
                return await cls._opened(first)
        return await cls._opened(last)

    @classmethod
    async def _opened(cls, address: str) -> WaitingConnection:
        try:
            with trio.fail_after(CONNECT_S):
                connection = await _connected(cls._connect_gen(address))
        except trio.TooSlowError:
            raise OperationalError(f"no connection within {CONNECT_S:g} s") from None
        # Transactions begin and end in so many words.
        await in_greenlet(lambda: connection.set_autocommit(True))
        return connection


def _hosts(address: str) -> list[str]:
    """Of an address with several, each for itself: libpq would wait for the first as long as the system does."""
    given = conninfo_to_dict(address)
    hosts, ports = (str(given.get(it) or "").split(",") for it in ("host", "port"))
    if len(hosts) == 1:
        return [address]
    ports = ports * len(hosts) if len(ports) == 1 else ports
    return [make_conninfo(address, host=host, port=port or None) for host, port in zip(hosts, ports, strict=False)]


async def _connected(generator: Any) -> WaitingConnection:  # noqa: ANN401 - of psycopg's
    try:
        socket, wanted = next(generator)
        while True:
            ready = await _ready(socket, wanted)
            socket, wanted = generator.send(ready)
    except StopIteration as ended:
        return ended.value


async def driven(generator: Any, socket: int) -> Any:  # noqa: ANN401 - of psycopg's
    """What one of psycopg's generators returns, which is driven when its socket is ready."""
    try:
        wanted = next(generator)
        while True:
            wanted = generator.send(await _ready(socket, wanted))
    except StopIteration as ended:
        return ended.value


async def _ready(socket: int, wanted: int) -> int:
    """For reading 1, for writing 2."""
    if wanted == WAIT_R:
        await trio.lowlevel.wait_readable(socket)
        return WAIT_R
    # It nearly always is.
    if select.select((), (socket,), (), 0)[1]:
        return WAIT_W
    if wanted == WAIT_W:
        await trio.lowlevel.wait_writable(socket)
        return WAIT_W
    found = 0

    async def until(wait: Callable[[int], Awaitable[None]], kind: int) -> None:
        nonlocal found
        await wait(socket)
        found |= kind
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(until, trio.lowlevel.wait_readable, WAIT_R)
        nursery.start_soon(until, trio.lowlevel.wait_writable, WAIT_W)
    return found


async def execute(connection: WaitingConnection, statement: str) -> None:
    """One that nothing is read of. Raises psycopg.Error."""
    await in_greenlet(lambda: connection.execute(statement.encode()))
