"""Why a connection could not be made, found among what an error was caused by. Connects to nothing."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from typing import cast


def is_tls(error: BaseException) -> bool:
    """Whether the other end could not prove who it is."""
    return any(isinstance(it, ssl.SSLError) for it in _below(error))


def cause_of(error: BaseException) -> str:
    """The system's own words; empty: none of them."""
    found = next((it for it in _below(error) if isinstance(it, OSError) and it.errno), None)
    if found is None or found.errno is None:
        return ""
    # Who connects adds addresses to the text; what a name cannot be found by has numbers of its own.
    return os.strerror(found.errno) if found.errno > 0 else str(found.strerror)


def unreached(error: BaseException) -> str:
    """As a line for an operator."""
    cause = cause_of(error)
    return f"it cannot be reached: {cause}" if cause else "it cannot be reached"


def _below(error: BaseException | None) -> Iterator[BaseException]:
    """Itself, then what it is made of, then what it came from."""
    if error is None:
        return
    yield error
    if isinstance(error, BaseExceptionGroup):
        for it in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _below(it)
    yield from _below(error.__cause__ or error.__context__)
