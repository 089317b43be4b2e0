"""`hookgate doctor`: every group of checks in turn, each printed once it is known."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from hookgate import config as configuration
from hookgate.assembly.logs.opening import redacted_logs, set_up_logs
from hookgate.assembly.redacting import make_redactor
from hookgate.cli.doctor.amiss import amiss
from hookgate.cli.doctor.extensions import extensions
from hookgate.cli.doctor.finding import Examined, Finding, broken, count, note, ok
from hookgate.cli.doctor.folders import folders
from hookgate.cli.doctor.hooks import hooks
from hookgate.cli.doctor.machine import machine
from hookgate.cli.doctor.printing import lines, members, summary
from hookgate.cli.doctor.providers import keys, providers
from hookgate.cli.doctor.sandbox import sandbox
from hookgate.cli.doctor.servers import servers
from hookgate.cli.printing import say, say_json
from hookgate.config import ConfigError
from hookgate.program.endings import FAILED, INTERRUPTED, ending
from hookgate.program.signals import open_until_signal
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.interfaces import Redactor
from hookgate.sections import Config

Group = Callable[[Examined], Awaitable[Sequence[Finding]]]

GROUPS: dict[str, Group] = {
    "machine": machine,
    "sandbox": sandbox,
    "folders": folders,
    "keys": keys,
    "providers": providers,
    "hooks": hooks,
    "MCP servers": servers,
    "extensions": extensions,
}


@dataclass(frozen=True)
class DoctorFlags:
    config_file: Path | None
    online: bool
    as_json: bool
    ext: tuple[Path, ...]


async def run_doctor(flags: DoctorFlags) -> int:
    """0 where nothing that is configured is broken. What is started is stopped, also by a signal that ends this."""
    it, found = _examined(flags)
    # What a warning would say is a finding.
    set_up_logs(it.config.log.model_copy(update={"level": "error"}))
    redactor, groups = make_redactor(it.config), list[tuple[str, Sequence[Finding]]]()

    def known(group: str, findings: Sequence[Finding]) -> None:
        shown = [_redacted(finding, redactor) for finding in findings]
        groups.append((group, shown))
        if shown and not flags.as_json:
            for line in lines(group, shown):
                say(line)

    with redacted_logs(redactor):
        async with open_until_signal(signal.SIGTERM, signal.SIGHUP):
            known("configuration", found)
            for group, look in GROUPS.items():
                known(group, await _looked(group, look, it))
    if len(groups) <= len(GROUPS):
        return INTERRUPTED
    every = [finding for _group, findings in groups for finding in findings]
    say_json(members(groups)) if flags.as_json else say(summary(every))
    return FAILED if count(every, "broken") else 0


def _examined(flags: DoctorFlags) -> tuple[Examined, list[Finding]]:
    """Where the file cannot be read, or there is none, the rest is looked at with the usual configuration."""
    file = flags.config_file or Path(configuration.FILE_NAME)
    usual = Examined(Config(), None, Path.cwd(), flags.online, flags.ext)
    if flags.config_file is None and not file.exists():
        return usual, [note(str(file), "there is none here: the rest is about the usual one", "hookgate init")]
    try:
        config, path = configuration.load(flags.config_file)
    except ConfigError as error:
        return usual, [broken(str(file), line) for line in (error.first, *error.others)]
    it = Examined(config, path, path.parent, flags.online, flags.ext)
    return it, [ok(str(file), "it can be read"), *amiss(it, str(file))]


async def _looked(group: str, look: Group, it: Examined) -> Sequence[Finding]:
    """What would end any other command is one finding here."""
    try:
        return await look(it)
    except (Exception, BaseExceptionGroup) as error:
        plain = ending(error)
        if plain is None:
            raise
        return [broken(group, plain[0].removeprefix("hookgate: "))]


def _redacted(finding: Finding, redactor: Redactor) -> Finding:
    """What a hook or an endpoint said may hold what nobody should read here."""
    return replace(finding, what=redactor.text(finding.what))
