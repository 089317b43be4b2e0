"""The MCP SDK: imported when the first connection is made, in a thread, for it takes over a second."""

from __future__ import annotations

import importlib
import importlib.util
import logging
from functools import cache

import structlog
import trio

from hookgate.tools.mcp.server import ConnectFailed

log = structlog.get_logger("hookgate.mcp")

MISSING = 'MCP servers need an extra that is not installed: pip install "hookgate[mcp]"'
_MODULES = ("mcp.client.client", "mcp.client.streamable_http", "httpx2", "mcp_types")


def installed() -> bool:
    """Whether the extra is there; imports nothing of it."""
    # Not `mcp`: a mere folder of that name in the working directory would do.
    return importlib.util.find_spec("mcp_types") is not None


async def load() -> None:
    """Import the SDK. Raises ConnectFailed where it is not installed."""
    if not installed():
        raise ConnectFailed(MISSING, lasting=True)
    await trio.to_thread.run_sync(_import)


@cache
def _import() -> None:
    for name in _MODULES:
        importlib.import_module(name)
    # The SDK logs what servers send, with tracebacks; unconfigured, the standard library prints that on stderr.
    logger = logging.getLogger("mcp")
    logger.propagate = False
    logger.handlers = [_Forwarded()]


class _Forwarded(logging.Handler):
    """Records of the SDK in hookgate's own log, as details."""

    def emit(self, record: logging.LogRecord) -> None:
        log.debug("mcp_sdk", module=record.name, message=record.getMessage()[:500])
