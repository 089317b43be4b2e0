"""Stage calls kept for whoever fetches them: bounded, and over when nobody does. Knows no file."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from secrets import token_hex
from time import monotonic

import trio

from hookgate.hooks.emitter import Emitter
from hookgate.hooks.inside import InsideHook
from hookgate.hooks.rules import Mount, Rules
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import StageCall
from hookgate.protocol.hook.match import Observed

MOST = 4
MOST_BYTES = 16 * 1024 * 1024
"""Of calls that wait to be fetched, of each recording; what comes beyond it is missed, and counted."""
FETCHED_BYTES = 4 * 1024 * 1024
IDLE_S = 60.0
"""After so long without a fetch a recording is over: while one lasts, every stage call is made into JSON."""


class TooManyRecordings(Exception):
    """The text says how many there may be."""


class NoRecording(Exception):
    """It has ended, or there never was one; the text says so."""


@dataclass(frozen=True)
class Fetched:
    """`lines`: as they stand in an event file, without line ends. `missed`: calls that found no room, since the
    beginning."""

    recording: str
    lines: tuple[str, ...]
    missed: int


class Recordings:
    """None costs anything until it is begun."""

    def __init__(self, events: Emitter) -> None:
        self._events = events
        self._running: dict[str, _Recording] = {}

    def begin(self) -> str:
        """From here on stage calls are kept; the id to fetch them by. Raises TooManyRecordings."""
        self._sweep()
        if len(self._running) >= MOST:
            raise TooManyRecordings(f"{MOST} recordings are being made already")
        name = token_hex(8)
        self._running[name] = recording = _Recording(name, self._sweep)
        self._events.join(recording.mount)
        return name

    async def fetch(self, name: str, wait_s: float) -> Fetched:
        """What has come since the last time; where that is nothing, what comes within so many seconds. Raises
        NoRecording."""
        self._sweep()
        recording = self._running.get(name)
        if recording is None:
            raise NoRecording(f"there is no such recording: one is over when nobody fetches it for {IDLE_S:g} s")
        return await recording.fetch(wait_s)

    def end(self, name: str) -> None:
        if (recording := self._running.pop(name, None)) is not None:
            self._events.leave(recording.mount)

    def _sweep(self) -> None:
        for name in [name for name, it in self._running.items() if it.forgotten]:
            self.end(name)


class _Recording:
    def __init__(self, name: str, sweep: Callable[[], None]) -> None:
        observed = Rules(observe=Observed((StageCall.kind,)), inside=True)
        self.mount = Mount(InsideHook(f"recording {name}", hear=self._hear), observed)
        self._name, self._sweep = name, sweep
        self._lines = deque[bytes]()
        self._bytes, self._missed = 0, 0
        self._fetching, self._fetched_at = 0, monotonic()
        self._news = trio.Event()

    @property
    def forgotten(self) -> bool:
        return not self._fetching and monotonic() - self._fetched_at > IDLE_S

    def _hear(self, event: Event) -> None:
        if self.forgotten:
            self._sweep()
            return
        line = event.record
        if self._bytes + len(line) > MOST_BYTES:
            self._missed += 1
            return
        self._lines.append(line)
        self._bytes += len(line)
        self._news.set()

    async def fetch(self, wait_s: float) -> Fetched:
        self._fetching += 1
        try:
            if not self._lines:
                self._news = trio.Event()
                with trio.move_on_after(wait_s):
                    await self._news.wait()
        finally:
            self._fetching -= 1
            self._fetched_at = monotonic()
        return Fetched(self._name, tuple(self._taken()), self._missed)

    def _taken(self) -> Iterator[str]:
        """The first one always, however long it is."""
        size = 0
        while self._lines and (not size or size + len(self._lines[0]) <= FETCHED_BYTES):
            line = self._lines.popleft()
            size += len(line)
            self._bytes -= len(line)
            yield line.decode().rstrip("\n")
