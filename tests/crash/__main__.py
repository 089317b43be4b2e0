"""`make crash`: gateways are killed at a thousand points, and what was promised is looked up each time one rests.

Prints a table of what killed them; exits with 1 where something does not hold, and says how to repeat it."""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import trio

from tests.crash.killing import Scene
from tests.crash.points import LIVES, deaths
from tests.crash.world import answered
from tests.model_server import open_model_server
from tests.store.power import power_shim

MESSAGES = 4
SIDE_BY_SIDE = 3


@dataclass
class Run:
    """`wanted` deaths, from the scene `first` on. `seen`: what was done under them, all in all."""

    wanted: int
    at_once: int
    seed: int
    first: int
    folder: Path
    began: float = field(default_factory=monotonic)
    deaths: Counter[str] = field(default_factory=Counter[str])
    seen: Counter[str] = field(default_factory=Counter[str])
    failed: list[int] = field(default_factory=list[int])
    _begun: int = 0

    async def go(self) -> None:
        shim, scenes = power_shim(self.folder), self._scenes()
        async with open_model_server(otherwise=answered) as model, trio.open_nursery() as nursery:
            nursery.start_soon(_until_told, nursery.cancel_scope)
            async with trio.open_nursery() as working:
                for _ in range(self.at_once):
                    working.start_soon(self._work, scenes, model.base_url, shim)
            nursery.cancel_scope.cancel()

    def _scenes(self) -> Iterator[int]:
        while self._begun < self.wanted:
            self._begun += LIVES
            yield self.first + self._begun // LIVES - 1

    async def _work(self, scenes: Iterator[int], model: str, shim: Path | None) -> None:
        """Every third one has its power cut, where that can be done here."""
        for number in scenes:
            folder, chance = self.folder / f"scene-{number}", random.Random(f"{self.seed} {number}")
            scene = Scene(folder, model, chance, shim if number % 3 == 2 else None)
            try:
                problems = await killed(scene, number)
            except Exception as error:
                problems = [f"after {scene.deaths}: {error!r}"]
            self.deaths.update(scene.deaths)
            self.seen.update(scene.books.totals)
            if problems:
                self.failed.append(number)
                self._complain(number, folder, problems)
            else:
                shutil.rmtree(folder)
            say(f"{self.deaths.total()} deaths in {monotonic() - self.began:.0f} s")

    def _complain(self, number: int, folder: Path, problems: list[str]) -> None:
        for problem in problems:
            say(f"BROKEN: {problem}")
        say(f"{folder}; again: python -m tests.crash --seed {self.seed} --point {number * LIVES}")

    def table(self) -> Iterator[str]:
        for how, times in sorted(self.deaths.items(), key=lambda it: it[0].split()[::-1]):
            yield f"{times:6} {how}"
        yield f"under them: {', '.join(f'{number} {what}' for what, number in self.seen.items())}"


async def _until_told(everything: trio.CancelScope) -> None:
    """Ctrl-C ends it early, and what was seen until then is said."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            everything.cancel()


async def killed(scene: Scene, number: int) -> list[str]:
    """What does not hold after ten deaths."""
    for death in deaths(number, scene.chance):
        await scene.life(MESSAGES, death)
    return await scene.rest()


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.crash")
    parser.add_argument("--points", type=int, default=1000, help="how many deaths")
    parser.add_argument("--at-once", type=int, default=SIDE_BY_SIDE, help="how many gateways side by side")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), help="of an earlier run")
    parser.add_argument("--point", type=int, help="the one of that run where something did not hold, and no other")
    given = parser.parse_args()
    first, wanted = (0, given.points) if given.point is None else (given.point // LIVES, 1)
    run = Run(wanted, given.at_once, given.seed, first, Path(tempfile.mkdtemp(prefix="hookgate-crash-")))
    trio.run(run.go)
    for line in run.table():
        say(line)
    held = "every promise held" if not run.failed else f"in {len(run.failed)} scenes something did not hold"
    say(f"killed {run.deaths.total()} times in {monotonic() - run.began:.0f} s, seed {given.seed}: {held}")
    sys.exit(bool(run.failed))


if __name__ == "__main__":
    main()
