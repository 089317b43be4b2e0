"""How a chat starts: its runtime, whom that waits for, said to a person where it takes a while, and the line that is
there to type in meanwhile."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import trio

from hookgate.assembly.app import Runtime, open_runtime
from hookgate.assembly.extensions.looking import looked
from hookgate.assembly.logs.sinks import event_file, observer, open_event_file, trace, warnings
from hookgate.assembly.preflight.failing_open import open_guards
from hookgate.assembly.settings import Ports, Settings
from hookgate.cli.terminal.flags import Flags
from hookgate.cli.terminal.keyboard import Keyboard
from hookgate.cli.terminal.keyboard.edited import EditedKeyboard
from hookgate.cli.terminal.printing import PROMPT
from hookgate.hooks.rules import Mount
from hookgate.operations.extensions import extension_notes, extension_problems
from hookgate.program.starting import begun
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import HookState
from hookgate.protocol.zot.names import EXTENSION
from hookgate.sections.zot import ZotExtension

SOON_S, SLOW_S = 0.3, 2.0
WAITS = "· this waits until all has started (/quit leaves)"
LEAVING = ("/quit", "/exit")


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
    settings: Settings, flags: Flags, ports: Ports, tracer: Tell, tell: Tell
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
        runtime = await stack.enter_async_context(open_runtime(settings, ports))
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


@asynccontextmanager
async def open_early(keyboard: Keyboard, tell: Tell) -> AsyncGenerator[Callable[[], None]]:
    """The line to type in is there soon, though nobody reads it yet; whoever leaves there cancels the body. Yields
    what is called once lines are read."""
    if not isinstance(keyboard, EditedKeyboard):
        yield lambda: None
        return
    keyboard.prompt = lambda: PROMPT
    async with trio.open_nursery() as nursery:

        def entered(line: str | None) -> None:
            if line is None or line.strip() in LEAVING:
                nursery.cancel_scope.cancel()
            elif line.strip():
                tell(WAITS)

        async def begin() -> None:
            await trio.sleep(SOON_S)
            keyboard.begin()

        def over() -> None:
            keyboard.entered = lambda _line: None

        keyboard.entered = entered
        nursery.start_soon(begin)
        yield over
        nursery.cancel_scope.cancel()
