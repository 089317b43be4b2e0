"""What ends a command, as one line and an exit status."""

from __future__ import annotations

import sys
from collections.abc import Iterator
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
    """None for what is nobody's doing but ours: that deserves its traceback. The lines are empty where there is
    nothing to say."""
    texts, statuses = dict[str, None](), set[int]()
    for one in _leaves(error):
        plain = _plain(one)
        if plain is None:
            return None
        texts[plain[0]] = None
        statuses.add(plain[1])
    return "\n".join(filter(None, texts)), max(statuses)


def over_echo() -> str:
    """What begins a line on stderr where Ctrl-C was pressed: a terminal has written `^C` there."""
    return "\r" if sys.stderr.isatty() else ""


def _plain(error: BaseException) -> tuple[str, int] | None:
    from hookgate.control.client import ControlFailed, NothingRunning
    from hookgate.control.place import ControlUnavailable
    from hookgate.hooks.children.supervise import RequiredHookFailed
    from hookgate.protocol.catalog import StoreFailed
    from hookgate.tools.errors import SandboxUnavailable
    from hookgate.tools.mcp.server import RequiredServerFailed

    match error:
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


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """Nurseries wrap what leaves them in groups, one in another, and several things may leave one at once."""
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _leaves(inner)
    else:
        yield error
