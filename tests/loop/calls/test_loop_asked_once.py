"""What hooks have said about a message is not asked again where hookgate dies before the last has answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.hooks.rules import Mount
from hookgate.protocol.chat import ChatMessage
from hookgate.protocol.hook.answers import CONTINUE, Answer, Drop, Failed, Modify
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.journal.interfaces import Journal
from hookgate.store.journal import open_journal
from tests.loop.recording import Bench, hook, says

MEDIA = "data:image/png;base64,AA=="
ON, BEFORE = Stage.ON_MESSAGE, Stage.BEFORE_SEND


class Chain:
    """Two hooks at a stage: `asked` in this order; `dies` is what becomes of the process when the second is."""

    def __init__(self, stage: Stage, answer: Answer, **rules: Any) -> None:
        self.stage, self.answer, self.rules = stage, answer, rules
        self.asked: list[str] = []
        self.heard: list[tuple[str, ...]] = []
        self.dies: trio.CancelScope | None = None

    @property
    def mounts(self) -> tuple[Mount, Mount]:
        first = hook("a", {self.stage: self._first}, **self.rules)
        return first, hook("b", {self.stage: self._second})

    async def _first(self, _question: Question) -> Answer:
        self.asked.append("a")
        await trio.lowlevel.checkpoint()
        return self.answer

    async def _second(self, question: Question) -> Answer:
        self.asked.append("b")
        assert isinstance(question.subject, ChatMessage)
        self.heard.append((question.subject.text, *question.subject.media))
        if self.dies is not None:
            self.dies.cancel()
        await trio.lowlevel.checkpoint()
        return CONTINUE


async def die(file: Path, chain: Chain) -> None:
    """A message comes, and the process dies while the second hook is asked."""
    async with open_journal(file) as journal:
        chain.dies = trio.CancelScope()
        with chain.dies:
            async with Bench(says("hello"), hooks=chain.mounts, journal=journal).opened() as bench:
                await bench.say("hi")
                await trio.sleep_forever()
    chain.dies = None


async def go_on(journal: Journal, chain: Chain) -> list[str]:
    """What the chat reads after the next start."""
    async with Bench(says("hello"), hooks=chain.mounts, journal=journal).opened() as bench:
        # What is stored is on its way a moment later.
        while await journal.books.where("") or not bench.lines:
            await trio.sleep(0.002)
        await bench.gateway.delivery.idle()
        return bench.lines


@pytest.mark.parametrize(
    ("stage", "lines"), [(ON, ["hello"]), (BEFORE, ["other"])], ids=["as it comes in", "as it goes out"]
)
async def test_after_a_crash_only_who_had_not_answered_is_asked(
    tmp_path: Path, stage: Stage, lines: list[str]
) -> None:
    file, chain = tmp_path / "journal.db", Chain(stage, Modify({"text": "other", "media": (MEDIA,)}))
    await die(file, chain)
    async with open_journal(file) as journal:
        assert await go_on(journal, chain) == lines
    assert chain.asked == ["a", "b", "b"]
    assert chain.heard == [("other", MEDIA)] * 2


@pytest.mark.parametrize(
    ("answer", "change"),
    [(CONTINUE, {"timeout_s": {ON: 1.0}}), (Failed("broken"), {})],
    ids=["one that is another by now", "one that has failed"],
)
async def test_a_hook_whose_answer_does_not_count_any_more_is_asked_again(
    tmp_path: Path, answer: Answer, change: dict[str, Any]
) -> None:
    file, chain = tmp_path / "journal.db", Chain(ON, answer)
    await die(file, chain)
    chain.rules, chain.answer = change, Drop("spam", "No spam.")
    async with open_journal(file) as journal:
        assert await go_on(journal, chain) == ["No spam."]
    assert chain.asked == ["a", "b", "a"]


async def test_the_same_words_said_again_are_another_question(tmp_path: Path) -> None:
    chain = Chain(ON, CONTINUE)
    async with open_journal(tmp_path / "journal.db") as journal:
        bench = Bench(says("one"), says("two"), hooks=chain.mounts, journal=journal)
        assert await bench.play("hi", "hi") == ["one", "two"]
    assert chain.asked == ["a", "b"] * 2
