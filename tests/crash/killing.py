"""Kills `hookgate serve` under load, starts it again, and so on. Knows no promise.

In a power cut what was not synced is lost: the next gateway gets the disk as a library that it runs with has kept it.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import httpx
import trio

from hookgate.processes.guardian.descendants import children
from hookgate.store.journal import open_journal
from tests.cli.program import environment
from tests.crash.books import Books, Said
from tests.crash.people import AGAIN, PLACES, Cookies, People
from tests.crash.world import KINDS, furnish
from tests.processes import none_left

ROOT = Path(__file__).parents[2]
PATIENCE_S = 600.0
"""For one life, on a machine that has other things to do."""
ADDRESS = re.compile(rb"answers at (http://[0-9.:]+)/")

TIMED = ("at a moment", "with its guardian", "while it drains")
How = Literal["never", "at a moment", "with its guardian", "while it starts", "while it drains", "at a call"]


@dataclass(frozen=True)
class Death:
    """`after_s`: of its start or of work. `call`: "before" or "after", which call of the journal, which time."""

    how: How = "never"
    after_s: float = 0.0
    call: str = ""


@dataclass
class Scene:
    """One folder with its gateway's disk, and the people who use it through all its deaths. `model`: its address.
    `shim`: power is cut. `deaths`: what each was."""

    folder: Path
    model: str
    chance: random.Random
    shim: Path | None = None
    books: Books = field(default_factory=Books)
    deaths: list[str] = field(default_factory=list[str])
    _cookies: Cookies = field(default_factory=Cookies)
    _number: int = 0
    _rested: bool = False

    def __post_init__(self) -> None:
        self.config = furnish(self.folder, self.model)
        self.journal = self.folder / "disk" / "journal.db"

    async def life(self, messages: int, death: Death) -> None:
        """One run of the gateway, to its death, or until nothing is left to do: then it is told to stop."""
        process, self._rested = await self._start(death), False
        try:
            with trio.fail_after(PATIENCE_S):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._end, process, gone := trio.Event())
                    if death.how == "while it starts":
                        nursery.start_soon(self._strike, process, death)
                    # Whoever talks to it then has to do with a connection that breaks off.
                    with suppress(httpx.TransportError):
                        await self._live(process, messages, death, gone)
                    await gone.wait()
                    nursery.cancel_scope.cancel()
        finally:
            with trio.CancelScope(shield=True):
                kill(process, guardian=True)
                await process.wait()
                await none_left(self.config)
        self._note(process, death)

    async def rest(self) -> list[str]:
        """What does not hold once all has come to its end."""
        await self.life(0, Death())
        return await trio.to_thread.run_sync(self.books.problems, self.folder)

    async def _start(self, death: Death) -> trio.Process:
        variables = {**environment(self.folder), "PYTHONPATH": str(ROOT)}
        if death.call:
            variables["CRASH_AT"] = death.call
        if self.shim is not None:
            # The library knows no renames, by which a journal gets its name.
            async with open_journal(self.journal):
                pass
            shutil.copytree(self.folder / "disk", self.folder / "shadow")
            variables |= {"LD_PRELOAD": str(self.shim), "POWER_SHADOW": str(self.folder / "shadow")}
        program = "tests.crash.fused" if death.call else "hookgate"
        with (self.folder / "log").open("ab") as log:
            return await trio.lowlevel.open_process(
                [sys.executable, "-m", program, "serve", "--config", str(self.config)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self.folder,
                env=variables,
            )

    async def _end(self, process: trio.Process, gone: trio.Event) -> None:
        await process.wait()
        gone.set()

    async def _strike(self, process: trio.Process, death: Death) -> None:
        await trio.sleep(death.after_s)
        if death.how == "while it drains":
            process.send_signal(signal.SIGTERM)
            await trio.sleep(self.chance.random() * 0.1)
        kill(process, guardian=death.how == "with its guardian")

    async def _live(self, process: trio.Process, messages: int, death: Death, gone: trio.Event) -> None:
        people = People(self.books, self._cookies, self.chance, all_is_decided=death.how == "never")
        if not (address := await address_of(process)):
            return
        async with people.at(address), trio.open_nursery() as nursery:
            if death.how in TIMED:
                nursery.start_soon(self._strike, process, death)
            self._rested = await people.live(self._new(messages), self.journal, gone)
            if self._rested and death.how == "never":
                await people.look()
                process.send_signal(signal.SIGTERM)
            elif self._rested:
                kill(process)
            nursery.cancel_scope.cancel()

    def _note(self, process: trio.Process, death: Death) -> None:
        killed = process.returncode == -signal.SIGKILL
        if killed:
            self.deaths.append("at rest" if self._rested else death.call.rpartition(" ")[0] or death.how)
        elif process.returncode:
            raise AssertionError(f"it ended with status {process.returncode}: {(self.folder / 'log').read_text()}")
        if self.shim is not None:
            self._power(killed)

    def _power(self, killed: bool) -> None:
        shadow, disk = self.folder / "shadow", self.folder / "disk"
        if killed:
            for name in ("syncs", "half"):
                (shadow / name).unlink(missing_ok=True)
            shutil.rmtree(disk)
            shadow.rename(disk)
        else:
            shutil.rmtree(shadow)

    def _new(self, messages: int) -> list[Said]:
        """What nobody has acknowledged is said once more, now and then something that was, and then something new."""
        again = [it for it in self.books.said.values() if not it.id or self.chance.random() < AGAIN]
        for _ in range(messages):
            self._number += 1
            said = Said(self.chance.choice(PLACES), self.chance.choice(KINDS), str(self._number))
            self.books.said[said.key] = said
            again.append(said)
        return again


async def address_of(process: trio.Process) -> str:
    """Empty: it died before."""
    assert process.stdout is not None
    shown = b""
    while (found := ADDRESS.search(shown)) is None:
        if not (more := await process.stdout.receive_some()):
            return ""
        shown += more
    return found[1].decode()


def kill(process: trio.Process, *, guardian: bool = False) -> None:
    """The gateway itself, whose guardian then ends what it leaves behind; or both at once, with nobody to do that."""
    below = list(children(process.pid)) if process.poll() is None else []
    for pid in below:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if guardian or not below:
        process.kill()
