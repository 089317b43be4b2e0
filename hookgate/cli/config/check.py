"""`hookgate config check`: what the gateway would say of the file; nothing is started."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from hookgate import config as configuration
from hookgate.assembly.hooks.opening import plans
from hookgate.cli.printing import counted, say
from hookgate.config import ConfigError
from hookgate.sections import Config


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
    from hookgate.assembly.preflight.faults import refuse_faults
    from hookgate.assembly.preflight.naming import start_faults

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
    from hookgate.assembly.preflight.check import odd, unkept, unset

    yield from odd(config)
    yield from unset(config)
    if not config.agent.model:
        yield str(configuration.no_model(config))
    why = unkept(config)
    if why and file.resolve().is_relative_to(workspace):
        place = "agent.workspace can name another folder"
        yield f"{file.name} lies in the workspace, where bash may change it: {why}; {place}"
