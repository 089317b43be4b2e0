"""A conformance report as lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from hookgate.check.report import Finding, Report


def report_lines(report: Report) -> Iterator[str]:
    """A line a check, below it what to fix, at the end a summary."""
    width = max(len(finding.check) for finding in report.findings)
    for finding in report.findings:
        yield from _lines(finding, width)
    counts = ", ".join(f"{report.count(v)} {v}" for v in ("ok", "warn", "FAIL", "skip") if report.count(v))
    yield f"{counts} in {report.seconds:.1f} s"


def _lines(finding: Finding, width: int) -> Iterator[str]:
    yield f"{finding.verdict:<4}  {finding.check:<{width}}  {_plain(finding.what)}"
    if finding.expected:
        yield f"      came:     {_plain(finding.came)}"
        yield f"      expected: {_plain(finding.expected)}"
    if finding.fix:
        yield f"      fix: {finding.fix}"
    for line in finding.stderr:
        yield f"      stderr: {_plain(line)}"


def _plain(text: str) -> str:
    """A hook's own words, without anything that steers a terminal."""
    return "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
