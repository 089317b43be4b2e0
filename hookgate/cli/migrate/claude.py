"""`hookgate migrate claude`: command hooks of a settings.json as one hook process, a notice for what differs."""

from __future__ import annotations

import sys
from pathlib import Path

from hookgate import config as configuration
from hookgate.claude.settings import OBSERVED, STAGES, BadSettings, Handler, Settings, read_settings
from hookgate.cli.migrate.claude_files import named_files
from hookgate.cli.migrate.toml import Value, key, value
from hookgate.config import ConfigError
from hookgate.protocol.hook.stages import Stage

USUAL = Path(".claude/settings.json")
SHOWN_CHARS = 80
"""Of a command, in a notice."""
MARGIN_S = 5.0
"""What a stage has more than its slowest command: that one ends first, and says so."""
HEADER = """\
# hookgate.toml, written by `hookgate migrate claude` from the `hooks` of Claude Code's settings.json.
# One hook process runs its commands; the file is read anew at each start of it."""
ALWAYS = (
    "a command that fails, prints broken JSON or takes too long denies here (on_failure), where Claude Code goes on",
    "`allow` does not set aside an approval rule; `ask` has a person asked; Stop cannot make a turn go on",
    "commands see no transcript (transcript_path is empty), and permission_mode is always `default`",
    "their environment is clean: PATH HOME LANG TMPDIR and CLAUDE_PROJECT_DIR; name more in env_pass",
)


def migrate_file(file: Path) -> int:
    """Prints TOML on stdout and notices on stderr. Raises ConfigError."""
    try:
        settings = read_settings(file)
    except BadSettings as error:
        raise ConfigError(str(error)) from None
    if not settings.handlers:
        raise ConfigError(f"{file}: no command in it can be carried over: {'; '.join(settings.left_out) or 'none'}")
    text = _text(file, settings)
    # Nothing is printed that hookgate itself would refuse.
    configuration.parse(text, file)
    for notice in (*settings.left_out, *_missed(file), *_unkept(file, settings), *ALWAYS):
        sys.stderr.write(f"notice: {notice}\n")
    # TOML is UTF-8, whatever the terminal's encoding is.
    sys.stdout.buffer.write(text.encode())
    sys.stdout.flush()
    return 0


def _missed(file: Path) -> list[str]:
    """Claude Code reads several files together."""
    others = {USUAL, USUAL.with_name("settings.local.json"), Path.home() / USUAL} - {file}
    there = sorted(str(it) for it in others if it.resolve() != file.resolve() and it.is_file())
    return [f"{it} is not read: migrate it too, and give its table another name" for it in there]


def _unkept(file: Path, settings: Settings) -> list[str]:
    """A script that a tool may rewrite guards nothing."""
    project = _project(file.absolute())
    unknown = (it.command for it in settings.handlers if not named_files(it.command, project))
    return [
        f"`{_cut(command)}` names no file that is there: a script that it runs is not kept from tools, unless its "
        "name is added to the hook's `command` or to tools.kept"
        for command in dict.fromkeys(unknown)
    ]


def _cut(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS]}…"


def _project(file: Path) -> Path:
    return file.parent.parent if file.parent.name == ".claude" else Path.cwd()


def _text(file: Path, settings: Settings) -> str:
    lines = [HEADER, "", f"[hooks.processes.{key(_name(file))}]"]
    for name, item in _keys(file.absolute(), settings).items():
        lines.append(f"{name} = {value(item)}")
    return "\n".join(lines) + "\n"


def _name(file: Path) -> str:
    """`claude`, and something else for the other files of a project."""
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
