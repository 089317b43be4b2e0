"""What a benchmark hands over: a figure beside its floor, and the bar it is held against. Measures nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

Unit = Literal["µs", "ms", "MB", ""]
Pair = tuple[float, float]
"""(floor, measured) of one run."""


@dataclass(frozen=True, slots=True)
class Run:
    """How much to measure. `echo` is the Go child, built; `share` shrinks every count, for a smoke test."""

    echo: Path
    rounds: int = 9
    share: float = 1.0

    def times(self, count: int) -> int:
        return max(1, round(count * self.share))


@dataclass(frozen=True, slots=True)
class Bar:
    """What is promised. `limit`: times the floor, or with `absolute` in `unit`; None promises nothing.

    `or_times`: also kept where the value is at most so many times the floor. `and_times`: of the floor, on top of an
    absolute limit. `main`: README shows it too.
    """

    what: str
    floor_is: str
    unit: Unit
    limit: float | None = None
    absolute: bool = False
    or_times: float | None = None
    and_times: float = 0.0
    main: bool = False

    def judged(self, pairs: Sequence[Pair]) -> Figure:
        """The ratio is the median of each run's own: a slow minute of the machine then counts on both sides."""
        floor, value = median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)
        return Figure(self, floor, value, median(pair[1] / pair[0] for pair in pairs))


@dataclass(frozen=True, slots=True)
class Figure:
    """`floor` and `value` in the bar's unit."""

    bar: Bar
    floor: float
    value: float
    ratio: float

    @property
    def met(self) -> bool:
        if self.bar.or_times is not None and self.ratio <= self.bar.or_times:
            return True
        judged = self.value - self.bar.and_times * self.floor if self.bar.absolute else self.ratio
        return self.bar.limit is None or judged <= self.bar.limit


def quantile(values: Sequence[float], share: float) -> float:
    """The value that `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
