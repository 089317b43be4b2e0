"""What a configuration says that nothing answers to: names that cover nothing, guards that let calls through."""

from __future__ import annotations

from collections.abc import Iterator

from hookgate.assembly.preflight.check import check_tools, odd
from hookgate.assembly.preflight.naming import start_faults
from hookgate.cli.doctor.finding import Examined, Finding, broken, note
from hookgate.config import ConfigError


def amiss(it: Examined, file: str) -> Iterator[Finding]:
    """What `config check` says of it beside what the other groups look at: broken where nothing would start."""
    for fault in start_faults(it.config, it.base, loads=bool(it.extensions)):
        yield (broken if fault.stops else note)(file, fault.text)
    try:
        check_tools(it.config, it.base)
    except ConfigError as error:
        yield broken(file, str(error))
    yield from (note(file, line) for line in odd(it.config))
