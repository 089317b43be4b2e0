"""Rows that were brought, or changed, after they were stored and before whoever stored them heard of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio

from hookgate.protocol.chat import Inbound
from hookgate.protocol.journal.values import Completed
from tests.loop.delivery.post import Board
from tests.loop.delivery.slow import editing
from tests.loop.recording import CHAT, Bench, says

UNHEARD_S = 5.0


def hears_late(bench: Bench, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None] = lambda: None) -> None:
    """The end of a turn is in the journal for a while before the turn hears so, as where the disk or the database is
    slow to answer."""
    complete = bench.journal.work.complete

    async def late(*given: Any, **more: Any) -> Completed:
        completed = await complete(*given, **more)
        meanwhile()
        await trio.sleep(UNHEARD_S)
        return completed

    monkeypatch.setattr(bench.journal.work, "complete", late)


async def test_what_was_brought_before_its_turn_heard_that_it_is_stored_is_not_brought_again(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch, autojump_clock: object
) -> None:
    board = Board()
    made = bench(says("One."), says("Two."), room=board)
    hears_late(made, monkeypatch, lambda: made.gateway.delivery.wake(CHAT))
    await made.play("go", "go")
    assert board.texts == ["One.", "Two."]


async def test_what_came_to_be_shown_before_its_turn_heard_that_it_is_stored_is_edited(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch, autojump_clock: object
) -> None:
    async with editing(bench, says("One two.")) as (made, board, provider):
        hears_late(made, monkeypatch)
        board.takes_s = UNHEARD_S / 2
        await made.gateway.receive(Inbound(CHAT, "go"))
        await board.begun.wait()
        provider.go_on.set()
        await board.until("One ")
        await board.until("One two.")
        await made.idle()
        assert board.texts == ["One two."]
