"""Figures, and the text formats in which Prometheus and OpenMetrics read them. Knows no figure by name."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Literal

from hookgate.protocol.dataclasses import dataclass

Values = tuple[str, ...]
Sample = tuple[str, Values, float]
"""What is appended to the family's name, the values of its labels, the figure."""

MOST_SERIES = 500
"""Of one family: what comes then counts as OTHER, so that names which others make up cost no more memory."""
OTHER = "other"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""From a hook that answers at once to a turn that waited for a person."""
TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Family:
    """`name`: without the suffix of its kind."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: Values
    samples: Iterable[Sample]


class Counts:
    """What only grows, by the values of its labels."""

    def __init__(self, name: str, help_: str, *labels: str) -> None:
        self._head = (name, "counter", help_, labels)
        self.series: dict[Values, float] = {}

    def add(self, *values: str, amount: float = 1.0) -> None:
        key = _kept(self.series, values)
        self.series[key] = self.series.get(key, 0.0) + amount

    @property
    def family(self) -> Family:
        return Family(*self._head, [("_total", *it) for it in self.series.items()])


class Durations:
    """Seconds, counted by how many took no longer than each of SECONDS, by the values of its labels."""

    def __init__(self, name: str, help_: str, *labels: str) -> None:
        self._head = (name, "histogram", help_, (*labels, "le"))
        self._series: dict[Values, tuple[list[int], list[float]]] = {}

    def add(self, *values: str, seconds: float) -> None:
        counts, total = self._series.setdefault(_kept(self._series, values), ([0] * (len(SECONDS) + 1), [0.0]))
        counts[bisect_left(SECONDS, seconds)] += 1
        total[0] += seconds

    @property
    def family(self) -> Family:
        return Family(*self._head, self._samples())

    def _samples(self) -> Iterator[Sample]:
        for values, (counts, [total]) in self._series.items():
            below = list(accumulate(counts))
            yield from (("_bucket", (*values, bound), count) for bound, count in zip(BOUNDS, below, strict=True))
            yield "_sum", values, total
            yield "_count", values, below[-1]


BOUNDS = (*map(repr, SECONDS), "+Inf")


def _kept(series: Mapping[Values, object], values: Values) -> Values:
    full = values not in series and len(series) >= MOST_SERIES
    return (OTHER,) * len(values) if full else values


def wants_openmetrics(accept: str) -> bool:
    return OPENMETRICS.partition(";")[0] in accept


def exposition(families: Iterable[Family], *, openmetrics: bool) -> bytes:
    """In OpenMetrics a counter's family has no suffix, and the end is marked."""
    lines = list[str]()
    for it in families:
        name = it.name if openmetrics or it.kind != "counter" else f"{it.name}_total"
        lines += [f"# HELP {name} {it.help}", f"# TYPE {name} {it.kind}"]
        lines += [
            f"{it.name}{suffix}{_labelled(it.labels, values)} {figure}" for suffix, values, figure in it.samples
        ]
    return "\n".join([*lines, *(["# EOF"] if openmetrics else []), ""]).encode()


def _labelled(labels: Values, values: Values) -> str:
    """As many labels as there are values."""
    pairs = (f'{label}="{_escaped(value)}"' for label, value in zip(labels, values, strict=False))
    return f"{{{','.join(pairs)}}}" if values else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
