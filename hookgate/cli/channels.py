"""`hookgate channels`: how each is; and the `hookgate web` group: what the page's channel is configured with. Imports
click alone, as main does."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hookgate.cli.exits import guarded
from hookgate.cli.options import Group, config_option, control_option, json_option

if TYPE_CHECKING:
    from hookgate.operations.channels import ChannelStatus


COLUMNS = ("name", "kind", "state", "since", "why")


@click.command()
@config_option
@control_option
@json_option
def channels(config_file: Path | None, control: Path | None, as_json: bool) -> None:
    """The running gateway's channels: state, since when, why."""
    guarded(lambda: _list(config_file, control, as_json=as_json))


def _list(config_file: Path | None, control: Path | None, *, as_json: bool) -> int:
    from hookgate import config as configuration
    from hookgate.cli.printing import say_rows, table, width_shown
    from hookgate.cli.running import asked, running_or_none
    from hookgate.operations.channels import ChannelStatus, configured_channels

    found = running_or_none(config_file, control)
    if found is not None:
        rows, title = asked("channels.list", ChannelStatus, found, tell=as_json)
    else:
        rows = configured_channels(configuration.load(config_file)[0])
        title = "No hookgate of this configuration is running; this is what it would open."
    lines = table(_cells(rows), width_shown(), COLUMNS) if rows else ["no channels"]
    return say_rows(rows, lambda: [title, *lines], as_json=as_json)


def _cells(rows: Iterable[ChannelStatus]) -> Iterator[tuple[str, ...]]:
    from hookgate.cli.printing import moment

    for row in rows:
        yield row.name, row.kind, row.state, moment(row.since) if row.since else "", row.why


LEAST_PASSWORD = 8


@click.group(cls=Group)
def web() -> None:
    """The web page: password."""


@web.command(name="password")
def web_password() -> None:
    """Ask for a password and print its hash. For [channels.NAME.users]; it may come as a line of stdin."""
    guarded(_print_hash)


def _print_hash() -> int:
    from hookgate.channels.web.access.passwords import hashed

    if sys.stdin.isatty():
        password = str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    if len(password) < LEAST_PASSWORD:
        raise click.UsageError(
            f"a password has at least {LEAST_PASSWORD} characters: whoever sees the page may guess"
        )
    click.echo(hashed(password))
    return 0
