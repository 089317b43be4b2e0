"""What is done for all children together: nobody's turn costs another one's, and what is over is left alone."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress

import trio
from trio.testing import wait_all_tasks_blocked

from hookgate.processes.rounds import open_rounds


@contextmanager
def pipe() -> Generator[tuple[int, int]]:
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    try:
        yield ours, theirs
    finally:
        for fd in (ours, theirs):
            with suppress(OSError):
                os.close(fd)


async def test_whoever_writes_without_end_has_one_turn_in_a_round_as_everybody_else() -> None:
    turns: list[str] = []

    def loud() -> bool:
        turns.append("loud")
        return len(turns) < 1000

    def quiet() -> bool:
        turns.append("quiet")
        return bool(os.read(second[0], 1))

    with trio.fail_after(10), pipe() as first, pipe() as second:
        async with open_rounds() as rounds:
            with rounds.reads.reading(first[0], loud), rounds.reads.reading(second[0], quiet):
                os.write(first[1], b"never read")
                os.write(second[1], b"abc")
                await wait_all_tasks_blocked()
    assert turns[:6].count("quiet") == 3
    assert len(turns) >= 1000


async def test_what_another_ones_turn_has_ended_is_not_read_any_more() -> None:
    """Both are ready at once; whichever comes first ends the other, whose descriptor may be another one by then."""
    taken: list[str] = []
    with trio.fail_after(10), pipe() as first, pipe() as second:
        async with open_rounds() as rounds:
            with ExitStack() as one, ExitStack() as other:

                def take(name: str, whose: ExitStack) -> bool:
                    taken.append(name)
                    whose.close()
                    return True

                one.enter_context(rounds.reads.reading(first[0], lambda: take("one", other)))
                other.enter_context(rounds.reads.reading(second[0], lambda: take("other", one)))
                for fd in (first[1], second[1]):
                    os.write(fd, b"x")
                while not taken:
                    await trio.lowlevel.checkpoint()
    assert len(set(taken)) == 1


async def test_lines_of_one_round_leave_together_and_those_of_the_next_are_not_forgotten() -> None:
    flushed: list[tuple[str, ...]] = []

    class Writer:
        def __init__(self) -> None:
            self.waiting: list[str] = []

        def flush(self) -> None:
            flushed.append(tuple(self.waiting))
            self.waiting.clear()
            if len(flushed) == 1:
                self.say("once more")

        def say(self, line: str) -> None:
            self.waiting.append(line)
            rounds.writes.soon(self)

    async def caller(line: str) -> None:
        writer.say(line)
        await trio.lowlevel.checkpoint()

    writer = Writer()
    with trio.fail_after(10):
        async with open_rounds() as rounds, trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(caller, f"{number}")
            await wait_all_tasks_blocked()
    assert [sorted(it) for it in flushed] == [["0", "1", "2"], ["once more"]]
