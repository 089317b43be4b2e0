"""`hookgate hooks check`: a conformance run, printed."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress

from hookgate import config as configuration
from hookgate.sections.hooks import HookSection


async def check_command(command: tuple[str, ...], directory: str, env: tuple[str, ...], *, as_json: bool) -> int:
    from hookgate.check.run import check, print_json, print_report

    _not_by_name(command)
    environment = {**configuration.base_environment(), **dict(_pair(item) for item in env)}
    report = await check(command, environment, directory)
    return (print_json if as_json else print_report)(report, sys.stdout.write)


def _not_by_name(command: tuple[str, ...]) -> None:
    """Raises ConfigError where a hook of the configuration is named and no program is."""
    processes: Mapping[str, HookSection] = {}
    # A file that is not there, or is wrong, has no say in whose hook is checked.
    with suppress(configuration.ConfigError):
        processes = configuration.load(None)[0].hooks.processes
    name, hook = command[0], processes.get(command[0])
    if hook is not None and len(command) == 1 and shutil.which(name) is None:
        line = shlex.join([*(("--dir", hook.dir) if hook.dir else ()), "--", *hook.command])
        raise configuration.ConfigError(f"{name!r} is the name of a hook: hookgate hooks check {line}")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise configuration.ConfigError(f"--env {text!r}: write it NAME=VALUE")
    return name, value
