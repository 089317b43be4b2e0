"""How every command ends: with a status; what a person can mend is one line on stderr. Imports little."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager


def run(main: Callable[[], Awaitable[int]]) -> None:
    """Run an async command to its exit status."""
    from hookgate.program.signals import run_interruptibly

    guarded(lambda: run_interruptibly(main))


@contextmanager
def needing_gateway() -> Generator[None]:
    """Round imports that need the gateway's extra: where it is missing that is a line, not a traceback."""
    from hookgate.config import ConfigError

    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("hookgate"):
            raise
        raise ConfigError(f"{error.name} is not installed: this needs `pip install 'hookgate[gateway]'`") from None


def guarded(command: Callable[[], int]) -> None:
    """Exit with the command's status; what a person can mend is one line on stderr, never a traceback."""
    try:
        status = command()
        # Here, where a reader that has gone is known what to do about.
        sys.stdout.flush()
    except (Exception, BaseExceptionGroup, KeyboardInterrupt) as error:
        known = _complained(error)
        if known is None:
            raise
        status = known
    raise SystemExit(status)


@contextmanager
def written() -> Generator[None]:
    """Round what is printed before a command runs, help say: where nobody reads it, or it has no room, that ends as a
    command does."""
    try:
        yield
    except OSError as error:
        raise SystemExit(_complained(error)) from None


def _complained(error: BaseException) -> int | None:
    """The exit status, with a line on stderr where there is something to say; None for what is ours to mend."""
    from hookgate.program.endings import INTERRUPTED, ending, over_echo

    plain = ending(error)
    if plain is None:
        return None
    text, status = plain
    if text:
        from hookgate.cli.printing import complain

        if status == INTERRUPTED:
            sys.stderr.write(over_echo())
        complain(text)
    _unread()
    return status


def _unread() -> None:
    """What is still to be written where nobody reads, or no room is, goes nowhere: Python would complain of it at the
    end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
