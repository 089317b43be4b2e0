"""`hookgate hooks check`: a conformance run, printed."""

from __future__ import annotations

import sys

from hookgate import config as configuration


async def check_command(command: tuple[str, ...], directory: str, env: tuple[str, ...], *, as_json: bool) -> int:
    from hookgate.check.run import check, print_json, print_report

    environment = {**configuration.base_environment(), **dict(_pair(item) for item in env)}
    report = await check(command, environment, directory)
    return (print_json if as_json else print_report)(report, sys.stdout.write)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise configuration.ConfigError(f"--env {text!r}: write it NAME=VALUE")
    return name, value
