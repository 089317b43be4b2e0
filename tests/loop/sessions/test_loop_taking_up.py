"""What is stored and nobody works on: left by a crash, by a drain, by a store that failed for a while."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from structlog.testing import capture_logs

from hookgate.loop.commands.table import Command, Invocation, Outcome
from hookgate.loop.sessions import taking_up
from hookgate.loop.sessions.jobs import Prompt
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Inbound
from hookgate.protocol.hook.answers import CONTINUE, Answer
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.journal.values import Claim, Intent
from hookgate.protocol.values import ToolCall
from hookgate.store.journal import StoredJournal, open_journal
from hookgate.store.memory import MemoryJournal
from hookgate.store.memory.work import Work
from tests.loop.recording import CHAT, OTHER, Bench, FunctionTool, asks_for, hook, says

MakeBench = Callable[..., Bench]
LARGE = "x" * 300_000


async def limit(journal: StoredJournal, pages: int) -> None:
    """The disk has no more room than that, and what is there already."""
    await journal.work._engine.write(lambda tables: tables.run(f"PRAGMA max_page_count = {pages}"))


async def until(happened: Callable[[], bool]) -> None:
    while not happened():
        await trio.sleep(0.01)


async def test_what_a_full_disk_left_unfinished_is_answered_as_soon_as_there_is_room(
    bench: MakeBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking_up, "FIRST_S", 0.01)
    monkeypatch.setattr(taking_up, "LONGEST_S", 0.05)

    full: list[bool] = []

    async def fill(_question: Question) -> Answer:
        if not full:
            full.append(True)
            await limit(journal, 1)
        return CONTINUE

    async with open_journal(tmp_path / "journal.db") as journal:
        judge = hook("judge", {Stage.AFTER_LLM: fill})
        made = bench(*[says(LARGE)] * 99, hooks=[judge], journal=journal)
        with capture_logs() as logged:
            async with made.opened():
                await made.say("first")
                # It fails again while the disk is full, and nobody waits in its place.
                await until(lambda: [it["event"] for it in logged].count("store_failed") > 1)
                assert made.lines == []
                await limit(journal, 1 << 30)
                await until(lambda: made.lines == [LARGE])
                await made.say("second", OTHER)
                await made.idle(OTHER)
                assert made.lines == [LARGE] * 2
        assert await journal.intake.unfinished() == ()
        assert {it["event"] for it in logged} <= {"store_failed", "store_fails_still"}


class Refusing(Work):
    """A store that does not take the first intent, and all else."""

    def __init__(self, journal: MemoryJournal) -> None:
        super().__init__(journal._tables)
        self.refuses, self.waits = True, trio.Event()

    async def intend(self, claim: Claim, intent: Intent) -> None:
        await self.waits.wait()
        if self.refuses:
            self.refuses = False
            raise StoreFailed("the disk is full")
        await super().intend(claim, intent)


async def test_what_waits_behind_a_turn_that_the_store_has_cut_off_waits_until_that_has_ended(
    bench: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking_up, "FIRST_S", 1e-3)
    journal = MemoryJournal()
    journal.work = work = Refusing(journal)
    ran: list[str] = []

    async def run(call: ToolCall) -> str:
        ran.append(call.name)
        return "worked"

    made = bench(asks_for("t"), says("first"), says("second"), tools=[FunctionTool("t", run)], journal=journal)
    with capture_logs() as logged:
        async with made.opened():
            await made.say("one")
            await made.say("two")
            work.waits.set()
            await until(lambda: len(made.lines) == 2)
            await made.idle()
            assert [it.content for it in made.messages() if it.role == "user"] == ["one", "two"]
    assert (made.lines, ran) == (["first", "second"], ["t"])
    assert [it["event"] for it in logged] == ["store_failed"]


async def test_what_comes_during_a_drain_is_stored_and_answered_after_the_next_start(
    bench: MakeBench, tmp_path: Path
) -> None:
    async with open_journal(tmp_path / "journal.db") as journal:
        made = bench(says("never"), journal=journal)
        async with made.opened():
            await made.gateway.drain()
            accepted = await made.gateway.receive(Inbound(CHAT, "late", message_id="1"))
            assert (accepted.known, made.lines) == (False, [])
            with pytest.raises(StoreFailed, match="stopping"):
                await made.gateway.receive(Inbound(CHAT, "/help"))
            await made.gateway.receive(Inbound(OTHER, "/stop"))
        assert made.provider.requests == []
    async with open_journal(tmp_path / "journal.db") as journal:
        made = bench(says("now"), journal=journal)
        async with made.opened():
            assert (await made.gateway.receive(Inbound(CHAT, "late", message_id="1"))).known
            await made.idle()
        assert [it.text for it in made.room.sent if it.chat == CHAT] == ["now"]


async def test_a_journal_that_does_not_outlive_the_process_takes_nothing_in_during_a_drain(bench: MakeBench) -> None:
    made = bench(says("never"))
    async with made.opened():
        await made.gateway.drain()
        with pytest.raises(StoreFailed, match="stopping"):
            await made.gateway.receive(Inbound(CHAT, "late"))


async def test_a_prompt_that_a_command_led_to_is_taken_up_after_a_crash(bench: MakeBench, tmp_path: Path) -> None:
    async def asks(invocation: Invocation) -> Outcome:
        return Prompt(Inbound(invocation.inbound.chat, "what is new?"))

    row = Command("news", "asks for news", asks)
    async with open_journal(tmp_path / "journal.db") as journal:
        judge = hook("judge", {Stage.BEFORE_LLM: _never})
        made = bench(says("never"), hooks=[judge], journal=journal)
        made.gateway.commands.add([row])
        async with made.opened():
            await made.say("/news")
    async with open_journal(tmp_path / "journal.db") as journal:
        made = bench(says("Nothing."), journal=journal)
        made.gateway.commands.add([row])
        async with made.opened():
            await made.idle()
            await until(lambda: made.lines != [])
        # Nobody is asked to say it again.
        assert made.lines == ["Nothing."]
        assert [it.content for it in made.provider.requests[0].messages] == ["what is new?"]


async def _never(_question: Question) -> Answer:
    await trio.sleep_forever()
    return CONTINUE
