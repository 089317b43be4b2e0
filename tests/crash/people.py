"""Those who use a gateway during one life of it, over HTTP: they write, they read along, they press buttons. Whatever
breaks off because the gateway dies is done again in its next life. Knows no promise."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import trio

from hookgate.store.journal.operators.looking import open_look
from tests.crash.books import Books, Place, Said
from tests.crash.reading import CUT, events
from tests.crash.world import BOSS, PASSWORD, THREADS, USERS, call_of

PLACES = tuple(Place(*it) for it in product(USERS, THREADS))
LOOK_S = 0.03
TWICE, LATER, AGAIN = 0.2, 0.4, 0.2
"""How often a message is sent twice at once, a button is left for the next life, an old message is sent again."""
UNFINISHED = """
    SELECT (SELECT count(*) FROM outbox WHERE state IS NULL) + (
        SELECT count(*) FROM messages WHERE inbound IS NOT NULL AND outcome IS NULL
        AND conversation NOT IN (SELECT conversation FROM waiting)
    )
"""
WAITING = """
    WITH waiting AS (
        SELECT m.conversation FROM requests r JOIN messages m ON m.number = r.message WHERE r.state = 'open' AND ? = 1
    )
"""
"""Of a call in a task it is the message that has led to that."""


@dataclass
class Cookies:
    """What a browser keeps: `last`, the id of the event that each reader got last."""

    logins: dict[str, httpx.Cookies] = field(default_factory=dict[str, httpx.Cookies])
    last: dict[tuple[Place, int], str] = field(default_factory=dict[tuple[Place, int], str])


class People:
    """`left`: requests whose buttons nobody presses in this life."""

    def __init__(self, books: Books, cookies: Cookies, chance: random.Random, *, all_is_decided: bool) -> None:
        self.books, self._cookies, self._chance, self._all = books, cookies, chance, all_is_decided
        self._clients: dict[str, httpx.AsyncClient] = {}
        self._pressed: set[str] = set()
        self._gone = trio.Event()

    @asynccontextmanager
    async def at(self, address: str) -> AsyncGenerator[None]:
        """With everybody logged in, as before where the gateway still knows it."""
        async with AsyncExitStack() as stack:
            for user in USERS:
                client = httpx.AsyncClient(base_url=address, timeout=60)
                self._clients[user] = await stack.enter_async_context(client)
                client.cookies.update(self._cookies.logins.get(user, {}))
                me = await client.get("/api/me")
                if me.status_code == 401:
                    client.cookies.clear()
                    entered = await client.post("/api/login", json={"user": user, "password": PASSWORD})
                    assert entered.status_code == 204, entered.text
                    self._cookies.logins[user] = client.cookies
                    me = await client.get("/api/me")
                client.headers["x-csrf-token"] = me.json()["csrf"]
            yield

    async def live(self, messages: Sequence[Said], journal: Path, gone: trio.Event) -> bool:
        """Until the gateway is gone, or all that was said has come to its end: then it is true. Requests that are
        left for later end nothing."""
        self._gone = gone
        async with trio.open_nursery() as nursery:
            for place in PLACES:
                nursery.start_soon(self._read, place, 0, nursery)
                nursery.start_soon(self._read_now_and_then, place, nursery)
            async with trio.open_nursery() as writing:
                for request in list(self.books.asked):
                    # Buttons of an earlier life: pressed again, whatever became of them.
                    writing.start_soon(self._press, request)
                for said in messages:
                    for _ in range(1 + (self._chance.random() < TWICE)):
                        writing.start_soon(self._write, said)
            async with trio.open_nursery() as pressing:
                rested = False
                while not gone.is_set() and not (rested := await trio.to_thread.run_sync(self._at_rest, journal)):
                    await self._look_for_questions(pressing)
                    await trio.sleep(LOOK_S)
            nursery.cancel_scope.cancel()
        return rested

    async def look(self) -> None:
        """What stands in each chat."""
        for place in PLACES:
            shown = await self._clients[place.user].get(f"/api/chats/{place.thread}")
            self.books.finally_shown(place, shown.json()["messages"])

    def _at_rest(self, journal: Path) -> bool:
        with open_look(journal) as tables:
            return tables.one(WAITING + UNFINISHED, not self._all) == (0,)

    async def _write(self, said: Said) -> None:
        path, before = f"/api/chats/{said.place.thread}/messages", said.id
        got = await self._post(said.place.user, path, {"key": said.key, "text": said.text})
        if got is not None and got.status_code == 202:
            self.books.acknowledged(said, got.json()["id"], known=got.json()["known"] or not before)
        elif got is not None and got.status_code != 503:
            self.books.faults.append(f"answered with {got.status_code} {got.text}: {said.text}")

    async def _post(self, user: str, path: str, members: dict[str, Any]) -> httpx.Response | None:
        """None: the gateway is gone. Whoever gets no answer while it is there sends the same again."""
        while not self._gone.is_set():
            with suppress(httpx.TransportError):
                return await self._clients[user].post(path, json=members)
            await trio.sleep(LOOK_S)
        return None

    # --- buttons ---

    async def _look_for_questions(self, nursery: trio.Nursery) -> None:
        with suppress(httpx.TransportError):
            for card in (await self._clients[BOSS].get("/api/approvals")).json():
                self._ask(card["id"], card["arguments"]["command"], nursery)

    def _ask(self, request: str, command: str, nursery: trio.Nursery) -> None:
        if request not in self.books.asked:
            self.books.asked[request] = call_of(command)
        if request not in self._pressed and (self._all or self._chance.random() >= LATER):
            nursery.start_soon(self._press, request)
        self._pressed.add(request)

    async def _press(self, request: str) -> None:
        """Bob presses too, and it never counts."""
        self._pressed.add(request)
        said = next(it for it in self.books.said.values() if it.call == self.books.asked[request])
        for user in reversed(USERS):
            button = {"approved": said.allowed if user == BOSS else True}
            got = await self._post(user, f"/api/approvals/{request}", button)
            if got is None:
                return
            if got.status_code != 200:
                self.books.faults.append(f"{user}'s button was answered with {got.status_code} {got.text}")
            elif user == BOSS:
                self.books.pressed(request, got.json()["state"])
            elif got.json()["counted"]:
                self.books.faults.append(f"{user} decided {request}: {got.text}")

    # --- readers ---

    async def _read_now_and_then(self, place: Place, nursery: trio.Nursery) -> None:
        """One whose connection breaks all the time, and which is told what it missed."""
        while True:
            with trio.CancelScope() as patience:
                await self._read(place, 1, nursery, patience)
            if not patience.cancelled_caught:
                return

    async def _read(
        self, place: Place, reader: int, nursery: trio.Nursery, patience: trio.CancelScope | None = None
    ) -> None:
        """Until the connection ends. `patience`: it is cut soon after it was answered, and not before: those who
        leave unanswered come back faster than a gateway on a crowded machine can take them in, and everybody waits
        behind them."""
        last, client = self._cookies.last, self._clients[place.user]
        path = f"/api/chats/{place.thread}/events"

        def answered() -> None:
            if patience is not None:
                patience.deadline = trio.current_time() + 0.01 + self._chance.random() * 0.1

        with suppress(*CUT):
            async for id_, kind, data in events(client, path, last.get((place, reader), ""), answered):
                self.books.taped(place, last.get((place, reader), ""), id_, f"{kind} {data}")
                last[place, reader] = id_
                self._take(place, kind, json.loads(data), nursery)

    def _take(self, place: Place, kind: str, data: dict[str, Any], nursery: trio.Nursery) -> None:
        match kind:
            case "message":
                self.books.shown(place, data)
            case "approval":
                self._ask(data["id"], data["arguments"]["command"], nursery)
            case "snapshot":
                for message in data["messages"]:
                    self.books.shown(place, message)
                for card in data["approvals"]:
                    self._ask(card["id"], card["arguments"]["command"], nursery)
            case _:
                pass
