"""Cards of a call that waits, wherever hookgate dies: shown in both chats, decided once, all changed into that."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import cast

import pytest
import trio
from hypothesis import settings as profile

from hookgate.approvals.people import People, Person
from hookgate.approvals.requests import Approvals
from hookgate.approvals.rules import Rule
from hookgate.approvals.surroundings import Surroundings
from hookgate.loop.sessions.resume import MAY_HAVE_RUN
from hookgate.protocol.approval import Decision, Terms, Voter
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import PRESENT, ChannelLimits
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.values import LLMReply, LLMRequest, ProposedCall
from hookgate.store.journal import open_journal
from hookgate.store.memory import MemoryJournal
from tests.loop.fuse import Fuse
from tests.loop.recording import Bench, FunctionTool, Room

Open = Callable[[], AbstractAsyncContextManager[Journal]]
ANN = Voter("test", "ann")
RULE = Rule("r", approvers=("role:ops",), terms=Terms(ask_in=("test:ops",)))


class Wall:
    """A platform whose messages can be changed; `keyed`: it knows them by their keys. What outlives hookgate."""

    name = "test"
    limits = ChannelLimits(edit_s=0.001)
    state = PRESENT

    def __init__(self, keyed: bool) -> None:
        self.texts: list[str] = []
        self.cards: dict[str, tuple[Chat, str, str]] = {}
        """By receipt: where, of which request, and how it says that this stands."""
        self.journal: Journal | None = None
        self.keyed, self._numbers = keyed, count(1)

    async def send(self, outbound: Outbound, key: str) -> str:
        receipt = key if self.keyed else f"m{next(self._numbers)}"
        if outbound.request:
            await self.edit(outbound, receipt)
        elif not (self.keyed and receipt in self.texts):
            self.texts.append(outbound.text)
        await trio.lowlevel.checkpoint()
        return receipt

    async def edit(self, outbound: Outbound, receipt: str) -> None:
        assert self.journal is not None
        standing = await self.journal.decisions.standing(outbound.request)
        assert standing is not None
        self.cards[receipt] = (outbound.chat, outbound.request, standing.state)

    def stream(self, chat: Chat, text: str) -> None: ...

    def end_stream(self, chat: Chat) -> None: ...

    def restart_stream(self, chat: Chat) -> None: ...


class Model:
    async def complete(self, request: LLMRequest, on_text: Callable[[str], None]) -> LLMReply:
        await trio.lowlevel.checkpoint()
        if request.messages[-1].role == "user":
            return LLMReply(request.model, "", (ProposedCall("c", "t", "{}"),))
        return LLMReply(request.model, request.messages[-1].content)


Make = Callable[[], tuple[Wall, Open]]
MEMORY, FILE = "in memory", "in a file"
# Of the moments at which one with a file dies: `make fuzz` has all of them, as each run has in memory.
EACH = 1 if profile.default.max_examples > 100 else 4


def making(kind: str, keyed: bool, tmp_path: Path) -> Make:
    """Each call makes a platform and an empty journal, which can be opened again after its gateway's death."""
    files = (tmp_path / f"{number}.db" for number in count())

    def make() -> tuple[Wall, Open]:
        memory, file = MemoryJournal(), next(files)

        @asynccontextmanager
        async def open_() -> AsyncGenerator[Journal]:
            if kind == MEMORY:
                memory.reopen()
                yield memory
            else:
                async with open_journal(file, "process") as journal:
                    yield journal

        return Wall(keyed), open_

    return make


async def live(opened: Open, wall: Wall, tool: FunctionTool, dies_at: tuple[int, bool] | None = None) -> bool:
    """A gateway until all is done, or it dies at that call of the journal, before it or right after; whether it has
    died. Only one that is to die is told something. Ann presses whatever button she sees."""
    async with opened() as journal:
        process = trio.CancelScope()
        fuse = Fuse(journal, process.cancel)
        if dies_at is not None:
            fuse.calls_left, fuse.after = dies_at
        wall.journal = cast("Journal", fuse)
        with process:
            people = People([Person("ann", (ANN,), ("ops",))])
            around = Surroundings(lambda _payload, _step: None, channels={"test": wall})
            approvals = Approvals([RULE], cast("Journal", fuse), around, people)
            room, providers = cast("Room", wall), {"p": Model()}
            bench = Bench(tools=[tool], room=room, journal=fuse, providers=providers, approvals=approvals)
            try:
                async with bench.opened(), trio.open_nursery() as nursery:
                    nursery.start_soon(press, wall, approvals)
                    if dies_at is not None:
                        await bench.say("go")
                    while (
                        await journal.books.where("")
                        or await journal.posting.outgoing("test")
                        or any(state == "open" for _, _, state in wall.cards.values())
                    ):
                        await trio.sleep(0.002)
                    nursery.cancel_scope.cancel()
            except BaseExceptionGroup:
                # What dies says so in whatever task it had.
                if not fuse.dead:
                    raise
        return fuse.dead


async def press(wall: Wall, approvals: Approvals) -> None:
    while True:
        for receipt, (chat, request, state) in tuple(wall.cards.items()):
            if state == "open":
                assert wall.journal is not None
                await wall.journal.decisions.shown(request, chat, receipt)
                await approvals.decide(request, Decision(True, "ann"), ANN)
        await trio.sleep(0.002)


@pytest.mark.hypothesis
@pytest.mark.parametrize(
    ("kind", "keyed", "after"),
    [(MEMORY, True, False), (MEMORY, True, True), (MEMORY, False, False), (MEMORY, False, True), (FILE, False, True)],
)
async def test_a_call_is_asked_about_once_and_no_card_is_left_live(
    tmp_path: Path, kind: str, keyed: bool, after: bool
) -> None:
    make = making(kind, keyed, tmp_path)
    asked, each = 0, EACH if kind == FILE else 1
    for deaths in count(0, each):
        (wall, opened), tool = make(), FunctionTool("t")
        if not await live(opened, wall, tool, (deaths, after)):
            break
        await live(opened, wall, tool)
        told = any(MAY_HAVE_RUN in text for text in wall.texts)
        where = [chat.chat_id for chat, _, _ in wall.cards.values()]
        said = (deaths, wall.cards, wall.texts)
        assert len(tool.seen) <= 1, said
        assert {state for _, _, state in wall.cards.values()} <= {"approved", "spent"}, said
        assert len({request for _, request, _ in wall.cards.values()}) <= 1, said
        # Nothing says "go" again to whom it was not accepted.
        assert bool(wall.cards) == bool(wall.texts), said
        assert bool(wall.cards) <= ({"1", "ops"} == set(where)), said
        assert bool(tool.seen) or told or not wall.cards, said
        # Between sending and noting nobody knows which message it is, but for whoever has a key of ours.
        assert max(map(where.count, where), default=0) <= (1 if wall.keyed else 2), said
        asked += bool(wall.cards)
    assert asked > 10 / each
