"""Figures as a Markdown table, the machine they come from, and the copies of both in pages. Measures nothing."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.figures import Figure
from tests.gotool import run_go

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
HEAD = "| what | beside | floor | hookgate | ratio | bar | |\n|---|---|---:|---:|---:|---:|---|"


def table(figures: Sequence[Figure]) -> str:
    return "\n".join([HEAD, *map(row, figures)])


def row(figure: Figure) -> str:
    bar = figure.bar
    ratio = "" if bar.absolute else f"{figure.ratio:.2f}"
    verdict = "" if bar.limit is None else ("ok" if figure.met else "**over**")
    amounts = f"{_amount(figure.floor)} {bar.unit} | {_amount(figure.value)} {bar.unit}"
    return f"| {bar.what} | {bar.floor_is} | {amounts} | {ratio} | {_limit(figure)} | {verdict} |"


def _limit(figure: Figure) -> str:
    bar = figure.bar
    if bar.limit is None:
        return ""
    either = f" or {bar.or_times:g} ×" if bar.or_times is not None else ""  # noqa: RUF001 - times
    more = f" + {bar.and_times:g} ×" if bar.and_times else ""  # noqa: RUF001 - times
    return f"{bar.limit:g} {bar.unit}{more}{either}" if bar.absolute else f"{bar.limit:g} ×"  # noqa: RUF001 - times


def _amount(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def machine() -> str:
    """One line: cores, processor, versions, day."""
    go = run_go("env", "GOVERSION", cwd=Path(__file__).parent / "go" / "echo").strip().removeprefix("go")
    day = datetime.now(UTC).date().isoformat()
    cores = f"{len(os.sched_getaffinity(0))} cores ({_processor()})"
    return f"{cores}, Python {platform.python_version()}, Go {go}, {day}; medians of several runs."


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def rewritten(page: str, text: str) -> str:
    """The page with `text` between its markers. Raises ValueError where they are missing."""
    before, found, rest = page.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise ValueError(f"the page has no {BEGIN} ... {END}")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"
