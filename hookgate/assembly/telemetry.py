"""What a gateway tells operators of itself, put together: it hears events as channels do."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import time

from hookgate.assembly.logs.sinks import observer
from hookgate.hooks.rules import Mount
from hookgate.telemetry.turns import OBSERVED, LiveTurns


@dataclass(frozen=True)
class Telemetry:
    """`started_at`: seconds of the wall clock."""

    turns: LiveTurns = field(default_factory=LiveTurns)
    started_at: float = field(default_factory=time)

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """What hears for it."""
        return (observer("status", OBSERVED, self.turns.hear),)
