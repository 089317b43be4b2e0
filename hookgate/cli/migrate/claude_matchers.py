"""Which matchers of Claude Code's settings cover nothing that is here, and what would. Runs nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hookgate.claude.settings import STAGES, Handler
from hookgate.claude.tools import names_of
from hookgate.mistakes import close
from hookgate.tools.names import ALL

_PLAIN = re.compile(r"[\w|-]*", re.ASCII)
_RULE = re.compile(r"(\w+)\(")
_THEIRS = {name: tool for tool in ALL for name in names_of(tool)}
"""What the tools are called there."""


def never_runs(handler: Handler) -> bool:
    """Its matcher covers nothing that is here."""
    if handler.matcher in ("", "*"):
        return False
    if handler.event not in STAGES:
        return handler.event != "Notification" or not handler.covers("permission_prompt")
    return "__" not in handler.matcher and not any(handler.covers(name) for name in _THEIRS)


def unmatched(handler: Handler) -> Iterator[str]:
    """A line for each name, or for the whole expression, that nothing goes by here."""
    about, matcher = f"{handler.event} {handler.matcher}", handler.matcher
    if matcher in ("", "*"):
        return
    if handler.event not in STAGES:
        if never_runs(handler):
            yield f"{about}: never runs, {_ONLY.get(handler.event, _NOT_TOLD_APART)}"
        return
    never = _NEVER[handler.event] if never_runs(handler) else ""
    for name in matcher.split("|") if _PLAIN.fullmatch(matcher) else ():
        if name not in _THEIRS and "__" not in name:
            yield f"{about}: {_unknown(name)}{never}"
    if never and not _PLAIN.fullmatch(matcher):
        yield f"{about}: {_unmet(matcher)}{never}"


_NOT_TOLD_APART = "since nothing here is told apart by that: leave the matcher out"
_ONLY = {"Notification": "`permission_prompt` is the only notification here"}
_NEVER = dict.fromkeys(STAGES, "; it never runs") | {
    "PreToolUse": "; it never runs, and nothing that it should judge is judged here"
}


def _unknown(name: str) -> str:
    called = next((it for it in _THEIRS if it.lower() == name.lower()), None) or next(iter(names_of(name)))
    if called != name:
        return f"`{name}` is no name of a tool there: write `{called}`, upper and lower case count"
    return f"no tool here goes by `{name}`{close(name, list(_THEIRS))}, unless a hook or an extension brings one"


def _unmet(matcher: str) -> str:
    rule = _RULE.match(matcher)
    if rule is not None and rule[1] in _THEIRS:
        return (
            f"a matcher is no permission rule: write `{rule[1]}`, and let the command look at what the call is about"
        )
    return "no tool here has a name that it covers, unless a hook or an extension brings one"
