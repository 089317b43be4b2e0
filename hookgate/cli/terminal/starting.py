"""How a chat starts: its runtime, and whom that waits for, said to a person where it takes a while."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import trio

from hookgate.assembly.app import Opened, Runtime, open_runtime, unheard
from hookgate.assembly.extensions.looking import looked
from hookgate.assembly.logs.sinks import event_file, observer, open_event_file, trace, warnings
from hookgate.assembly.preflight.failing_open import open_guards
from hookgate.assembly.settings import Ports, Settings
from hookgate.cli.terminal.flags import Flags
from hookgate.hooks.rules import Mount
from hookgate.operations.extensions import extension_notes, extension_problems
from hookgate.program.starting import begun
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import HookState
from hookgate.protocol.zot.names import EXTENSION
from hookgate.sections.zot import ZotExtension

SLOW_S = 2.0
Tell = Callable[[str], None]


class Starting:
    """`left`: hooks and extensions of which nothing was heard yet, by name."""

    def __init__(self, settings: Settings) -> None:
        processes, extensions = settings.config.hooks.processes, settings.extensions
        hooks = [name for name, it in processes.items() if it.mode != "off"]
        found = extensions.found.candidates if extensions is not None and extensions.found is not None else ()
        sections = settings.config.zot.extensions
        started = (it for it in found if it.command and sections.get(it.name, ZotExtension()).enabled)
        self.left = dict.fromkeys([*hooks, *(f"{EXTENSION}{it.name}" for it in started)])
        self._waiting = trio.CancelScope()

    @property
    def mount(self) -> Mount:
        return observer("starting", (HookState.kind,), self._hear)

    async def run(self, tell: Tell) -> None:
        with self._waiting:
            await trio.sleep(SLOW_S)
            names = ", ".join(name.removeprefix(EXTENSION) for name in self.left)
            tell(f"· waiting for the hello of {names}" if names else "· still starting")

    def over(self) -> None:
        self._waiting.cancel()

    def _hear(self, event: Event) -> None:
        if isinstance(event.payload, HookState):
            self.left.pop(event.payload.hook, None)


async def _looked_up(settings: Settings) -> Settings:
    """With what there is of extensions. Raises ConfigError."""
    extensions = settings.extensions
    if extensions is None or extensions.found is not None:
        return settings
    found = await looked(settings.config, extensions)
    return replace(settings, extensions=replace(extensions, found=found))


@asynccontextmanager
async def open_chat(
    settings: Settings, flags: Flags, ports: Ports, tracer: Tell, tell: Tell, early: Opened = unheard
) -> AsyncGenerator[Runtime]:
    """A runtime with the sinks that the flags ask for and, if configured, its control socket. `tell` hears what does
    not work."""
    settings = await _looked_up(settings)
    async with AsyncExitStack() as stack:
        starting = await stack.enter_async_context(_open_starting(settings, tell))
        inside: list[Mount] = [*ports.inside, starting.mount, trace(tracer) if flags.trace else warnings(tracer)]
        if flags.events:
            inside.append(event_file(stack.enter_context(open_event_file(flags.events))))
        controlled = settings.config.control.enabled or bool(flags.control)
        ports = replace(ports, inside=inside, watched=controlled)
        runtime = await stack.enter_async_context(open_runtime(settings, ports, early))
        starting.over()
        report(runtime, tell)
        if controlled:
            from hookgate.control.opening import open_gateway_control

            await stack.enter_async_context(open_gateway_control(runtime, flags.control))
        begun()
        yield runtime


def report(runtime: Runtime, tell: Tell) -> None:
    extensions = (*extension_problems(runtime), *extension_notes(runtime))
    for problem in (*open_guards(runtime), *extensions, *runtime.text_problems()):
        tell(problem)


@asynccontextmanager
async def _open_starting(settings: Settings, tell: Tell) -> AsyncGenerator[Starting]:
    """`tell` hears a line where it is not over soon, and somebody reads it on a terminal."""
    starting = Starting(settings)
    async with trio.open_nursery() as nursery:
        if sys.stderr.isatty():
            nursery.start_soon(starting.run, tell)
        yield starting
        starting.over()
