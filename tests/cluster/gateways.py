"""Gateways in processes of their own on one database: started, killed, stopped for a while and cut off, and who goes
on with what they had. Knows no promise."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import trio

from tests.cli.program import environment
from tests.cluster.namespaces import Net
from tests.crash.killing import address_of, kill
from tests.forwarding import Way
from tests.processes import below, none_left

PATIENCE_S = 120.0


@dataclass
class Gateway:
    """One machine. `config`: its file, in a folder of its own. `way`: from it to the database. `net`: where it is.
    `ahead_s`: of its clock. `troubled`: when it was killed, stopped or cut off, each from when to when; the last may
    go on."""

    config: Path
    way: Way
    net: Net
    ahead_s: float
    lease_s: float
    variables: dict[str, str]
    address: str = ""
    troubled: list[list[float]] = field(default_factory=list[list[float]])
    _process: trio.Process | None = None

    @property
    def folder(self) -> Path:
        return self.config.parent

    @property
    def pids(self) -> list[int]:
        """The gateway itself first, then all that it has started."""
        assert self._process is not None
        return [it.pid for it in below(self._process.pid)]

    @property
    def name(self) -> str:
        return self.folder.name

    async def start(self) -> None:
        """Until it answers."""
        own = {"CLUSTER_CLOCK_S": str(self.ahead_s), "CLUSTER_LEASE_S": str(self.lease_s)}
        with (self.folder / "log").open("ab") as log:
            self._process = await trio.lowlevel.open_process(
                [
                    *self.net.inside,
                    sys.executable,
                    "-m",
                    "tests.cluster.machine",
                    "serve",
                    "--config",
                    str(self.config),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self.folder,
                env={
                    **environment(self.folder),
                    **self.variables,
                    **own,
                    "PYTHONPATH": str(Path(__file__).parents[2]),
                },
            )
        with trio.fail_after(PATIENCE_S):
            self.address = await address_of(self._process)
            if not self.address:
                # The database may be away: whoever looks after it starts it again.
                await self._gone()
                await trio.sleep(1)
                await self.start()
        for it in self.troubled[-1:]:
            it[1] = min(it[1], monotonic())

    async def kill(self, *, guardian: bool = False) -> None:
        assert self._process is not None
        self.trouble()
        kill(self._process, guardian=guardian)
        await self._gone()

    async def drain(self) -> int:
        """Its exit status."""
        assert self._process is not None
        self._process.terminate()
        return await self._gone()

    async def pause(self, seconds: float) -> None:
        """All of it, as a machine that is asleep."""
        assert self._process is not None
        self.trouble()
        stopped = self.pids
        _signal(stopped, signal.SIGSTOP)
        try:
            await trio.sleep(seconds)
        finally:
            _signal(stopped, signal.SIGCONT)
        self.relieve()

    @asynccontextmanager
    async def unplugged(self) -> AsyncGenerator[None]:
        """From the database, the model and all who talk to it at once. What it had connected may go on after that."""
        self.trouble()
        await self.net.plug(out=True)
        try:
            yield
        finally:
            with trio.CancelScope(shield=True):
                await self.net.plug()
            self.relieve()

    def trouble(self) -> None:
        self.troubled.append([monotonic(), float("inf")])

    def relieve(self) -> None:
        """What was held up comes a while later."""
        self.troubled[-1][1] = monotonic() + 2 * self.lease_s

    async def end(self) -> None:
        if self._process is not None:
            kill(self._process)
            await self._gone()

    async def _gone(self) -> int:
        assert self._process is not None
        with trio.fail_after(PATIENCE_S):
            status = await self._process.wait()
            await none_left(self.config)
        self._process = None
        return status


@dataclass
class TakeOver:
    """How long it took others to begin with what one had that was killed. `had`: so many conversations. `could_s`:
    so long the database had been there by then. `amid`: all that happened at once."""

    gateway: str
    had: int
    seconds: float
    could_s: float
    amid: str


class Watch:
    """Looks into the database at what gateways have."""

    def __init__(self, ask: Callable[[str], str]) -> None:
        self._ask = ask

    async def held_by(self, pids: list[int]) -> list[str]:
        """What the gateway has claimed whose process is one of these."""
        id_ = (await self._asked(f"SELECT id FROM hookgate.gateways WHERE {_named(pids)} LIMIT 1")).strip()
        sql = "SELECT number || ' ' || fence FROM hookgate.conversations WHERE claimed_by = '{}'"
        return (await self._asked(sql.format(id_))).splitlines() if id_ else []

    async def taken_over(self, had: list[str]) -> float:
        """When all of it has been claimed by others, or has come to its end: a database that stands in for another
        may have lost that there was anything."""
        rows = ",".join(f"({row.replace(' ', ',')})" for row in had)
        begun = f"""
            SELECT count(*) FROM (VALUES {rows}) had (number, fence)
            LEFT JOIN hookgate.conversations c USING (number)
            WHERE c.fence >= had.fence + 2 OR NOT EXISTS (
                SELECT 1 FROM hookgate.messages m WHERE m.conversation = had.number AND m.outcome IS NULL
            )
        """
        while had and int(await self._asked(begun) or 0) < len(had):
            await trio.sleep(0.1)
        return monotonic()

    async def buried(self, pids: list[int]) -> None:
        """Until the others count it as gone."""
        while await self._asked(f"SELECT count(*) FROM hookgate.gateways WHERE {_named(pids)}") != "0\n":
            await trio.sleep(0.1)

    async def _asked(self, sql: str) -> str:
        with suppress(subprocess.CalledProcessError):
            return await trio.to_thread.run_sync(self._ask, sql)
        return ""


def _named(pids: list[int]) -> str:
    return " OR ".join(f"name LIKE '%:{pid}'" for pid in pids) or "false"


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
