"""Keeps one hook process alive: restart with jittered backoff, quarantine for a crash loop, its true state.

While the process is down every call gets a Failed answer that says so; what that leads to is the hook's own
failure policy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from time import monotonic
from types import CoroutineType
from typing import Any, Literal, Protocol

import structlog
import trio

from hookgate.hooks.children.singleton import MOVED, Elsewhere
from hookgate.processes.backoff import backoff_s
from hookgate.processes.child import HelloFailed, Late, NotAgain
from hookgate.processes.last_words import Redact, ended
from hookgate.processes.pipes import Runnable
from hookgate.processes.program_digest import program_digest
from hookgate.processes.rounds import Rounds
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import HookState
from hookgate.protocol.hook.answers import Answer, Failed
from hookgate.protocol.hook.hello import Hello
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.interfaces import Hook

log = structlog.get_logger("hookgate.hooks")

State = Literal["starting", "up", "elsewhere", "restarting", "quarantined", "stopped"]


class Live(Hook, Protocol):
    """A hook whose process runs."""

    @property
    def pid(self) -> int | None: ...

    @property
    def events_dropped(self) -> int: ...

    @property
    def ended(self) -> trio.Event: ...

    @property
    def end_reason(self) -> str: ...

    @property
    def last_words(self) -> tuple[str, ...]:
        """Lines of its stderr before the end."""
        ...

    async def drained(self) -> None:
        """Until no call is in flight."""
        ...


class Startable(Runnable, Protocol):
    """How to start a hook, over whatever wire. Two equal ones mean the same running process."""

    @property
    def hook_name(self) -> str:
        """What it is called among the hooks; `name` is what its section calls it."""
        ...

    @property
    def name(self) -> str: ...

    def resting(self, last: Hello | None) -> Hello:
        """Where the hook stands while its process is down; `last` is what it declared, None before the first."""
        ...

    def guards(self, stage: Stage) -> bool:
        """Whether nothing may pass there before it has been up for the first time, and once it has been stopped."""
        ...

    def open(self, rounds: Rounds, late: Late) -> AbstractAsyncContextManager[Live]:
        """Raises HelloFailed; leaving stops the process."""
        ...


@dataclass(frozen=True)
class Restarts:
    """Seconds. After `crash_limit` ends within `crash_window_s` a hook is only probed, every `probe_s`."""

    first_delay_s: float = 0.25
    longest_delay_s: float = 30.0
    crash_limit: int = 5
    crash_window_s: float = 60.0
    probe_s: float = 60.0

    def delay(self, crashes: int) -> float:
        """Counted are the crashes in the window."""
        if crashes >= self.crash_limit:
            return self.probe_s
        return backoff_s(crashes, self.first_delay_s, self.longest_delay_s)


class RequiredHookFailed(Exception):
    """A hook that the operator marked `required` cannot be had; nothing may run without it."""

    def __init__(self, hook: str, reason: str) -> None:
        super().__init__(f"hook {hook} is required but {reason}")


class SupervisedHook:
    """The Hook that stands in the gate while its process comes and goes. `tried`: the first hello is over, or so late
    that nobody waits for it; `been_up`: ever. `reason`: why it is down, with what it said last; `redact` takes the
    secrets from that. `program`: the digest of what it was last started from."""

    def __init__(
        self, spec: Startable, emit: Callable[[HookState], None], redact: Redact = lambda text: text
    ) -> None:
        self.name = spec.hook_name
        self.spec = spec
        self.state: State = "starting"
        self.reason = ""
        self.program = ""
        self.required = False
        self.restarts = 0
        self.tried = trio.Event()
        self._cause = ""
        self._redact = redact
        self._told_down: State | None = None
        self._emit = emit
        self._live: Live | None = None
        self.been_up = False
        self._resting = spec.resting(None)

    @property
    def declared(self) -> Hello:
        return self._live.declared if self._live else self._resting

    @property
    def pid(self) -> int | None:
        return self._live.pid if self._live else None

    @property
    def events_dropped(self) -> int:
        return self._live.events_dropped if self._live else 0

    def ask(self, question: Question, timeout_s: float) -> CoroutineType[Any, Any, Answer]:
        """The process's own coroutine: one more round it would be felt by every call."""
        return self._down(question.stage) if self._live is None else self._live.ask(question, timeout_s)

    async def _down(self, stage: Stage) -> Answer:
        closed = (not self.been_up or self.state == "stopped") and self.spec.guards(stage)
        # What has just ended is up until all of it is gone.
        state = "restarting" if self.state == "up" else self.state
        # A model may read this.
        return Failed(f"it is {state}{': ' + self._cause if self.reason else ''}", closed)

    def down(self) -> str:
        """How it is on its way back; empty: it is there."""
        if self._live is not None and not self._live.ended.is_set():
            return ""
        if self.state == "quarantined":
            return f"is down ({self._cause}) and only tried now and then"
        return "is starting again"

    async def drained(self) -> None:
        """Until no call is in flight."""
        if self._live is not None:
            await self._live.drained()

    def notify(self, event: Event) -> None:
        if self._live is not None:
            self._live.notify(event)

    async def run(self, rounds: Rounds, restarts: Restarts) -> None:
        """Start, wait for the end, start again; until cancelled.

        Raises RequiredHookFailed when a required hook is quarantined.
        """
        ends: deque[float] = deque(maxlen=restarts.crash_limit)
        try:
            while True:
                again = await self._run_once(rounds)
                if again is None:
                    continue
                crashes = 1 if again else restarts.crash_limit
                ends.extend([monotonic()] * crashes)
                await self._pause(ends, restarts)
                self.restarts += 1
        finally:
            self._live = None
            self._become("stopped", "")

    async def _run_once(self, rounds: Rounds) -> bool | None:
        """Whether the next start may be soon; None: it did not end, but changed places with another gateway's."""
        spec = self.spec
        self.program = await trio.to_thread.run_sync(program_digest, spec.command, spec.directory)
        try:
            async with spec.open(rounds, self._late) as live:
                self._live, self.been_up = live, True
                if isinstance(live, Elsewhere):
                    self._become("elsewhere", live.place)
                else:
                    self._become("up", "")
                await live.ended.wait()
                if live.end_reason == MOVED:
                    return None
                self._ended(live.end_reason, live.last_words)
                self._rest()
        except HelloFailed as error:
            self._ended(str(error), error.last_words)
            return not isinstance(error, NotAgain)
        finally:
            self._rest()
        return True

    def _late(self, why: str) -> None:
        self._cause, at_start = why, not self.tried.is_set()
        self._become(self.state, why)
        log.warning("hook_late", hook=self.name, state=self.state, reason=why, at_start=at_start)

    def _ended(self, cause: str, words: tuple[str, ...]) -> None:
        self._cause, self.reason = cause, ended(cause, words, self._redact)

    def _rest(self) -> None:
        if self._live is not None:
            self._resting, self._live = self.spec.resting(self._live.declared), None

    async def _pause(self, ends: deque[float], restarts: Restarts) -> None:
        recent = [end for end in ends if monotonic() - end < restarts.crash_window_s]
        delay = restarts.delay(len(recent))
        before, at_start = self._told_down, not self.tried.is_set()
        self._become("quarantined" if len(recent) >= restarts.crash_limit else "restarting", self.reason)
        self._told_down = self.state
        if self.required and self.state == "quarantined":
            raise RequiredHookFailed(self.name, self.reason)
        # Of a series of ends only the first is news, and that it is quarantined now.
        tell = log.info if len(recent) > 1 and before == self.state else log.warning
        what = {"state": self.state, "reason": self.reason, "retry_in_s": round(delay, 3)}
        tell("hook_down", hook=self.name, **what, at_start=at_start)
        await trio.sleep(delay)

    def _become(self, state: State, reason: str) -> None:
        self.state, self.reason = state, reason
        self.tried.set()
        self._emit(HookState(self.name, state, reason or None, self.pid, self.restarts))
