"""How a hook has done: calls, failures, how long the last ones took, and whether it fails now."""

from __future__ import annotations

from collections import deque
from time import monotonic

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.payloads import HookFailed
from hookgate.protocol.hook.stages import Stage

KEPT = 1024
QUIET_S = 10.0
"""Of a hook that fails at every call the same is told once in this time, with how often it failed since; what is left
when a turn ends is told then."""
MOST_TOLD = 16
"""So many different things in that time: a model makes up names of tools without end."""


@dataclass
class _Streak:
    """Failures in a row at one stage."""

    count: int
    reason: str


class Stats:
    def __init__(self) -> None:
        self.calls = 0
        self.failures = 0
        self.decisions: dict[str, int] = {}
        self._durations_ns: deque[int] = deque(maxlen=KEPT)
        self._streaks: dict[str, _Streak] = {}
        self._told: dict[tuple[str, str], float] = {}
        self._untold = 0
        self._counted: HookFailed | None = None

    def record(self, action: str, duration_ns: int) -> bool:
        """Whether it has failed somewhere and not succeeded since."""
        self.calls += 1
        # A Counter takes an item three times as long.
        self.decisions[action] = self.decisions.get(action, 0) + 1
        self._durations_ns.append(duration_ns)
        return bool(self._streaks)

    def quantile_ms(self, share: float) -> float | None:
        """Milliseconds, over the last calls; None before the first."""
        if not self._durations_ns:
            return None
        ordered = sorted(self._durations_ns)
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))] / 1e6, 3)

    @property
    def failing(self) -> str:
        """At which stages it has not succeeded since it failed, how often and why; empty: it works."""
        return "; ".join(
            f"{streak.reason} ({stage}{f', {streak.count} times' if streak.count > 1 else ''})"
            for stage, streak in self._streaks.items()
        )

    def failed(self, failure: HookFailed, tool: str = "") -> int:
        """How often it has failed since something of it was told last; 0 where it has just been told of this tool at
        this stage, or of very many: then it is counted."""
        stage, now = failure.stage, monotonic()
        before = self._streaks.get(stage)
        self._streaks[stage] = _Streak(before.count + 1 if before else 1, failure.reason)
        self.failures += 1
        self._untold += 1
        self._told = {thing: at for thing, at in self._told.items() if now - at < QUIET_S}
        if (stage, tool) in self._told or len(self._told) >= MOST_TOLD:
            if failure.let_through or self._counted is None:
                self._counted = failure
            return 0
        self._told[stage, tool] = now
        return self._tell()

    def counted(self) -> tuple[HookFailed, int] | None:
        """What was counted and is told now: one of these failures, the last that let something through where one did,
        and how many there are; None: all was told."""
        counted = self._counted
        return None if counted is None else (counted, self._tell())

    def _tell(self) -> int:
        times, self._untold, self._counted = self._untold, 0, None
        return times

    def succeeded(self, stage: Stage) -> int:
        """How often in a row it had failed there."""
        streak = self._streaks.pop(stage, None)
        return streak.count if streak else 0

    def exchanged(self) -> None:
        """Another process stands in its place, of which nothing is known yet."""
        self._streaks.clear()
