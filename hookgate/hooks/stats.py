"""How a hook has done: calls, failures, and how long the last ones took."""

from __future__ import annotations

from collections import deque

KEPT = 1024


class Stats:
    def __init__(self) -> None:
        self.calls = 0
        self.failures = 0
        self._durations_ns: deque[int] = deque(maxlen=KEPT)

    def record(self, duration_ns: int, failed: bool) -> None:
        self.calls += 1
        self.failures += failed
        self._durations_ns.append(duration_ns)

    def quantile_ms(self, share: float) -> float | None:
        """Milliseconds, over the last calls; None before the first."""
        if not self._durations_ns:
            return None
        ordered = sorted(self._durations_ns)
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))] / 1e6, 3)
