"""Results of pure calls, kept for one turn: the same call gets the same bytes without running. Knows no hook.

What a hit skips is the execution alone; whoever asks has already passed the gate.
"""

from __future__ import annotations

from dataclasses import field
from hashlib import sha256
from time import monotonic
from typing import Any

import trio

from hookgate.protocol.codec import canonical, decode, encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec

MAX_ENTRIES = 256
MAX_TURN_BYTES = 8 * 1024 * 1024
MAX_ENTRY_BYTES = 512 * 1024
MAX_BYTES = 64 * 1024 * 1024
MAX_AGE_S = 600.0

REPEATED = "(same call, same result)\n"
"""Stands before the third result of one call and every later one."""

Key = tuple[bytes, bytes]


@dataclass(slots=True)
class Budget:
    """What the memos of all turns may hold together, in bytes."""

    limit: int = MAX_BYTES
    used: int = 0


@dataclass(slots=True)
class _Entry:
    result: ToolResult
    data: bytes
    size: int
    until: float
    hits: int = 0

    def hit(self) -> ToolResult:
        """Its reader may keep it: data is made anew, everything else is frozen."""
        self.hits += 1
        changes: dict[str, Any] = {}
        if self.hits > 1:
            changes["for_llm"] = REPEATED + self.result.for_llm
        if self.data:
            changes["data"] = decode(self.data)
        return replace(self.result, **changes) if changes else self.result


@dataclass(slots=True, eq=False)
class Execution:
    """A call that is being executed, and that equal ones wait for."""

    key: Key
    over: trio.Event = field(default_factory=trio.Event)


class Memo:
    """One turn's. `clear` whenever something may have changed state; a run under way by then is not kept."""

    def __init__(self, budget: Budget | None = None) -> None:
        self._budget = budget or Budget()
        self._entries: dict[Key, _Entry] = {}
        self._running: dict[Key, Execution] = {}
        self._specs: dict[int, tuple[ToolSpec, bytes]] = {}
        self._bytes = 0
        self._version = 0

    async def found(self, spec: ToolSpec, call: ToolCall) -> ToolResult | Execution:
        """The kept result, marked `cached`; else the caller runs the call, of equal ones nobody else meanwhile, and
        says by `ended` what it came to."""
        key = self._key(spec, call)
        while True:
            entry = self._kept(key)
            if entry is not None:
                return entry.hit()
            running = self._running.get(key)
            if running is None:
                run = self._running[key] = Execution(key)
                return run
            await running.over.wait()

    def ended(self, run: Execution, result: ToolResult | None) -> None:
        """None where it was cancelled: that leaves nothing, as a failure does, and one that waited for it runs."""
        # Where something has changed meanwhile, the run is not among them any more.
        if self._running.get(run.key) is run:
            del self._running[run.key]
            if result is not None:
                self._keep(run.key, result)
        run.over.set()

    def clear(self) -> None:
        """Forget everything."""
        # Whoever asks from here on must not wait for a run that began before the change.
        self._running = {}
        for key in tuple(self._entries):
            self._drop(key)

    def at_version(self, version: int) -> None:
        """The registry's, at each model call: where it has changed, what tools of old said may be true no more."""
        if version != self._version:
            self._version = version
            self.clear()

    def _key(self, spec: ToolSpec, call: ToolCall) -> Key:
        known = self._specs.get(id(spec))
        if known is None:
            written = canonical([spec.provider, spec.name, spec.description, spec.parameters])
            # The spec is kept with its digest, so that its id stays its own.
            known = self._specs[id(spec)] = (spec, sha256(written).digest())
        return known[1], canonical(call.arguments)

    def _kept(self, key: Key) -> _Entry | None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        if monotonic() > entry.until:
            self._count(-entry.size)
            return None
        self._entries[key] = entry  # last again: the least recently used is the first to go
        return entry

    def _keep(self, key: Key, result: ToolResult) -> None:
        if result.is_error or result.abandoned or result.cached:
            return
        data = encode(result.data) if result.data is not None else b""
        size = len(result.for_llm) * 2 + len(data) + sum(map(len, result.media)) + len(key[1])
        if size > MAX_ENTRY_BYTES:
            return
        kept = replace(result, effects=(), data=None, cached=True)
        self._entries[key] = _Entry(kept, data, size, monotonic() + MAX_AGE_S)
        self._count(size)
        while len(self._entries) > MAX_ENTRIES or self._bytes > MAX_TURN_BYTES:
            self._drop(next(iter(self._entries)))
        if self._budget.used > self._budget.limit:
            self._drop(key)

    def _drop(self, key: Key) -> None:
        self._count(-self._entries.pop(key).size)

    def _count(self, size: int) -> None:
        self._bytes += size
        self._budget.used += size
