"""`make chaos`: a gateway and a chat platform between which nothing is certain, for five minutes each.

Requests break off before and after they were heard, fail, come late and are too many; updates come again and in
another order; the gateway is killed and told to stop. Prints what happened; exits with 1 where a message was lost,
doubled or out of order, something ran twice, or nobody had allowed it.
"""

from __future__ import annotations

import argparse
import logging
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import structlog
import trio

from tests.chaos.books import Books
from tests.chaos.people import LIFE_S, PRESS_S, RULE, STAGES, TALK_S, People, model_says
from tests.chaos.platform import Platform
from tests.chaos.platforms import PLATFORMS
from tests.cli.program import environment, none_left
from tests.crash.killing import address_of, kill
from tests.crash.world import furnish
from tests.model_server import open_model_server

LEVEL = 0.35
MOOD_S = 3.0
PATIENCE_S = 300.0
"""Until everything has been answered once it is quiet: who was refused again and again waits for a minute or more."""


@dataclass
class Storm:
    """`patience_s`: for each life, and at the end."""

    platform: Platform
    folder: Path
    chance: random.Random
    patience_s: float = PATIENCE_S

    async def blow(self, seconds: float) -> Books:
        """All of it; what is wrong is asked of the books."""
        self.books = Books(self.platform)
        self.people = People(self.platform, self.books, self.chance)
        async with open_model_server(otherwise=model_says) as model:
            chats = self.platform.sections + RULE
            self.config = furnish(self.folder, model.base_url, chats, *STAGES)
            with trio.move_on_after(seconds):
                async with trio.open_nursery() as nursery:
                    for task in (self.people.talk, self.people.press, self._change_moods, self._disturb):
                        nursery.start_soon(task)
                    while True:
                        await self._live(self.chance.random() * LIFE_S)
            self.platform.unrest.level = 0.0
            await self._come_to_rest()
        return self.books

    async def _live(self, seconds: float) -> None:
        """Counted from its start on, now and then from before."""
        process = await self._start()
        try:
            if self.chance.random() < 0.9:
                await address_of(process)
            await trio.sleep(seconds)
            if self.chance.random() < 0.3:
                process.terminate()
                await trio.sleep(self.chance.random() * 0.5)
        finally:
            await self._end(process)

    async def _start(self) -> trio.Process:
        variables = {**environment(self.folder), **self.platform.variables}
        command = [sys.executable, "-m", "hookgate", "serve", "--config", str(self.config)]
        with (self.folder / "log").open("ab") as log:
            return await trio.lowlevel.open_process(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, cwd=self.folder, env=variables
            )

    async def _end(self, process: trio.Process) -> None:
        with trio.CancelScope(shield=True):
            self.books.deaths.append(((now := monotonic()), now))
            kill(process)
            await process.wait()
            await none_left(self.config)

    async def _come_to_rest(self) -> None:
        journal = self.folder / "disk" / "journal.db"
        process = await self._start()
        try:
            with trio.move_on_after(self.patience_s):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self.people.press)
                    while not await trio.to_thread.run_sync(self.books.settled, journal):
                        await trio.sleep(PRESS_S)
                    nursery.cancel_scope.cancel()
            with trio.fail_after(self.patience_s):
                process.terminate()
                await process.wait()
        finally:
            await self._end(process)

    # --- the weather ---

    async def _change_moods(self) -> None:
        while True:
            await trio.sleep(self.chance.random() * MOOD_S)
            self.platform.unrest.level = self.chance.choice((0.0, LEVEL / 3, LEVEL))

    async def _disturb(self) -> None:
        while True:
            await trio.sleep(self.chance.random() * 2 * TALK_S)
            await self.platform.disturb()


async def _run(name: str, seconds: float, chance: random.Random) -> list[str]:
    folder = Path(tempfile.mkdtemp(prefix=f"hookgate-chaos-{name}-"))
    began = monotonic()
    async with PLATFORMS[name](chance) as platform:
        books = await Storm(platform, folder, chance).blow(seconds)
        problems = books.problems(folder / "disk" / "journal.db", folder)
        troubles = ", ".join(f"{number} {what}" for what, number in sorted(platform.unrest.seen.items()))
    totals = ", ".join(f"{number} {what}" for what, number in books.totals.items())
    _say(f"{name}: {totals}; requests: {troubles}; {monotonic() - began:.0f} s")
    for problem in problems:
        _say(f"BROKEN: {problem}")
    if problems:
        _say(f"see {folder}")
    return problems


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    # A fake whose connections are cut says so each time.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("platforms", nargs="*", help=f"of {', '.join(PLATFORMS)}; else all, one after the other")
    parser.add_argument("--seconds", type=float, default=300.0, help="for each")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    given = parser.parse_args()
    problems = list[str]()
    for name in given.platforms or PLATFORMS:
        problems += trio.run(_run, name, given.seconds, random.Random(given.seed))
    _say(f"seed {given.seed}: {'not everything held' if problems else 'every promise held'}")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
