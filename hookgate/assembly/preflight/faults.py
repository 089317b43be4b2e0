"""What a configuration lacks to do what it is for, and whether hookgate starts with it."""

from __future__ import annotations

from collections.abc import Iterable

from hookgate.config import ConfigError
from hookgate.protocol.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """`stops`: hookgate does not start with it, since something would be guarded in the file alone."""

    text: str
    stops: bool = False


def refuse_faults(faults: Iterable[Fault]) -> list[str]:
    """The lines of those that stop nothing. Raises ConfigError with all of the others."""
    notes: list[str] = []
    stopping: list[str] = []
    for fault in faults:
        (stopping if fault.stops else notes).append(fault.text)
    if stopping:
        raise ConfigError(stopping[0], tuple(stopping[1:]))
    return notes


def wants(pattern: str) -> bool:
    """What is excluded need not be there."""
    return not pattern.startswith("!")
