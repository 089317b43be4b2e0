"""The control socket of a running gateway: what operators may ask, served to them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import structlog

from hookgate import config as configuration
from hookgate.assembly.app import Runtime
from hookgate.control.client import socket_path
from hookgate.control.place import ControlUnavailable
from hookgate.control.serve import open_control
from hookgate.operations.gateway import gateway_methods

log = structlog.get_logger("hookgate.control")


@asynccontextmanager
async def open_gateway_control(runtime: Runtime, path: Path | None) -> AsyncGenerator[None]:
    """Serve the gateway's methods. Without an explicit path a socket that cannot be had is only logged.

    Raises ControlUnavailable for an explicit path.
    """
    section = runtime.settings.config.control
    explicit = path or (Path(section.path) if section.path else None)
    socket = explicit or socket_path(configuration.runtime_directory())
    served = gateway_methods(runtime)
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(open_control(socket, served))
        except ControlUnavailable as error:
            if explicit:
                raise
            log.warning("no_control_socket", reason=str(error))
        yield
