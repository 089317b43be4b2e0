"""Extensions, as `hookgate ext doctor` looks at them: each that a chat would load is started once."""

from __future__ import annotations

from collections.abc import Iterator

from hookgate.cli.doctor.finding import Examined, Finding, broken, note, ok
from hookgate.cli.ext.doctor import READY, Visit, conflicts, visits
from hookgate.extensions.discovery import FoundExtensions


async def extensions(it: Examined) -> list[Finding]:
    """In load order; then what is not loaded, and why. Raises ConfigError."""
    found, visited = await visits(it.config, it.extensions)
    lacking = [note(it.candidate.name, it.lacks) for it in visited if it.lacks]
    names = [note("names", line) for line in conflicts(visited)]
    return [*map(_visited, visited), *lacking, *names, *_unloaded(found)]


def _visited(it: Visit) -> Finding:
    of = it.candidate
    if not of.command:
        return ok(of.name, f"skills: {', '.join(of.manifest.skills)}")
    if it.started is None:
        return ok(of.name, "off: the configuration does not enable it")
    if it.started.failed:
        return broken(of.name, f"{of.directory}: {it.started.failed}", f"hookgate ext logs {of.name}")
    names = (*it.started.tools, *(f"/{name}" for name in it.started.commands))
    return ok(of.name, f"ready: {READY[it.started.how_ready]}; it brings {', '.join(names) or 'no names'}")


def _unloaded(found: FoundExtensions) -> Iterator[Finding]:
    yield from (ok(it.name, f"disabled: {it.directory}") for it in found.disabled)
    yield from (note(it.entry.name, it.text) for it in (*found.shadowed, *found.strangers))
    yield from (broken(it.directory.name, it.text) for it in found.problems)
