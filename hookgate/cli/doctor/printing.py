"""Findings as lines for people, or as one JSON object for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import get_args

from hookgate.channels.printable import one_line
from hookgate.cli.doctor.finding import Finding, State, count


def lines(group: str, findings: Sequence[Finding]) -> Iterator[str]:
    """The group's name, a line for each finding, below it what to type."""
    yield group
    width = max((len(it.subject) for it in findings), default=0)
    for it in findings:
        yield f"  {it.state:<6}  {one_line(it.subject):<{width}}  {one_line(it.what)}"
        if it.remedy:
            yield f"          {'':<{width}}  -> {one_line(it.remedy)}"


def summary(findings: Sequence[Finding]) -> str:
    counts = [f"{number} {state}" for state in get_args(State) if (number := count(findings, state))]
    return ", ".join(counts)


def members(groups: Sequence[tuple[str, Sequence[Finding]]]) -> dict[str, object]:
    """The same as data: whether all that is configured works, and the findings in order."""
    rows = [{"group": group, **asdict(it)} for group, findings in groups for it in findings]
    return {"passed": not any(row["state"] == "broken" for row in rows), "findings": rows}
