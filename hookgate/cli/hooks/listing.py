"""`hookgate hooks list`: those that run, or else those that would; nothing is started."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hookgate import config as configuration
from hookgate.cli.printing import say_rows, table, width_shown

if TYPE_CHECKING:
    from hookgate.operations.hooks import HookStatus

COLUMNS = (
    "gateway",
    "name",
    "state",
    "pid",
    "restarts",
    "priority",
    "mode",
    "stages",
    "calls",
    "failures",
    "p50_ms",
    "p99_ms",
    "failing",
    "reason",
)


LATER = "known when running"


def list_hooks(config_file: Path | None, control: Path | None, *, as_json: bool) -> int:
    from hookgate.cli.running import asked, running_or_none
    from hookgate.operations.hooks import HookStatus, planned_hooks

    found = running_or_none(config_file, control)
    if found is not None:
        rows, where = asked("hooks.list", HookStatus, found, tell=as_json)
    else:
        config, file = configuration.load(config_file)
        rows = planned_hooks(config, file.parent)
        where = "No hookgate of this configuration is running; this is what it would start."
    return say_rows(rows, lambda: [where, *laid_out(rows)], as_json=as_json)


def laid_out(rows: Sequence[HookStatus]) -> list[str]:
    """Columns that any row fills."""
    if not rows:
        return ["no hooks"]
    cells = [{name: _cell(getattr(row, name)) for name in COLUMNS} for row in rows]
    for row, cell in zip(rows, cells, strict=True):
        cell["stages"] = LATER if row.stages is None else cell["stages"]
    names = [name for name in COLUMNS if any(cell[name] for cell in cells)]
    return table(([cell[name] for name in names] for cell in cells), width_shown(), names)


def _cell(value: str | float | Sequence[str] | None) -> str:
    match value:
        case None:
            return ""
        case str() | int() | float():
            return str(value)
        case _:
            return ",".join(value)
