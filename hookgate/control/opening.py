"""The control socket of a running gateway, where operators ask it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from pathlib import Path

import structlog
import trio

from hookgate import config as configuration
from hookgate.assembly.app import Runtime
from hookgate.control.client import socket_path
from hookgate.control.methods import Methods
from hookgate.control.place import ControlUnavailable, linked
from hookgate.control.serve import open_control

log = structlog.get_logger("hookgate.control")


@asynccontextmanager
async def open_gateway_control(runtime: Runtime, path: Path | None) -> AsyncGenerator[None]:
    """Serve the gateway's methods. Without an explicit path a socket that cannot be had is only logged.

    Raises ControlUnavailable for an explicit path.
    """

    async def methods() -> Methods:
        # What all of them are made of is dear to load: for whoever asks, and in a thread, since nobody else waits.
        await trio.to_thread.run_sync(import_module, "hookgate.control.gateway")
        from hookgate.control.gateway import gateway_methods

        return gateway_methods(runtime)

    section = runtime.settings.config.control
    explicit = path or (Path(section.path) if section.path else None)
    usual = socket_path(configuration.runtime_directory())
    socket = explicit or usual
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(open_control(socket, methods))
        except ControlUnavailable as error:
            if explicit:
                raise
            log.warning("no_control_socket", reason=str(error))
        if explicit:
            _link(stack, usual, explicit)
        yield


def _link(stack: AsyncExitStack, usual: Path, socket: Path) -> None:
    """Whoever runs a command anywhere finds it, and so is told which gateways run."""
    try:
        stack.enter_context(linked(usual, socket))
    except ControlUnavailable as error:
        log.warning("control_socket_not_linked", reason=str(error))
