"""Whom a chat waits for before it begins, said to a person where that takes a while; starts and stops nobody."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import trio

from hookgate.assembly.logs.sinks import observer
from hookgate.assembly.settings import Settings
from hookgate.hooks.rules import Mount
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import HookState
from hookgate.protocol.zot.names import EXTENSION

SLOW_S = 2.0


class Starting:
    """`left`: hooks and extensions of which nothing was heard yet, by name."""

    def __init__(self, settings: Settings) -> None:
        processes, extensions = settings.config.hooks.processes, settings.extensions
        hooks = [name for name, it in processes.items() if it.mode != "off"]
        found = extensions.found.candidates if extensions is not None and extensions.found is not None else ()
        self.left = dict.fromkeys([*hooks, *(f"{EXTENSION}{it.name}" for it in found)])
        self._waiting = trio.CancelScope()

    @property
    def mount(self) -> Mount:
        return observer("starting", (HookState.kind,), self._hear)

    async def run(self, tell: Callable[[str], None]) -> None:
        with self._waiting:
            await trio.sleep(SLOW_S)
            tell(f"· waiting for the hello of {', '.join(self.left)}" if self.left else "· still starting")

    def over(self) -> None:
        self._waiting.cancel()

    def _hear(self, event: Event) -> None:
        if isinstance(event.payload, HookState):
            self.left.pop(event.payload.hook, None)


@asynccontextmanager
async def open_starting(settings: Settings, tell: Callable[[str], None]) -> AsyncGenerator[Starting]:
    """`tell` hears a line where it is not over soon, and somebody reads it on a terminal."""
    starting = Starting(settings)
    async with trio.open_nursery() as nursery:
        if sys.stderr.isatty():
            nursery.start_soon(starting.run, tell)
        yield starting
        starting.over()
