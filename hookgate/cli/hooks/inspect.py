"""Commands that look and start nothing: config check, hooks list."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hookgate import config as configuration
from hookgate.assembly.hooks.opening import plans
from hookgate.cli.printing import counted, say, say_rows, table, width_shown
from hookgate.config import ConfigError
from hookgate.sections import Config

if TYPE_CHECKING:
    from hookgate.operations.hooks import HookStatus


def check_config(config_file: Path | None, *, strict: bool = False) -> int:
    """What would keep the gateway from starting is an error; what is only odd is a note, and one too where it is
    `strict`. Raises ConfigError."""
    from hookgate.assembly.models import unknown_of
    from hookgate.assembly.preflight.check import NO_START, check_files, check_tools

    config, file = _loaded(config_file)
    workspace, planned = configuration.workspace_folder(config), plans(config, file.parent)
    if config.providers and not config.agent.model:
        raise configuration.no_model(config)
    check_files(config, file.parent)
    check_tools(config, file.parent)
    notes = [*_refused(config, file.parent), *_notes(config, file, workspace)]
    for note in notes:
        say(f"note: {note}")
    if notes and strict:
        raise ConfigError(f"{file}: {counted(len(notes), 'note')}, and --strict takes none")
    if any(note.endswith(NO_START) for note in notes):
        raise ConfigError(f"{file}: as it is here, {NO_START}")
    rules = counted(len(config.approvals), "approval rule")
    fine = f"{file}: fine. Model {config.agent.model or '(none)'}, {counted(len(planned), 'hook')}, {rules}."
    say(f"{fine} {unknown_of(config, config.agent.model)}".rstrip())
    return 0


def _loaded(config_file: Path | None) -> tuple[Config, Path]:
    with _every_mistake():
        return configuration.load(config_file)


def _refused(config: Config, base: Path) -> list[str]:
    from hookgate.assembly.preflight.naming import refuse_faults, start_faults

    with _every_mistake():
        return refuse_faults(start_faults(config, base))


@contextmanager
def _every_mistake() -> Generator[None]:
    """All are printed, not the first alone."""
    try:
        yield
    except ConfigError as error:
        for other in error.others:
            sys.stderr.write(f"hookgate: {other}\n")
        raise ConfigError(error.first) from None


def _notes(config: Config, file: Path, workspace: Path) -> Iterator[str]:
    from hookgate.assembly.preflight.check import unkept, unset
    from hookgate.assembly.preflight.failing_open import failing_open, open_guard
    from hookgate.assembly.preflight.naming import strange_names

    yield from strange_names(config)
    yield from unset(config)
    yield from (open_guard(name) for name in failing_open(config))
    if not config.agent.model:
        yield str(configuration.no_model(config))
    why = unkept(config)
    if why and file.resolve().is_relative_to(workspace):
        place = "agent.workspace can name another folder"
        yield f"{file.name} lies in the workspace, where bash may change it: {why}; {place}"


# --- hooks list ---------------------------------------------------------------------------------------------

COLUMNS = (
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
        where = "No hookgate is running; this is what the configuration would start."
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
