"""Words of zot's command line that scripts use, where hookgate says something else. Help shows none of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

ALIASES = {"no-skills": "no-skill", "no-extensions": "no-ext"}
"""Of flags that hookgate has, without their dashes."""
_RPC = frozenset({"--rpc", "--list-models"})
_ONCE = "one question is for `hookgate chat --once TEXT`"
_LAST = "`hookgate chat -c` goes on with the conversation that was kept last"
_MODES = {
    "-p": _ONCE,
    "--print": _ONCE,
    "--json": "send a prompt to `hookgate rpc` on stdin: what comes back has these events",
    "-c": _LAST,
    "--continue": _LAST,
}
"""Flags of zot itself that want a command here."""


def own_words(arguments: Sequence[str]) -> list[str]:
    """`zot --rpc FLAGS` is `zot rpc FLAGS`, and a list of models needs no command. Raises UsageError for what only a
    command takes, saying which."""
    if not arguments or not arguments[0].startswith("-"):
        return [*arguments]
    if _RPC & {*arguments}:
        return ["rpc", *arguments]
    flag = arguments[0].partition("=")[0]
    if flag in _MODES:
        raise click.UsageError(f"{flag} needs a command: {_MODES[flag]}")
    return [*arguments]


def taken(command: Decorated) -> Decorated:
    """Flags that say what is so already; `--no-session` keeps nothing, whatever else is said."""
    command = click.option("--no-session", is_flag=True, hidden=True)(command)
    return click.option("--with-skills", "--with-skill", is_flag=True, hidden=True, expose_value=False)(command)


def renamed(name: str) -> str:
    """What `token_normalize_func` asks for."""
    return ALIASES.get(name, name)
