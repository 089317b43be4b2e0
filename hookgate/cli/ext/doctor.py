"""`hookgate ext doctor`: each extension that a chat would load is started once; what is odd about any is said."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from time import monotonic

import trio

from hookgate import config as configuration
from hookgate.assembly.extensions.extensions import Extensions, Joints
from hookgate.assembly.extensions.looking import looked
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.assembly.redacting import make_redactor
from hookgate.assembly.settings import ExtensionFlags
from hookgate.channels.printable import one_line
from hookgate.cli.ext.installed import configured
from hookgate.cli.printing import say_json
from hookgate.extensions.discovery import Candidate, FoundExtensions
from hookgate.extensions.logs import log_file
from hookgate.hooks.zot.handshake import QUIET_S, READY_S, HowReady
from hookgate.hooks.zot.roster import Roster
from hookgate.hooks.zot.spec import ExtensionSpec
from hookgate.loop.commands.table import RESERVED as OUR_COMMANDS
from hookgate.processes.child import HelloFailed, Late, unheard
from hookgate.processes.last_words import Redact, ended
from hookgate.processes.rounds import Rounds, open_rounds
from hookgate.program.endings import FAILED
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.values import JsonObject
from hookgate.protocol.zot.frames import Level, Panel
from hookgate.sections import Config
from hookgate.tools.names import BUILTINS
from hookgate.tools.registry import Registry

READY: dict[HowReady | None, str] = {
    "frame": "it said so",
    "silence": f"it said nothing for {QUIET_S * 1000:g} ms",
    "deadline": f"it was not done after {READY_S:g} s",
    None: "no",
}


LONGER = "with a higher zot.hello_timeout_ms chats and this command wait longer for it"


@dataclass(frozen=True, slots=True)
class Started:
    """What one start showed: `failed`, or how it was ready and what it registered. `seconds`: what that took."""

    failed: str = ""
    how_ready: HowReady | None = None
    tools: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Visit:
    """`started` None: the configuration switches it off. `lacks`: what it is not handed, or nothing."""

    candidate: Candidate
    log: Path
    started: Started | None
    lacks: str = ""


async def doctor(config_file: Path | None, named: tuple[Path, ...], *, as_json: bool) -> int:
    """The report is on stdout. Extensions are started side by side and stopped again; their logs are written.

    Raises ConfigError. The status is not 0 where one cannot be loaded.
    """
    config = configured(config_file)
    set_up_logs(config.log)
    found, visited = await visits(config, named)
    if as_json:
        say_json(members(found, visited))
    else:
        lines = list(report(found, visited)) or ["no extensions installed"]
        sys.stdout.writelines(f"{one_line(line)}\n" for line in lines)
    return FAILED if found.problems or any(it.started and it.started.failed for it in visited) else 0


async def visits(
    config: Config, named: tuple[Path, ...], only: str = "", late: Late | None = None
) -> tuple[FoundExtensions, list[Visit]]:
    """What there is, and what each showed that a chat would load, in load order; `only`: just that one is started.
    `late`: told once prompts would go on without it, and it is waited for as long as a chat lets it start; without,
    it has failed by then. Raises ConfigError."""
    flags = ExtensionFlags(named, discover=True)
    extensions = Extensions(config, flags, Joints(Registry(), ()), await looked(config, flags))
    specs = [plan.spec for plan in extensions.plans if isinstance(plan.spec, ExtensionSpec)]
    specs = [it for it in specs if only in ("", it.name)]
    await extensions.look_through(specs)
    lacks = extensions.learning.lacking()
    started = await _tried(specs, make_redactor(config).text, late)
    home, found = configuration.zot_home(config), extensions.found
    return found, [
        Visit(it, log_file(home, it.name), started.get(it.name), lacks.get(it.name, "")) for it in found.candidates
    ]


# --- the report ---------------------------------------------------------------------------------------------


def report(found: FoundExtensions, visited: Sequence[Visit]) -> Iterator[str]:
    """In load order; then what is not loaded, and why."""
    for visit in visited:
        yield from _about(visit)
    yield from (f"conflict: {line}" for line in conflicts(visited))
    yield from (f"disabled: {it.name} {it.directory}" for it in found.disabled)
    yield from (f"not loaded: {it.text}" for it in found.shadowed)
    yield from (f"not started: {it.text}" for it in found.strangers)
    yield from (it.text for it in found.problems)


def _about(it: Visit) -> Iterator[str]:
    of = it.candidate
    yield f"{of.name} {of.manifest.version or '-'} ({of.scope}) {of.directory}"
    if not of.command:
        yield f"  skills: {', '.join(of.manifest.skills)}"
        return
    yield f"  command: {' '.join(of.command)}"
    if it.started is None:
        yield "  off: the configuration does not enable it"
    elif it.started.failed:
        yield f"  extension load: {of.directory}: {it.started.failed}"
    else:
        yield f"  ready: {READY[it.started.how_ready]}"
        yield f"  tools: {', '.join(it.started.tools) or '-'}"
        yield f"  commands: {', '.join(f'/{name}' for name in it.started.commands) or '-'}"
    if it.lacks:
        yield f"  {it.lacks}"
    yield f"  log: {it.log}"


def members(found: FoundExtensions, visited: Sequence[Visit]) -> JsonObject:
    """The report for programs."""
    return {
        "extensions": [_member(it) for it in visited],
        "conflicts": list(conflicts(visited)),
        "disabled": [{"name": it.name, "directory": str(it.directory)} for it in found.disabled],
        "not_loaded": [it.text for it in found.shadowed],
        "not_started": [it.text for it in found.strangers],
        "problems": [it.text for it in found.problems],
    }


def _member(it: Visit) -> JsonObject:
    """`state`: ready, failed, off, or skills where it has nothing to start."""
    of, started = it.candidate, it.started or Started()
    state = "skills" if not of.command else "off" if it.started is None else "failed" if started.failed else "ready"
    return {
        **{"name": of.name, "version": of.manifest.version, "scope": of.scope, "directory": str(of.directory)},
        **{"command": list(of.command), "skills": list(of.manifest.skills), "state": state},
        **{"failed": started.failed, "how_ready": started.how_ready, "seconds": round(started.seconds, 3)},
        **{"tools": list(started.tools), "commands": list(started.commands)},
        **{"note": it.lacks, "log": str(it.log)},
    }


def conflicts(visited: Iterable[Visit]) -> Iterator[str]:
    """Names that an extension does not get: another comes first in load order."""
    tools, commands = dict.fromkeys(BUILTINS, "hookgate"), dict.fromkeys(OUR_COMMANDS, "hookgate")
    for it in visited:
        if it.started is None:
            continue
        name = it.candidate.name
        for tool in it.started.tools:
            if (owner := tools.setdefault(tool, name)) != name:
                yield f"tool {tool} of {name}: {owner} has it"
        for command in it.started.commands:
            if (owner := commands.setdefault(command.lower(), name)) != name:
                yield f"command /{command} of {name}: {owner} has it"


# --- one start each -----------------------------------------------------------------------------------------


async def _tried(specs: Sequence[ExtensionSpec], redact: Redact, late: Late | None) -> dict[str, Started]:
    """By extension."""
    started: dict[str, Started] = {}
    roster = Roster(_Nobody(), _nothing)

    async def one(rounds: Rounds, spec: ExtensionSpec) -> None:
        started[spec.name] = await _start(replace(spec, roster=roster), rounds, redact, late)

    async with open_rounds() as rounds, trio.open_nursery() as starts:
        for spec in specs:
            starts.start_soon(one, rounds, spec)
    return started


async def _start(spec: ExtensionSpec, rounds: Rounds, redact: Redact, late: Late | None) -> Started:
    """Whoever looks at several waits for each no longer than a prompt does."""
    began, waits_s = monotonic(), spec.start_timeout_s if late else spec.hello_timeout_s
    try:
        async with replace(spec, start_timeout_s=waits_s).open(rounds, late or _unasked) as it:
            tools, commands = (tuple(tool.spec.name for tool in it.tools), tuple(its.name for its in it.commands))
            return Started("", it.how_ready, tools, commands, monotonic() - began)
    except HelloFailed as error:
        why = str(error)
        if not late and why == unheard(spec.hello_timeout_s) and spec.start_timeout_s > spec.hello_timeout_s:
            why += f"; in a chat it goes on starting, for up to {spec.start_timeout_s:g} s, and {LONGER}"
        return Started(failed=ended(why, error.last_words, redact))


class _Nobody:
    """There is no one to show anything to."""

    def note(self, extension: str, level: Level, text: str, chat: Chat | None) -> None: ...

    def clear_notes(self, extension: str) -> None: ...

    def panel(self, extension: str, panel: Panel, chat: Chat | None) -> None: ...

    def panel_close(self, extension: str, panel_id: str) -> None: ...

    def submit(self, extension: str, text: str, chat: Chat | None) -> None: ...

    def submit_slash(self, extension: str, text: str, chat: Chat | None) -> None: ...


def _unasked(why: str) -> None: ...


def _nothing(extension: str, rank: int, tools: Sequence[Tool]) -> None: ...
