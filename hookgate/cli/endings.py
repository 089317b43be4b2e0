"""What ends a command, as one line and an exit status."""

from __future__ import annotations

from hookgate.config import ConfigError

CONFIGURATION = 2
FAILED = 1
INTERRUPTED = 130


def ending(error: BaseException) -> tuple[str, int] | None:
    """None for what is nobody's doing but ours: that deserves its traceback."""
    from hookgate.hooks.supervise import RequiredHookFailed
    from hookgate.tools.errors import SandboxUnavailable

    match _single(error):
        case ConfigError() as mistake:
            return f"hookgate: {mistake}", CONFIGURATION
        case RequiredHookFailed() | SandboxUnavailable() as failure:
            return f"hookgate: {failure}", FAILED
        case KeyboardInterrupt():
            return "hookgate: interrupted", INTERRUPTED
        case _:
            return None


def _single(error: BaseException) -> BaseException:
    """Nurseries wrap what leaves them in groups, one in another."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return error  # pyright: ignore[reportUnknownVariableType]
