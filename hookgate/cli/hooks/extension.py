"""`hookgate hooks check` of a zot extension: started once as a chat would, and what it said as a report of checks."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from time import monotonic

from hookgate import config as configuration
from hookgate.check.report import Finding, Report
from hookgate.cli.ext.doctor import READY, Visit, conflicts, visits
from hookgate.cli.hooks.subjects import Named
from hookgate.cli.printing import complain
from hookgate.config import ConfigError
from hookgate.extensions.discovery import FoundExtensions
from hookgate.mistakes import close
from hookgate.protocol.zot.names import EXTENSION

LATE = "prompts go on without it meanwhile"
LATE_FIX = (
    "start what is compiled or installed already; with a higher zot.hello_timeout_ms prompts wait longer for it"
)


async def extension_report(named: Named) -> Report | None:
    """None where the configuration has a hook of that name, or nothing has. Raises ConfigError where there is such an
    extension and a chat would not start it."""
    config, _ = configuration.load(named.config_file)
    if (word := named.name) in config.hooks.processes:
        return None
    began, name = monotonic(), word.removeprefix(EXTENSION)
    late = list[str]()

    def tell(why: str) -> None:
        late.append(why)
        complain(f"{name}: {why}")

    found, visited = await visits(config, (), only=name, late=tell)
    visit = next((it for it in visited if it.candidate.name == name), None)
    if visit is None or visit.started is None:
        why = _unstarted(found, name, visit)
        there = [it.name for it in found.candidates]
        if not why and word == name and not there:
            return None
        raise ConfigError(why or _nobody(name, [*config.hooks.processes, *there]))
    return Report(visit.candidate.command, tuple(_findings(visit, late=bool(late))), None, monotonic() - began)


def _nobody(name: str, there: Sequence[str]) -> str:
    names = ", ".join(there) or "none"
    none = f"there is no extension {name!r} and no hook{close(name, there)}"
    return f"{none} (there are: {names}); a program goes behind `--`"


def _unstarted(found: FoundExtensions, name: str, visit: Visit | None) -> str:
    if visit is not None:
        what = "it is off in the configuration" if visit.candidate.command else "it has skills alone, and no program"
        return f"the extension {name}: {what}"
    stranger = next((it for it in found.strangers if it.manifest.name == name), None)
    if stranger is not None:
        return stranger.text
    return f"the extension {name} is disabled" if any(it.name == name for it in found.disabled) else ""


def _findings(visit: Visit, *, late: bool) -> Iterator[Finding]:
    if visit.lacks:
        yield Finding("variables", "warn", visit.lacks)
    started, logs = visit.started, f"hookgate ext logs {shlex.quote(visit.candidate.name)}"
    assert started is not None  # noqa: S101 - only those are looked at
    if started.failed:
        yield Finding(
            "start", "FAIL", started.failed, f"say hello as the first line of stdout; `{logs}` has the rest"
        )
        return
    took = f"it said hello, and was up after {started.seconds:.1f} s"
    yield Finding("start", "warn", f"{took}: {LATE}", LATE_FIX) if late else Finding("start", "ok", took)
    unready = started.how_ready == "deadline"
    fix = "send ready once all is registered: a chat waits for it that long" if unready else ""
    yield Finding("ready", "warn" if unready else "ok", READY[started.how_ready], fix)
    yield Finding("tools", "ok" if started.tools else "skip", ", ".join(started.tools) or "it brings none")
    commands = ", ".join(f"/{name}" for name in started.commands)
    yield Finding("commands", "ok" if commands else "skip", commands or "it brings none")
    for line in conflicts([visit]):
        yield Finding("names", "warn", line, "give it a name that nobody has")
