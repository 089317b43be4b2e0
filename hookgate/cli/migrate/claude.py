"""`hookgate migrate claude`: command hooks of a settings.json as one hook process; a line for each of them, and a
notice for what differs or is left out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from hookgate import config as configuration
from hookgate.claude.settings import OBSERVED, STAGES, BadSettings, Handler, Settings, read_settings
from hookgate.cli.migrate.claude_files import named_files
from hookgate.cli.migrate.claude_matchers import never_runs, unmatched
from hookgate.cli.migrate.toml import Value, key, value
from hookgate.config import ConfigError
from hookgate.protocol.hook.stages import Stage

USUAL = Path(".claude/settings.json")
SHOWN_CHARS = 80
"""Of a command."""
MARGIN_S = 5.0
"""What a stage has more than its slowest command: that one ends first, and says so."""
HEADER = """\
# hookgate.toml, written by `hookgate migrate claude` from the `hooks` of Claude Code's settings.json.
# One hook process runs its commands; the file is read anew at each start of it."""
GUARDING = "at {} a command that fails, prints broken JSON or takes too long denies here, where Claude Code goes on"
ALLOWING = "`allow` does not set aside an approval rule; `ask` has a person asked"
KEEPING = (
    "a script that a command runs is kept from tools only where its line above says so: add the name of any other to "
    "the hook's `command`, or to tools.kept"
)
ALWAYS = (
    "commands see no transcript (transcript_path is empty), permission_mode is always `default`, and the environment "
    f"is clean: {' '.join(configuration.BASE_ENVIRONMENT)} and CLAUDE_PROJECT_DIR; name more in env_pass"
)


def migrate_file(file: Path) -> int:
    """Prints TOML on stdout, and on stderr what is carried over, and notices. Raises ConfigError."""
    try:
        settings = read_settings(file)
    except BadSettings as error:
        raise ConfigError(str(error)) from None
    if not settings.handlers:
        raise ConfigError(f"{file}: no command in it can be carried over: {'; '.join(settings.left_out) or 'none'}")
    text = _text(file, settings)
    # Nothing is printed that hookgate itself would refuse.
    configuration.parse(text, file)
    project = _project(file.absolute())
    for handler in settings.handlers:
        how = "carried over in vain" if never_runs(handler) else "carried over"
        sys.stderr.write(f"{how}: {_carried(handler, project)}\n")
    for notice in (*settings.left_out, *_missed(file), *_differing(settings, project)):
        sys.stderr.write(f"notice: {notice}\n")
    # TOML is UTF-8, whatever the terminal's encoding is.
    sys.stdout.buffer.write(text.encode())
    sys.stdout.flush()
    return 0


def _missed(file: Path) -> list[str]:
    """Claude Code reads several files together."""
    others = {USUAL, USUAL.with_name("settings.local.json"), Path.home() / USUAL} - {file}
    there = sorted(str(it) for it in others if it.resolve() != file.resolve() and it.is_file())
    return [f"{it} is not read: migrate it too, and put its table beside this one" for it in there]


def _carried(handler: Handler, project: Path) -> str:
    """Where it stands here, and which of its files are kept from tools."""
    stages = ", ".join(_of(handler)) or f"{OBSERVED[handler.event]}, and what it says has no effect"
    waits = "" if handler.waits or not _of(handler) else ", not waited for"
    files = named_files(handler.command, project)
    kept = [str(it.relative_to(project) if it.is_relative_to(project) else it) for it in files]
    keeps = f"; kept from tools: {', '.join(kept)}" if kept else ""
    about = " ".join(filter(None, (handler.event, handler.matcher)))
    return f"{about}: `{_cut(handler.command)}` at {stages}{waits}{keeps}"


def _differing(settings: Settings, project: Path) -> Iterator[str]:
    """What these commands meet otherwise here."""
    yield from dict.fromkeys(line for it in settings.handlers for line in unmatched(it))
    there = dict.fromkeys(it.event for it in settings.handlers)
    if guarding := [event for event in there if not {*_GUARDED}.isdisjoint(STAGES.get(event, ()))]:
        yield GUARDING.format(" and ".join(guarding))
    if "PreToolUse" in there:
        yield ALLOWING
    # A script that a tool may rewrite guards nothing.
    if not all(named_files(it.command, project) for it in settings.handlers):
        yield KEEPING
    yield ALWAYS


def _cut(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS]}…"


def _is_users(file: Path) -> bool:
    """Somebody's own settings, which count in each of their projects; at home they are the project's."""
    home = Path.home().resolve()
    return file.absolute().parent.resolve() == (home / USUAL).parent.resolve() and Path.cwd() != home


def _project(file: Path) -> Path:
    beside = file.parent.name == ".claude" and not _is_users(file)
    return file.parent.parent if beside else Path.cwd()


def _text(file: Path, settings: Settings) -> str:
    lines = [HEADER, "", f"[hooks.processes.{key(_name(file))}]"]
    for name, item in _keys(file.absolute(), settings).items():
        lines.append(f"{name} = {value(item)}")
    return "\n".join(lines) + "\n"


def _name(file: Path) -> str:
    """`claude`, and something else for the other files that there are beside a project's own."""
    if _is_users(file):
        return "claude_user"
    middle = file.stem.removeprefix("settings").strip(".")
    return f"claude_{middle}" if middle.isidentifier() else "claude"


def _keys(file: Path, settings: Settings) -> dict[str, Value]:
    project = _project(file)
    named = (str(path) for it in settings.handlers for path in named_files(it.command, project))
    stages = {
        stage: _seconds(settings, stage) for stage in Stage if any(stage in _of(it) for it in settings.handlers)
    }
    keys: dict[str, Value] = {
        # -P: nothing of the project, which a model may write to, is imported. What its commands run is named so that
        # it is kept from tools as a hook's own files are.
        "command": [sys.executable, "-P", "-m", "hookgate.claude", str(file), *dict.fromkeys(named)],
        "dir": str(project),
        "env": {"CLAUDE_PROJECT_DIR": str(project)},
    }
    if stages:
        keys["intercept"] = list(stages)
        keys["timeout_ms"] = {stage: round((seconds + MARGIN_S) * 1000) for stage, seconds in stages.items()}
    failing: dict[str, Value] = {stage: "deny" for stage in _GUARDED if stage in stages}
    if failing:
        keys["on_failure"] = failing
    if observed := sorted({OBSERVED[it.event] for it in settings.handlers if it.event in OBSERVED}):
        keys["observe"] = observed
    return keys


_GUARDED = (Stage.BEFORE_TOOL, Stage.ON_MESSAGE)
"""What comes after a tool has run can hold nothing up in Claude Code either."""


def _of(handler: Handler) -> tuple[Stage, ...]:
    return STAGES.get(handler.event, ())


def _seconds(settings: Settings, stage: Stage) -> float:
    """All commands of a stage run at once."""
    return max(it.timeout_s for it in settings.handlers if stage in _of(it))
