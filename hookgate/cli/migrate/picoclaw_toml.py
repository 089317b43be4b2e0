"""`hookgate migrate picoclaw`: its `hooks` block as hookgate.toml, and a notice for everything that differs here."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from hookgate import config as configuration
from hookgate.cli.migrate.picoclaw import PAIRS, UNJUDGED, Defaults, Hooks, Modes, Process, Refused, modes, read
from hookgate.cli.migrate.toml import Value, key, value
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.stages import Stage
from hookgate.sections.hooks import HookDefaults

LONGEST_MS = 86_400_000
LONGEST_NAME = 64
NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]")
HEADER = """\
# hookgate.toml, written by `hookgate migrate picoclaw` from the `hooks` block of picoclaw's config.json.
# Only the hooks are here; `hookgate init` shows what else belongs in this file."""


@dataclass(frozen=True, slots=True)
class Written:
    """A piece of hookgate.toml, and what a person should know about it."""

    text: str = ""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """What every hook of one file shares; `started_in` is where picoclaw's relative folders count from."""

    hooks: Hooks
    defaults: HookDefaults
    started_in: Path
    inherit_env: bool


def migrate_file(file: Path, *, inherit_env: bool) -> int:
    """Prints TOML on stdout, and on stderr a notice for all that differs or is left out. Raises ConfigError."""
    hooks, left_out = read(file)
    written = translate(hooks, Path.cwd(), inherit_env=inherit_env)
    # Nothing is printed that hookgate itself would refuse.
    configuration.parse(written.text, file)
    for notice in (*left_out, *written.notices):
        sys.stderr.write(f"notice: {notice}\n")
    # TOML is UTF-8, whatever the terminal's encoding is.
    sys.stdout.buffer.write(written.text.encode())
    sys.stdout.flush()
    return 0


def translate(hooks: Hooks, started_in: Path, *, inherit_env: bool) -> Written:
    """The whole fragment."""
    defaults, shortened = _defaults(hooks.defaults)
    source = Source(hooks, defaults, started_in, inherit_env)
    parts = [Written(_defaults_text(defaults), shortened), _overall(source)]
    parts.extend(_process(name, source, new) for name, new in _names(hooks.processes).items())
    texts = (HEADER, *(part.text for part in parts if part.text))
    return Written("\n\n".join(texts) + "\n", tuple(notice for part in parts for notice in part.notices))


# --- what holds for all -------------------------------------------------------------------------------------


def _defaults(theirs: Defaults) -> tuple[HookDefaults, tuple[str, ...]]:
    given = {
        "observer_timeout_ms": theirs.observer_timeout_ms,
        "interceptor_timeout_ms": theirs.interceptor_timeout_ms,
        "approver_timeout_ms": theirs.approval_timeout_ms,
    }
    usable = {name: min(ms, LONGEST_MS) for name, ms in given.items() if ms > 0}
    too_long = [name for name, ms in given.items() if ms > LONGEST_MS]
    notices = (f"hooks.defaults.{name}: {LONGEST_MS}, a day, is the longest here" for name in too_long)
    return HookDefaults.model_validate(usable), tuple(notices)


def _defaults_text(defaults: HookDefaults) -> str:
    lines = [
        "[hooks.defaults]",
        f"observer_timeout_ms = {defaults.observer_timeout_ms}",
        f"interceptor_timeout_ms = {defaults.interceptor_timeout_ms}",
        f"approver_timeout_ms = {defaults.approver_timeout_ms}  # approval_timeout_ms in picoclaw",
    ]
    return "\n".join(lines)


def _overall(source: Source) -> Written:
    hooks = source.hooks
    notices = [
        f"hooks.builtins.{key(name)}: left out, it is compiled into picoclaw" for name in sorted(hooks.builtins)
    ]
    if not hooks.processes:
        notices.append("hooks.processes: there are none")
        return Written("", tuple(notices))
    if not hooks.enabled:
        notices.append('hooks.enabled is false: every hook gets mode = "off"')
    notices.append(_about_environment(source.inherit_env))
    return Written("", tuple(notices))


def _about_environment(inherit_env: bool) -> str:
    if inherit_env:
        return "hooks.processes: every hook sees the whole environment, secrets included, as in picoclaw"
    usual = " ".join(configuration.BASE_ENVIRONMENT)
    return (
        f"hooks.processes: a hook's environment is clean here: {usual} and its env; picoclaw passes all it has. "
        "Name more variables in env_pass, or migrate with --inherit-env"
    )


def _names(theirs: Iterable[str]) -> dict[str, str]:
    """Their names, sorted, and what each is called here: the same unless hookgate has no such names."""
    new: dict[str, str] = {}
    for name in sorted(theirs):
        stem = NOT_IN_A_NAME.sub("_", name)[:LONGEST_NAME] or "hook"
        taken, number, candidate = {*new.values(), *theirs} - {name}, 1, stem
        while candidate in taken:
            number += 1
            candidate = f"{stem[: LONGEST_NAME - len(str(number)) - 1]}_{number}"
        new[name] = candidate
    return new


# --- one hook -----------------------------------------------------------------------------------------------


def _process(name: str, source: Source, new: str) -> Written:
    process, place = source.hooks.processes[name], f"hooks.processes.{key(name)}"
    enabled = source.hooks.enabled and process.enabled
    try:
        asked = modes(process)
    except Refused as error:
        state = UNJUDGED if enabled else "it is off anyway"
        return Written("", (f"{place}: left out, picoclaw would refuse it: {error}; {state}",))
    notices = tuple(f"{place}{notice}" for notice in _notices(asked))
    if not (asked.stages or asked.observe):
        return Written("", (*notices, f"{place}: left out, nothing is left that it would be told"))
    renamed = (f"{place}: is called {new} here",) if new != name else ()
    off = (f'{place}: mode = "off", it is not enabled',) if source.hooks.enabled and not process.enabled else ()
    return Written(_table(new, _keys(process, asked, source, enabled=enabled)), (*renamed, *off, *notices))


def _notices(asked: Modes) -> list[str]:
    """What differs for this hook; each begins with the key it is about, after a dot."""
    notices = [f": left out what picoclaw would not start it for: {what}" for what in asked.unknown]
    if asked.unheard:
        notices.append(f".observe: left out what never happens here: {', '.join(asked.unheard)}")
    if asked.observe and not asked.runtime:
        notices.append(
            ".observe: events arrive as hook.event; a hook written for picoclaw 0.2.9 or later "
            'wants event_method = "hook.runtime_event"'
        )
    unasked = [stage for pair in PAIRS for stage in pair if stage not in asked.stages and {*pair} & {*asked.stages}]
    if unasked:
        notices.append(
            f".intercept: picoclaw sends stages in pairs, so also {' and '.join(unasked)}; "
            "here a hook is asked at the stages that it names"
        )
    return notices


def _keys(process: Process, asked: Modes, source: Source, *, enabled: bool) -> dict[str, Value]:
    """Only what says something: a key that would repeat hookgate's own default is left out."""
    keys: dict[str, Value] = {"command": process.command, "dir": str(source.started_in / process.dir)}
    if process.env:
        keys["env"] = process.env
    if source.inherit_env:
        keys["inherit_env"] = True
    keys["priority"] = process.priority
    if asked.stages:
        keys["intercept"] = asked.stages
        keys["timeout_ms"] = {stage: _timeout_ms(stage, source.defaults) for stage in asked.stages}
    if asked.observe:
        keys["observe"] = asked.observe
        keys["event_method"] = "hook.runtime_event" if asked.runtime else "hook.event"
    keys["mode"] = "enforce" if enabled else "off"
    return keys


def _timeout_ms(stage: Stage, defaults: HookDefaults) -> int:
    return defaults.approver_timeout_ms if stage is Stage.APPROVE_TOOL else defaults.interceptor_timeout_ms


REMARKS = {
    "dir": "written out: hookgate counts from this file's folder, picoclaw from where it is started",
    "inherit_env": "as picoclaw does; a clean environment is safer",
    "priority": "low before high, then by name",
    "intercept": "exactly these",
    "timeout_ms": "from picoclaw's hooks.defaults",
}


def _table(name: str, keys: dict[str, Value]) -> str:
    lines = [f"[hooks.processes.{key(name)}]"]
    for each, item in keys.items():
        remark = f"  # {REMARKS[each]}" if each in REMARKS else ""
        lines.append(f"{each} = {value(item)}{remark}")
    return "\n".join(lines)
