"""The `hookgate config` group: its commands' words and options. Imports click alone, as main does."""

from __future__ import annotations

from pathlib import Path

import click

from hookgate.cli.exits import guarded
from hookgate.cli.options import Group, config_option


@click.group(cls=Group)
def config() -> None:
    """The configuration file."""


@config.command(name="check")
@config_option
@click.option("--strict", is_flag=True, help="Fail on a note, too.")
def config_check(config_file: Path | None, strict: bool) -> None:
    """Read the configuration as the gateway would, start nothing."""
    from hookgate.cli.config.check import check_config

    guarded(lambda: check_config(config_file, strict=strict))


@config.command(name="accept")
@click.option("--yes", is_flag=True, help="Without a question.")
def config_accept(yes: bool) -> None:
    """Vouch for files that changed while a tool's command ran.

    hookgate neither starts nor believes them until you have looked at them.
    """
    from hookgate.cli.config.vouching import accept_changes

    guarded(lambda: accept_changes(yes=yes))
