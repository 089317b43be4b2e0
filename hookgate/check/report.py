"""What a conformance run found, as values. Does not know how anything was found out, nor how it is printed."""

from __future__ import annotations

from typing import Literal

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.hello import Hello
from hookgate.protocol.hook.stages import Stage

Verdict = Literal["ok", "warn", "FAIL", "skip"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One check. `fix` says in plain words what to do; `stderr` holds the hook's last lines where it failed.

    `skip`: there was nothing to check (no owned tools, say), which is nobody's fault. `came` and `expected`: what the
    hook wrote, and what would have been right, where that says more than `what`.
    """

    check: str
    verdict: Verdict
    what: str
    fix: str = ""
    stderr: tuple[str, ...] = ()
    came: str = ""
    expected: str = ""

    def members(self) -> dict[str, object]:
        given = {"check": self.check, "verdict": self.verdict, "what": self.what}
        if self.expected:
            given |= {"came": self.came, "expected": self.expected}
        return {**given, "fix": self.fix, "stderr": self.stderr} if self.fix else dict(given)


@dataclass(frozen=True, slots=True)
class Report:
    """`declared` is None where the hook never introduced itself; `seconds` is what the whole run took."""

    command: tuple[str, ...]
    findings: tuple[Finding, ...]
    declared: Hello | None
    seconds: float

    def count(self, verdict: Verdict) -> int:
        return sum(finding.verdict == verdict for finding in self.findings)

    @property
    def passed(self) -> bool:
        return not self.count("FAIL")

    def members(self) -> dict[str, object]:
        """The report as a JSON object."""
        return {
            "command": self.command,
            "passed": self.passed,
            "counts": {verdict: self.count(verdict) for verdict in ("ok", "warn", "FAIL", "skip")},
            "seconds": round(self.seconds, 3),
            "declared": _declared_members(self.declared) if self.declared else None,
            "checks": [finding.members() for finding in self.findings],
        }


def _declared_members(hello: Hello) -> dict[str, object]:
    return {
        "name": hello.name,
        "stages": None if hello.stages is None else [stage for stage in Stage if stage in hello.stages],
        "events": hello.events,
        "tools": [spec.name for spec in hello.tools],
        "cancel": hello.cancel,
        "max_in_flight": hello.max_in_flight,
    }


def ok(check: str, what: str) -> Finding:
    return Finding(check, "ok", what)


def skipped(check: str, what: str) -> Finding:
    return Finding(check, "skip", what)


def warned(check: str, what: str, fix: str) -> Finding:
    return Finding(check, "warn", what, fix)


def failed(check: str, what: str, fix: str, came: str = "", expected: str = "") -> Finding:
    return Finding(check, "FAIL", what, fix, came=came, expected=expected)
