"""`hookgate serve`: opened in order, until it is told to stop; then what runs may end, and everything is closed."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
import trio

from hookgate import config as configuration
from hookgate.assembly.app import Runtime, open_runtime
from hookgate.assembly.channels.opening import Page
from hookgate.assembly.journals import journal_place, open_kept_journal
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.assembly.settings import ExtensionFlags, Ports, Settings
from hookgate.channels.http.bearer import Bearers
from hookgate.channels.http.server import App, serve_http
from hookgate.config import ConfigError
from hookgate.control.opening import open_gateway_control
from hookgate.extensions.trust import Trust
from hookgate.operations.hooks import reload_hooks
from hookgate.operations.refused import OperationRefused
from hookgate.operations.rolling import run_member
from hookgate.program.starting import begun
from hookgate.protocol.catalog import StoreBusy
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.serve.http import mounted
from hookgate.serve.metrics import make_metrics
from hookgate.serve.notify import notify, run_watchdog
from hookgate.serve.readiness import Looking
from hookgate.serve.rpc import rpc_endpoint
from hookgate.serve.signals import HEARD, Orders

if TYPE_CHECKING:
    from hookgate.store.journal import StoredJournal

log = structlog.get_logger("hookgate.serve")

NO_CHANNEL = (
    "No channel is configured, so nobody can talk to it. `hookgate init --gateway` shows one; the least is a page: "
    '[channels.web] with kind = "web" in hookgate.toml.'
)
OWN_JOURNAL = "a second gateway needs a journal of its own: journal or url below [store] in its hookgate.toml"


@dataclass(frozen=True)
class Flags:
    """`control`: where its socket stands, instead of what the configuration says. `say`: takes a line for people."""

    say: Callable[[str], None]
    control: Path | None = None


@dataclass(frozen=True)
class Served:
    """`address`: HOST:PORT with the port that was taken. `paths`: what answers programs there."""

    runtime: Runtime
    address: str
    paths: tuple[str, ...] = ()

    @property
    def lines(self) -> Iterator[str]:
        """Where people find what answers, for whoever has started it."""
        yield f"hookgate answers at http://{self.address}/"
        if not self.runtime.settings.config.channels:
            yield NO_CHANNEL
        yield from self.pages
        yield from (f"programs: http://{self.address}{path}" for path in self.paths)

    @property
    def pages(self) -> Iterator[str]:
        yield from self._below("")

    @property
    def operators(self) -> Iterator[str]:
        """The operators' pages, if they are on."""
        if self.runtime.settings.config.http.ops:
            yield from self._below("ops")

    def _below(self, path: str) -> Iterator[str]:
        for name, page in self.runtime.pages.items():
            token = f"#token={page.token}" if page.token else ""
            yield f"{name}: {page.origin or f'http://{self.address}'}/{path}{token}"


def settled(config_file: Path | None) -> Settings:
    """What a program that nobody sits at is told. Raises ConfigError."""
    config, file = configuration.load(config_file)
    extensions = ExtensionFlags(trust=Trust(configuration.trust_folder()))
    return Settings(config, file.parent, config_file, extensions=extensions, serving=True)


async def run_serve(settings: Settings, flags: Flags) -> int:
    """The exit status: 0 where it was told to stop. Raises ConfigError, StoreFailed and what else ends a start."""
    set_up_logs(settings.config.log)
    place, watched_s = configuration.watched_by()
    with trio.open_signal_receiver(*HEARD) as signals:
        async with trio.open_nursery() as nursery:
            orders = Orders(nursery.cancel_scope)
            nursery.start_soon(orders.run, signals)
            async with open_gateway(settings, flags.control, orders.stop) as served:
                begun()
                orders.reload = partial(reload, served.runtime, place)
                nursery.start_soon(run_watchdog, place, watched_s / 2)
                notify(place, "READY=1")
                for line in served.lines:
                    flags.say(line)
                await orders.stop.wait()
                notify(place, "STOPPING=1")
                await drain(served.runtime)
            nursery.cancel_scope.cancel()
    return 0


@asynccontextmanager
async def open_gateway(settings: Settings, control: Path | None, stopping: trio.Event) -> AsyncGenerator[Served]:
    """The journal first: what somebody else has is not begun with. `stopping`: nothing is taken in from then on."""
    config = settings.config
    async with AsyncExitStack() as stack:
        file = journal_place(config)
        try:
            journal = await stack.enter_async_context(open_kept_journal(config, file, named=True))
        except* StoreBusy as group:
            raise StoreBusy(f"{group.exceptions[0]}: {OWN_JOURNAL}") from None
        runtime = await stack.enter_async_context(open_runtime(settings, Ports((), journal=journal)))
        if config.control.enabled or control:
            await stack.enter_async_context(open_gateway_control(runtime, control))
        pages = _pages(runtime, journal)
        endpoints = {**runtime.endpoints, **_surfaces(runtime, journal)}
        app = mounted(Looking(runtime, stopping), pages, endpoints)
        address = await stack.enter_async_context(_open_http(app, pages, config.http.listen))
        nursery = await stack.enter_async_context(trio.open_nursery())
        if not isinstance(file, Path):
            nursery.start_soon(run_member, runtime)
        yield Served(runtime, address, tuple(endpoints))
        nursery.cancel_scope.cancel()


def _pages(runtime: Runtime, journal: StoredJournal) -> tuple[Page, ...]:
    """Those of the channels, with the operators' page below each, where that is on."""
    if not runtime.settings.config.http.ops:
        return tuple(runtime.pages.values())
    from hookgate.channels.web.ops.app import with_ops
    from hookgate.serve.ops import ops_parts

    parts = ops_parts(runtime, journal)
    pages = runtime.pages.items()
    return tuple(replace(page, app=with_ops(page.app, name, page.door, parts)) for name, page in pages)


def _surfaces(runtime: Runtime, journal: StoredJournal) -> dict[str, App]:
    """What answers operators and their programs, by path."""
    surfaces = rpc_endpoint(runtime, journal)
    if runtime.settings.config.http.metrics:
        operates = partial(runtime.policies.operates, "metrics")
        surfaces["/metrics"] = make_metrics(runtime, Bearers("metrics", runtime.keys, operates))
    return surfaces


@asynccontextmanager
async def _open_http(app: App, pages: Iterable[Page], listen: str) -> AsyncGenerator[str]:
    """The address. Leaving ends the streams that are open. Raises ConfigError where it cannot be had."""

    async def serve(task_status: trio.TaskStatus[str]) -> None:
        try:
            await serve_http(app, listen, started=task_status.started, stop=stop)
        except OSError as error:
            raise ConfigError(f"http.listen: {listen} cannot be had: {error.strerror or error}") from None

    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        address = await nursery.start(serve)
        for page in pages:
            page.channel.served(accepting=True)
        yield address
        stop.set()
        for page in pages:
            page.channel.served(accepting=False)


async def reload(runtime: Runtime, place: str) -> None:
    """Take over what the configuration says now; on a mistake it is in the log, and nothing changes."""
    notify(place, "RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
    try:
        done = await reload_hooks(runtime)
    except OperationRefused as error:
        log.error("not_reloaded", reason=str(error))
    else:
        log.info("reloaded")
        if done.needs_restart:
            sections = ", ".join(done.needs_restart)
            log.warning(f"reloaded, but what changed in {sections} counts only after a restart")
    notify(place, "READY=1")


async def drain(runtime: Runtime) -> None:
    """Until what runs has ended, as long as that may take; what is cut off then is stored, and goes on with the next
    start."""
    with trio.move_on_after(runtime.settings.config.gateway.drain_s) as patience:
        await runtime.gateway.drain()
    if patience.cancelled_caught:
        busy = [session.key for session in runtime.gateway.sessions.values() if session.busy]
        log.warning("turns_cut_off", sessions=busy, after_s=runtime.settings.config.gateway.drain_s)
