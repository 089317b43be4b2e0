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
_NO_YOLO = "there is nothing to switch off: [[approvals]] in hookgate.toml say which calls ask a person"
_MODES = {
    "-p": _ONCE,
    "--print": _ONCE,
    "--json": "send a prompt to `hookgate rpc` on stdin: what comes back has these events",
    "-c": _LAST,
    "--continue": _LAST,
    **dict.fromkeys(
        ("-r", "--resume"), f"`hookgate chat --session NAME` goes on with one that was kept so, and {_LAST}"
    ),
    "--no-yolo": _NO_YOLO,
}
"""Flags of zot itself that want a command here."""
_CHOSEN = "--model PROVIDER/MODEL chooses for one chat, agent.model in hookgate.toml for all"
_ELSEWHERE = {
    "--reasoning": "`hookgate rpc --reasoning LEVEL` has it",
    "--list-models": "`hookgate --list-models` prints them, and /model within a chat changes the model",
    "-v": "`hookgate -v` prints the version",
    "--version": "`hookgate --version` prints the version",
    "--no-tools": "`hookgate rpc --no-tools` has it",
    "--tools": "`hookgate rpc --tools NAMES` has it",
    "--provider": _CHOSEN,
    "--no-yolo": _NO_YOLO,
    "--cwd": "start it there, or set agent.workspace in hookgate.toml",
    **dict.fromkeys(("-p", "--print"), _ONCE),
    **dict.fromkeys(("-r", "--resume"), "--session NAME goes on with a conversation, -c with the last one"),
}
"""Flags of zot that a chat has not."""


class ZotsChat(click.Command):
    """Says of a flag of zot where it is instead: what is spelled alike means something else."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            instead = _ELSEWHERE.get(error.option_name)
            if instead is None:
                raise
            raise click.UsageError(f"a chat has no {error.option_name}: {instead}", ctx) from None


def own_words(arguments: Sequence[str], group: click.Group) -> list[str]:
    """`zot --rpc FLAGS` is `zot rpc FLAGS`, and a list of models needs no command. Raises UsageError for what only a
    command takes, saying which."""
    if not arguments or not arguments[0].startswith("-"):
        return [*arguments]
    if _RPC & {*arguments}:
        return ["rpc", *arguments]
    flag = arguments[0].partition("=")[0]
    if where := _MODES.get(flag) or _having(flag, group):
        raise click.UsageError(f"{flag} needs a command: {where}")
    return [*arguments]


def _having(flag: str, group: click.Group) -> str:
    """Which commands have a flag that the group itself has not; empty: none of those that zot has."""
    if flag in ("-h", "--help", *_options(group)):
        return ""
    # Only where a command line is wrong.
    from hookgate.rpc.flags import takes

    in_chat = f"--{renamed(flag[2:])}" if flag.startswith("--") else flag
    having = [*(("chat",) if in_chat in _options(group.commands["chat"]) else ()), *(("rpc",) if takes(flag) else ())]
    named = " and ".join(f"`hookgate {command} {flag}`" for command in having)
    return named and f"{named} {'has' if len(having) == 1 else 'have'} it"


def _options(command: click.Command) -> set[str]:
    # Without help: click keeps the names under which that is asked for first, and knows them only in a real context.
    return {option for param in command.params for option in param.opts}


def taken(command: Decorated) -> Decorated:
    """Flags that say what is so already; `--no-session` keeps nothing, whatever else is said."""
    command = click.option("--no-session", is_flag=True, hidden=True)(command)
    return click.option("--with-skills", "--with-skill", is_flag=True, hidden=True, expose_value=False)(command)


def renamed(name: str) -> str:
    """What `token_normalize_func` asks for."""
    return ALIASES.get(name, name)
