"""A conformance report as lines for people, or as one JSON object for programs; and the exit status it means."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hookgate.check.report import Finding, Report
from hookgate.protocol.codec import encode

Write = Callable[[str], object]


def print_report(report: Report, write: Write) -> int:
    """A line a check, below it what to fix, at the end a summary. The exit status: 1 if anything failed, else 0."""
    width = max(len(finding.check) for finding in report.findings)
    for finding in report.findings:
        for line in _lines(finding, width):
            write(line + "\n")
    counts = ", ".join(f"{report.count(v)} {v}" for v in ("ok", "warn", "FAIL", "skip") if report.count(v))
    write(f"{counts} in {report.seconds:.1f} s\n")
    return _status(report)


def print_json(report: Report, write: Write) -> int:
    """The same status."""
    write(encode(report.members()).decode() + "\n")
    return _status(report)


def _status(report: Report) -> int:
    return 0 if report.passed else 1


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
