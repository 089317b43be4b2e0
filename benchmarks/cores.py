"""Which core runs what while a round trip is timed.

Two processes that do nothing but wake each other often land on one core, where a bare round trip takes a fifth of
what it takes between two, and as often do not: a floor that jumps so is none. A hook with work of its own is on
another core.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def cores_apart() -> Iterator[Callable[[], None]]:
    """Children that start inside get the last core; when the yielded function is called, this process takes the
    first. On one core it all stays there."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield lambda: os.sched_setaffinity(0, {min(cores)})
    finally:
        os.sched_setaffinity(0, cores)
