"""The `hookgate hooks` group: its commands' words and options. Imports click alone, as main does."""

from __future__ import annotations

from pathlib import Path

import click

from hookgate.cli.exits import guarded, run
from hookgate.cli.options import config_option, control_option, json_option


@click.group()
def hooks() -> None:
    """Hook processes: list, explain, check."""


@hooks.command(name="list")
@config_option
@control_option
@json_option
def hooks_list(config_file: Path | None, control: Path | None, as_json: bool) -> None:
    """The hooks that run, or else those that would: state and times."""
    from hookgate.cli.hooks.inspect import list_hooks

    guarded(lambda: list_hooks(config_file, control, as_json=as_json))


@hooks.command(name="explain")
@config_option
@click.option("--channel", default="cli", show_default=True)
@click.option("--chat", default="terminal", show_default=True)
@click.option("--chat-type", default="direct", show_default=True)
@click.option("--sender", default="user", show_default=True)
@click.option("--thread", default="")
@click.option(
    "--role", default=None, help="That the sender has, instead of those of [people]; several between commas."
)
@click.option("--agent", default="", help="Instead of the one that answers in that chat.")
@click.option("--tool", default="", help="A tool call of this name.")
@click.option("--model", default="", help="Instead of agent.model.")
@json_option
def hooks_explain(config_file: Path | None, role: str | None, as_json: bool, **call: str) -> None:
    """Which hooks a call would pass, and why each is in or out."""
    from hookgate.cli.hooks.explain import explain

    guarded(lambda: explain(config_file, call, role, as_json=as_json))


@hooks.command(name="check")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--dir", "directory", type=click.Path(exists=True, file_okay=False), default=".", help="Where it runs.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="For the hook; may be repeated.")
@json_option
def hooks_check(command: tuple[str, ...], directory: str, env: tuple[str, ...], as_json: bool) -> None:
    """Put a hook to the test."""
    from hookgate.cli.hooks.check import check_command

    run(lambda: check_command(command, directory, env, as_json=as_json))
