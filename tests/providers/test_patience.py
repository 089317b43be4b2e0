"""How long one model call may take, on a clock that jumps."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from hookgate.providers.endpoint.patience import LATER, Deadlines, Watch

IDLE_S = 64.0


@pytest.mark.parametrize("gaps", [(63.9,) * 9, (0.01,) * 500, (0.5, 63.9, 0.5, 0.4, 63.9), (1.0,) * 70 + (63.9,)])
async def test_lines_that_come_in_time_keep_a_call_alive_and_silence_ends_it(
    autojump_clock: trio.testing.MockClock, gaps: tuple[float, ...]
) -> None:
    watch, last = Watch(Deadlines(idle_s=IDLE_S)), 0.0
    with watch.scope:
        watch.begin()
        for gap in gaps:
            await trio.sleep(gap)
            watch.arrived(b"a line\n")
            last = trio.current_time()
        await trio.sleep_forever()
    assert watch.expired
    assert IDLE_S <= trio.current_time() - last <= IDLE_S * (1 + LATER)
    assert "fell silent for 64 s" in watch.late()


async def test_a_trickle_without_lines_is_a_silence(autojump_clock: trio.testing.MockClock) -> None:
    watch, began = Watch(Deadlines(idle_s=IDLE_S)), trio.current_time()
    with watch.scope:
        watch.begin()
        while True:
            await trio.sleep(1)
            watch.arrived(b".")
    assert IDLE_S <= trio.current_time() - began <= IDLE_S * (1 + LATER)
    assert "less than 100 bytes a second" in watch.late()


async def test_no_line_makes_a_call_longer_than_all_of_it_may_be(autojump_clock: trio.testing.MockClock) -> None:
    watch, began = Watch(Deadlines(idle_s=IDLE_S, total_s=200.0)), trio.current_time()
    with watch.scope:
        watch.begin()
        while True:
            await trio.sleep(1)
            watch.arrived(b"\n")
    assert trio.current_time() - began == 200.0
    assert watch.final
    assert "took more than 200 s in all" in watch.late()
