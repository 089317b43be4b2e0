"""The `hooks` of Claude Code's settings.json: what is run here, and what cannot be carried over. Runs nothing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from hookgate.protocol.codec import decode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.stages import Stage

TIMEOUT_S = 60.0
LONGEST_S = 86_000.0
STAGES: Mapping[str, tuple[Stage, ...]] = {
    "PreToolUse": (Stage.BEFORE_TOOL, Stage.APPROVE_TOOL),
    "PostToolUse": (Stage.AFTER_TOOL,),
    "PostToolUseFailure": (Stage.AFTER_TOOL,),
    "UserPromptSubmit": (Stage.ON_MESSAGE,),
}
OBSERVED: Mapping[str, str] = {
    "Stop": "turn_end",
    "SubagentStop": "turn_end",
    "Notification": "approval_requested",
}
"""Told of what has happened: what these say has no effect here."""
UNMATCHED = ("UserPromptSubmit", "Stop")
"""They run always, whatever matcher stands there."""
UNLIKE = frozenset(
    {
        *(
            "SessionStart",
            "SessionEnd",
            "Setup",
            "PreCompact",
            "PostCompact",
            "PermissionRequest",
            "PermissionDenied",
        ),
        *("SubagentStart", "TaskCreated", "TaskCompleted", "TeammateIdle", "StopFailure", "Elicitation"),
        *("ElicitationResult", "ConfigChange", "InstructionsLoaded", "CwdChanged", "FileChanged", "PostToolBatch"),
        *("UserPromptExpansion", "WorktreeCreate", "WorktreeRemove"),
    }
)
"""Events that there are there; of any other name one of ours may have been meant."""
IGNORED = {
    "if": "it runs for every call that its matcher covers",
    "once": "it runs each time",
    "statusMessage": "nothing shows it",
}
HEEDED = frozenset(("type", "command", "args", "timeout", "shell", "async", "asyncRewake"))
PLACES_SHOWN = 3
RULES_SHOWN = 6
_PLAIN = re.compile(r"[A-Za-z0-9_|-]*")
_BAR = re.compile(r"\s*\|\s*")
"""No name has a blank, so those round a bar are for the eye."""
_LISTED = re.compile(r"[A-Za-z0-9_|,\s-]*")
_COMMA = re.compile(r"\s*[|,]\s*")
"""Between names a comma is a bar; an expression may count with it."""
_PROJECT = "${CLAUDE_PROJECT_DIR}"


class BadSettings(Exception):
    """The file cannot be read; the text is one line that names it."""


@dataclass(frozen=True)
class Handler:
    """One command. `matcher`: names between `|`, or a regular expression; empty or `*`: whatever it is. `waits`: for
    what it says."""

    event: str
    matcher: str
    command: str
    timeout_s: float = TIMEOUT_S
    waits: bool = True

    def covers(self, *names: str) -> bool:
        """Whether one of the names that a thing goes by is meant."""
        if self.matcher in ("", "*"):
            return True
        if _PLAIN.fullmatch(self.matcher):
            return not {*names}.isdisjoint(self.matcher.split("|"))
        return any(re.search(self.matcher, name) for name in names)


@dataclass(frozen=True)
class Settings:
    handlers: tuple[Handler, ...]
    left_out: tuple[str, ...]
    """A line for each thing that is not carried over, with the places where it stands."""

    def of(self, event: str, *names: str) -> tuple[Handler, ...]:
        """Each command once, as there, but for one that is waited for and also not: what it says must count."""
        found = [it for it in self.handlers if it.event == event and it.covers(*names)]
        return tuple({(it.waits, it.command): it for it in found}.values())


def read_settings(file: Path) -> Settings:
    """Raises BadSettings."""
    try:
        members = decode(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BadSettings(f"{file}: {error.strerror}") from None
    except (BadMessage, UnicodeDecodeError) as error:
        raise BadSettings(f"{file}: is not JSON: {error}") from None
    if not isinstance(members, dict):
        raise BadSettings(f"{file}: must hold a JSON object")
    settings = cast("dict[str, Any]", members)
    left_out = _LeftOut()
    for place, what in _beside(settings):
        left_out.add(place, what)
    hooks = settings.get("hooks")
    if not isinstance(hooks, dict):
        why = "; ".join((f"{file}: there is no `hooks` object, so nothing is carried over", *left_out.lines))
        raise BadSettings(why)
    handlers = tuple(_handlers(cast("dict[str, Any]", hooks), left_out))
    return Settings(handlers, tuple(left_out.lines))


class _LeftOut:
    """What is said of several things in the same words is said once."""

    def __init__(self) -> None:
        self._places: dict[str, list[str]] = {}

    def add(self, place: str, what: str) -> None:
        self._places.setdefault(what, []).append(place)

    @property
    def lines(self) -> Iterator[str]:
        return (f"{_listed(places, PLACES_SHOWN)}: {what}" for what, places in self._places.items())


def _listed(names: list[str], most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _beside(settings: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What stands beside `hooks`, without the values: some of them are secrets."""
    for name, given in settings.items():
        match name:
            case "hooks" | "$schema":
                pass
            case "disableAllHooks":
                if given is True:
                    yield name, "they are switched off there, and on here"
            case "permissions" if isinstance(given, dict):
                yield from (_permission(key, rules) for key, rules in cast("dict[str, Any]", given).items())
            case _:
                yield name, "left out, only `hooks` is carried over"


def _permission(name: str, rules: object) -> tuple[str, str]:
    listed = [str(rule) for rule in cast("list[object]", rules)] if isinstance(rules, list) else []
    # What nobody denies any more is named to the last rule.
    shown = f" ({_listed(listed, len(listed) if name == 'deny' else RULES_SHOWN)})" if listed else ""
    place = f"permissions.{name}{shown}"
    match name:
        case "deny":
            return place, "left out, so nothing of it is denied here: a guard that is left out guards nothing"
        case "ask":
            return place, "left out, so nobody is asked because of it: [[approvals]] says here what a person is asked"
        case "allow":
            return place, "left out, what runs without being asked about is what no [[approvals]] rule covers here"
        case _:
            return place, "left out, only `hooks` is carried over"


def _handlers(hooks: dict[str, Any], left_out: _LeftOut) -> Iterator[Handler]:
    for event, groups in hooks.items():
        if event not in STAGES and event not in OBSERVED:
            left_out.add(f"hooks.{event}", f"left out, {_unlike(event)}")
        elif not isinstance(groups, list):
            left_out.add(f"hooks.{event}", "left out, it must be an array")
        else:
            for number, group in enumerate(cast("list[object]", groups)):
                yield from _group(event, f"hooks.{event}[{number}]", group, left_out)


def _unlike(event: str) -> str:
    """Who has mistyped the name of a guard has none."""
    meant = get_close_matches(event, [*STAGES, *OBSERVED], n=1) if event not in UNLIKE else []
    if not meant:
        return "nothing here is like it"
    return f"Claude Code has no such event (did you mean {meant[0]!r}?){_unjudged(meant[0])}"


def _group(event: str, place: str, group: object, left_out: _LeftOut) -> Iterator[Handler]:
    members = cast("dict[str, Any]", group) if isinstance(group, dict) else {}
    matcher, entries = "" if event in UNMATCHED else members.get("matcher") or "", members.get("hooks")
    if not isinstance(entries, list):
        left_out.add(place, f"left out, it must be an object with an array `hooks`{_unjudged(event)}")
        return
    if problem := _unusable(matcher):
        left_out.add(f"{place}.matcher", f"{problem}; it runs for everything")
        matcher = ""
    for number, entry in enumerate(cast("list[object]", entries)):
        where = f"{place}.hooks[{number}]"
        if not isinstance(entry, dict):
            left_out.add(where, f"left out, it must be an object{_unjudged(event)}")
        elif (
            made := _handler(event, _names(str(matcher).strip()), where, cast("dict[str, Any]", entry), left_out)
        ) is not None:
            yield made


def _names(matcher: str) -> str:
    return (_COMMA if _LISTED.fullmatch(matcher) else _BAR).sub("|", matcher)


def _unusable(matcher: object) -> str:
    if not isinstance(matcher, str):
        return "it must be a string"
    try:
        re.compile(matcher if matcher != "*" else "")
    except re.error as error:
        return f"{matcher!r} is no regular expression here ({error})"
    return ""


def _handler(event: str, matcher: str, where: str, entry: dict[str, Any], left_out: _LeftOut) -> Handler | None:
    command, kind, args = entry.get("command"), entry.get("type", "command"), entry.get("args")
    if kind != "command" or not isinstance(command, str) or not command.strip():
        what = f"type {kind!r} is no command" if kind != "command" else "it has no command"
        left_out.add(where, f"left out, {what}{_unjudged(event)}")
        return None
    if entry.get("shell", "bash") != "bash":
        left_out.add(where, f"left out, only `bash` is a shell here{_unjudged(event)}")
        return None
    if args is not None:
        if not isinstance(args, list) or not all(isinstance(it, str) for it in cast("list[object]", args)):
            left_out.add(where, f"left out, its `args` must be an array of strings{_unjudged(event)}")
            return None
        command = _run_as_it_is(command, cast("list[str]", args))
    for name in entry:
        if name not in HEEDED:
            left_out.add(f"{where}.{name}", f"left out, {IGNORED.get(name, 'nothing here goes by it')}")
    timeout = entry.get("timeout", TIMEOUT_S)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= LONGEST_S:
        left_out.add(f"{where}.timeout", f"must be a number of seconds; {TIMEOUT_S:g} here")
        timeout = TIMEOUT_S
    waits = entry.get("async") is not True and entry.get("asyncRewake") is not True
    return Handler(event, matcher, command, float(timeout), waits)


def _run_as_it_is(program: str, args: list[str]) -> str:
    """With `args` there is no shell there: the words are one each, whatever stands in them, but for the project."""
    words = ((shlex.quote(part) if part else "" for part in it.split(_PROJECT)) for it in (program, *args))
    return " ".join(f'"{_PROJECT}"'.join(word) or "''" for word in words)


def _unjudged(event: str) -> str:
    return "; nothing that it should judge is judged here" if event == "PreToolUse" else ""
