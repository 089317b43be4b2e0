"""What a gateway tells operators of itself, put together: it hears events as channels do."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import time

from hookgate.assembly.logs.sinks import observer
from hookgate.hooks.rules import Mount
from hookgate.telemetry import metrics, turns
from hookgate.telemetry.metrics import Metrics
from hookgate.telemetry.turns import LiveTurns


@dataclass(frozen=True)
class Telemetry:
    """`started_at`: seconds of the wall clock."""

    turns: LiveTurns = field(default_factory=LiveTurns)
    metrics: Metrics = field(default_factory=Metrics)
    started_at: float = field(default_factory=time)

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """What hears for it."""
        heard = (("turns", turns.OBSERVED, self.turns.hear), ("metrics", metrics.OBSERVED, self.metrics.hear))
        return tuple(observer(*it) for it in heard)
