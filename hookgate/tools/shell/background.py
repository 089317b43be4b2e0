"""Commands that run on while the conversation goes on: how many, whose, and that all of them end.

Knows no sandbox and no tool. Each belongs to a session; other sessions do not see it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import field
from itertools import count
from pathlib import Path
from typing import Literal

import structlog
import trio

from hookgate.processes.command import Command, Ended, Reins, run_command
from hookgate.protocol.dataclasses import dataclass
from hookgate.tools.errors import ToolError
from hookgate.tools.shell.background_output import Unread

MAX_PER_SESSION = 8
MAX_IN_ALL = 32
QUIET_S = 0.5
"""After new output, how long nothing more may come until it is told."""

Running = Callable[[], AbstractAsyncContextManager[None]]
"""What is held while a command runs."""

State = Literal["running", "exited", "killed", "timed out"]

_log = structlog.get_logger(__name__)


@dataclass(eq=False)
class Job:
    """One command. `finished` is set once its group is gone and its output read, or it could not be started."""

    id: str
    session: str
    line: str
    command: Command
    output: Unread
    reins: Reins = field(default_factory=Reins)
    finished: trio.Event = field(default_factory=trio.Event)
    started: float = field(default_factory=trio.current_time)
    ended: Ended | None = None
    failure: OSError | None = None

    @property
    def state(self) -> State:
        ended = self.ended
        if not self.finished.is_set():
            return "running"
        if ended is None or ended.stopped:
            return "killed"
        return "timed out" if ended.timed_out else "exited"

    @property
    def exit_code(self) -> int | None:
        """-1 where a signal ended it, None while it runs."""
        if not self.finished.is_set():
            return None
        return self.ended.exit_code if self.ended else -1

    @property
    def seconds(self) -> float:
        return self.ended.seconds if self.ended else trio.current_time() - self.started

    async def settled(self, wait_s: float) -> None:
        """Until it has ended, or has said something new and then paused; at most `wait_s` seconds."""
        with trio.move_on_after(wait_s):
            while not self.finished.is_set():
                news = self.output.news
                patience = QUIET_S if self.output else wait_s
                with trio.move_on_after(patience) as scope:
                    await news.wait()
                if scope.cancelled_caught:
                    return


class Background:
    """The room of all sessions. `folder` takes the files of what the commands print; `running` is held round each."""

    def __init__(self, folder: Path, running: Running = nullcontext) -> None:
        self._folder, self._running = folder, running
        self._jobs: dict[str, Job] = {}
        self._dying: set[Job] = set()
        self._numbers = count(1)
        self._requests, self._inbox = trio.open_memory_channel[Job](MAX_IN_ALL)

    async def start(self, session: str, line: str, command: Command) -> Job:
        """Returns once it runs. Raises OSError where it cannot be started, ToolError (budget) where there are too
        many; cancelled meanwhile, it leaves nothing behind."""
        self._refuse_too_many(session)
        self._forget_oldest()
        job = Job(f"bg{next(self._numbers)}", session, line, command, Unread(self._folder))
        self._jobs[job.id] = job
        try:
            self._requests.send_nowait(job)
            await job.reins.begun.wait()
        except (trio.BrokenResourceError, trio.WouldBlock):
            self._drop(job)
            raise ToolError("transient", "bash", "no process can be started in the background now") from None
        except BaseException:
            self._drop(job)
            raise
        if job.failure is not None:
            self._drop(job)
            raise job.failure
        return job

    def job(self, session: str, name: str, op: str) -> Job:
        """The session's process with this id. Raises ToolError (not_found), naming those that there are."""
        job = self._jobs.get(name)
        if job is not None and job.session == session:
            return job
        own = ", ".join(it.id for it in self._jobs.values() if it.session == session)
        known = f"; there is {own}" if own else ""
        raise ToolError("not_found", op, f"there is no background process {name[:40]!r}{known}")

    def alive(self, session: str) -> bool:
        """Whether a process of this session runs, be it in its last seconds."""
        return any(not job.finished.is_set() for job in self._of(session))

    def forget(self, session: str) -> int:
        """End what this session runs; its ids mean nothing from here on. Returns how many ran, and does not wait."""
        jobs = [job for job in self._jobs.values() if job.session == session]
        running = sum(not job.finished.is_set() for job in jobs)
        for job in jobs:
            self._drop(job)
        return running

    def release(self, job: Job) -> None:
        """Nobody may ask for this one any more; if it still runs, it ends."""
        self._drop(job)

    async def run(self) -> None:
        """Own the processes until cancelled; then all of them end, within their grace period."""
        try:
            async with trio.open_nursery() as nursery:
                async for job in self._inbox:
                    nursery.start_soon(self._run_one, job)
        finally:
            self._inbox.close()
            for job in (*self._jobs.values(), *self._dying):
                job.reins.begun.set()
                job.finished.set()

    async def _run_one(self, job: Job) -> None:
        try:
            async with self._running():
                job.ended = await run_command(job.command, job.output, job.reins)
        except OSError as error:
            job.failure = error
        except Exception:
            # One that goes wrong in a way nobody foresaw must not take the others with it.
            _log.exception("background_process_lost", id=job.id)
        finally:
            with trio.CancelScope(shield=True):
                await job.output.log.close()
            job.finished.set()
            job.reins.begun.set()
            job.output.wake()
            if job in self._dying:
                self._dying.remove(job)
                job.output.log.remove()

    def _of(self, session: str) -> list[Job]:
        return [job for job in (*self._jobs.values(), *self._dying) if job.session == session]

    def _refuse_too_many(self, session: str) -> None:
        own = sum(not job.finished.is_set() for job in self._of(session))
        if own >= MAX_PER_SESSION:
            reason = f"{own} processes of this conversation run in the background already; end one with bash_kill"
            raise ToolError("budget", "bash", reason)
        if sum(not job.finished.is_set() for job in (*self._jobs.values(), *self._dying)) >= MAX_IN_ALL:
            raise ToolError("budget", "bash", f"{MAX_IN_ALL} processes run in the background already, of all chats")

    def _forget_oldest(self) -> None:
        """What has ended stays readable until its place is needed."""
        ended = [job for job in self._jobs.values() if job.finished.is_set()]
        for job in ended[: max(len(self._jobs) - MAX_IN_ALL + 1, 0)]:
            self._drop(job)

    def _drop(self, job: Job) -> None:
        self._jobs.pop(job.id, None)
        if job.finished.is_set():
            job.output.log.remove()
        else:
            self._dying.add(job)
            job.reins.stop()


@asynccontextmanager
async def open_background(folder: Path, running: Running = nullcontext) -> AsyncGenerator[Background]:
    """A room that works until it is left; leaving ends every process in it, and waits for that."""
    room = Background(folder, running)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(room.run)
        yield room
        nursery.cancel_scope.cancel()
