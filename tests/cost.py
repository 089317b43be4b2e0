"""What work costs this process, for promises that no input takes more than its length explains. Knows no work."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from time import process_time

LINEAR_S = 30.0
"""Of processor time, which no neighbour on the machine can use up; what grows with the square of a megabyte needs
minutes at the least."""


@contextmanager
def linear() -> Generator[None]:
    """The work inside cannot be quadratic. For inputs of a megabyte or so."""
    begun = process_time()
    yield
    assert process_time() - begun < LINEAR_S
