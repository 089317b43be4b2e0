"""Words of zot's command line that scripts use, where hookgate says something else. Help shows none of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

ALIASES = {"no-skills": "no-skill", "no-extensions": "no-ext"}
"""Of flags that hookgate has, without their dashes."""
_RPC = frozenset({"--rpc", "--list-models"})


def own_words(arguments: Sequence[str]) -> list[str]:
    """`zot --rpc FLAGS` is `zot rpc FLAGS`, and a list of models needs no command."""
    begins = bool(arguments) and arguments[0].startswith("-")
    return ["rpc", *arguments] if begins and _RPC & {*arguments} else [*arguments]


def taken(command: Decorated) -> Decorated:
    """Flags that say what is so already; `--no-session` keeps nothing, whatever else is said."""
    command = click.option("--no-session", is_flag=True, hidden=True)(command)
    return click.option("--with-skills", "--with-skill", is_flag=True, hidden=True, expose_value=False)(command)


def renamed(name: str) -> str:
    """What `token_normalize_func` asks for."""
    return ALIASES.get(name, name)
