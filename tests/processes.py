"""Which processes run, by group, descent or a word on their command line; and until they are gone.

A killed process is gone when the kernel has taken it down, not before: it is waited for. One without a command line
is half way through its exit, and one that only waits for its parent has ended: neither counts as running.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import trio

DEADLINE_S = 30.0
"""For each wait; generous because a busy machine is slow to take a process down."""


@dataclass(frozen=True, slots=True)
class Running:
    pid: int
    parent: int
    group: int
    line: bytes
    """Its words, each ended by a NUL."""


def look(pid: int) -> Running | None:
    """The process, if it runs."""
    try:
        # Half of all processes are the kernel's own, without a line. This is done often: it makes no file object.
        if not (line := _read(f"/proc/{pid}/cmdline")):
            return None
        state, parent, group = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[:3]
    except OSError:
        return None
    return Running(pid, int(parent), int(group), line) if state not in (b"Z", b"X") else None


def _read(name: str) -> bytes:
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces = list(iter(lambda: os.read(descriptor, 1 << 16), b""))
    finally:
        os.close(descriptor)
    return b"".join(pieces)


def running() -> Iterator[Running]:
    """All of this machine but this one."""
    pids = (int(name) for name in os.listdir("/proc") if name.isdecimal())
    return (found for pid in pids if pid != os.getpid() and (found := look(pid)))


def living(group: int) -> list[int]:
    """The processes of a group."""
    return [it.pid for it in running() if it.group == group]


def below(ancestor: int) -> list[Running]:
    """The descendants of a process, as far as each one's parent still runs."""
    found = {it.pid: it for it in running()}

    def descends(it: Running) -> bool:
        return it.parent == ancestor or (it.parent in found and descends(found[it.parent]))

    return [it for it in found.values() if descends(it)]


def processes_of(marker: str | Path) -> list[int]:
    """Processes on whose command line the marker stands."""
    return [it.pid for it in running() if str(marker).encode() in it.line]


async def none_left(marker: str | Path) -> None:
    """Until no process with the marker runs."""
    await until(lambda: not processes_of(marker))


async def gone(*pids: int) -> None:
    """Until none of these runs."""
    await until(lambda: not any(map(look, pids)))


async def line_of(stream: trio.abc.ReceiveStream) -> bytes:
    """The next line that a program prints; one that prints several at once may lose some here."""
    line = b""
    with trio.fail_after(DEADLINE_S):
        while not line.endswith(b"\n"):
            piece = await stream.receive_some()
            assert piece, f"it ended after {line!r}"
            line += piece
    return line


async def until(condition: Callable[[], object]) -> None:
    """For what announces itself to nobody. Never longer than the deadline."""
    with trio.fail_after(DEADLINE_S):
        while True:
            begun = perf_counter()
            if condition():
                return
            # To look through all processes again and again would hold up what is waited for.
            await trio.sleep(min(max(0.005, 3 * (perf_counter() - begun)), 0.1))
