"""`python -m tests.crash`: a gateway is killed at a thousand points, and what was promised is looked up each time it
has come to rest. Exits with 1 where something does not hold, and says in which folder and from which seed on."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, cycle, product
from pathlib import Path
from time import monotonic

import trio

from tests.crash.killing import Death, Scene
from tests.store.power import power_shim

LIVES = 10
"""Deaths in a folder before it comes to rest and is looked at."""
MESSAGES = 4
CALLS = 60
"""As many calls of its journal a gateway makes with so few messages, and some more."""
SIDE_BY_SIDE = 2


@dataclass
class Run:
    """`wanted` deaths, from one seed on: at moments, and right before and after each call of the journal in turn."""

    wanted: int
    seed: int
    folder: Path
    points: int = 0
    failed: int = 0
    _calls: Iterator[tuple[int, bool]] = field(default_factory=lambda: cycle(product(range(CALLS), (False, True))))

    async def go(self) -> None:
        scenes = self._scenes()
        async with trio.open_nursery() as nursery:
            for _ in range(SIDE_BY_SIDE):
                nursery.start_soon(self._work, scenes)

    def _scenes(self) -> Iterator[Scene]:
        """Every third one has its power cut, where that can be done here."""
        shim = power_shim(self.folder)
        for number in count():
            if self.points >= self.wanted:
                return
            folder = self.folder / f"scene-{number}"
            folder.mkdir()
            yield Scene(folder, random.Random(self.seed + number), shim if number % 3 == 2 else None)

    async def _work(self, scenes: Iterator[Scene]) -> None:
        for scene in scenes:
            for life in range(LIVES):
                if life % 2:
                    call, after = next(self._calls)
                    await scene.life(MESSAGES, Death(call=call, after=after))
                else:
                    await scene.life(MESSAGES, Death(after_s=scene.chance.random() * 0.5))
            await scene.life(0, Death())
            self.points += scene.points
            problems = await scene.books.problems(scene.folder / "disk")
            self.failed += bool(problems)
            for problem in problems:
                say(f"{scene.folder}: {problem}")
            say(f"{self.points} deaths")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    given = parser.parse_args()
    began = monotonic()
    run = Run(given.points, given.seed, Path(tempfile.mkdtemp(prefix="hookgate-crash-")))
    trio.run(run.go)
    held = "every promise held" if not run.failed else f"{run.failed} times something did not hold"
    say(f"killed {run.points} times in {monotonic() - began:.0f} s, from seed {given.seed} on: {held}")
    sys.exit(bool(run.failed))


if __name__ == "__main__":
    main()
