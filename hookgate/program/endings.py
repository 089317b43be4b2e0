"""What ends a command, as one line and an exit status."""

from __future__ import annotations

from typing import cast

from hookgate.config import ConfigError

FAILED = 1
CONFIGURATION = 2
"""What was asked for, or what is configured, cannot be meant."""
DENIED = 3
"""An answer came, and a call on the way to it was refused: only where somebody wants to know."""
INTERRUPTED = 130
PIPE_CLOSED = 141
"""Whoever read the output has enough of it: what SIGPIPE makes of other programs."""
GATEWAY_EXTRA = frozenset(
    {
        *("PIL", "argon2", "filetype", "h11", "hypercorn", "linkify_it", "markdown_it", "nh3", "pygments"),
        "starlette",
    }
)
"""What is imported where it is needed, and may not be there."""


def ending(error: BaseException) -> tuple[str, int] | None:
    """None for what is nobody's doing but ours: that deserves its traceback. The line is empty where there is
    nothing to say."""
    from hookgate.control.client import ControlFailed, NothingRunning
    from hookgate.control.place import ControlUnavailable
    from hookgate.hooks.children.supervise import RequiredHookFailed
    from hookgate.protocol.catalog import StoreFailed
    from hookgate.tools.errors import SandboxUnavailable
    from hookgate.tools.mcp.server import RequiredServerFailed

    match _single(error):
        case ConfigError() as mistake:
            return f"hookgate: {mistake}", CONFIGURATION
        case (
            RequiredHookFailed()
            | SandboxUnavailable()
            | StoreFailed()
            | RequiredServerFailed()
            | NothingRunning()
            | ControlFailed()
            | ControlUnavailable()
        ) as failure:
            return f"hookgate: {failure}", FAILED
        case ModuleNotFoundError(name=str(name)) if name.partition(".")[0] in GATEWAY_EXTRA:
            return f'hookgate: {name} is not installed: pip install "hookgate[gateway]"', CONFIGURATION
        case BrokenPipeError():
            return "", PIPE_CLOSED
        case OSError() as error:
            return f"hookgate: {error.filename or 'output'}: {error.strerror or error}", FAILED
        case KeyboardInterrupt():
            return "hookgate: interrupted", INTERRUPTED
        case _:
            return None


def _single(error: BaseException) -> BaseException:
    """Nurseries wrap what leaves them in groups, one in another."""
    while isinstance(error, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", error).exceptions
        if len(inner) != 1:
            break
        error = inner[0]
    return cast("BaseException", error)
