"""The `hookgate web` group: what the page's channel is configured with. Imports click alone, as main does."""

from __future__ import annotations

import sys

import click


@click.group()
def web() -> None:
    """The web page: password."""


@web.command(name="password")
def web_password() -> None:
    """Ask for a password and print its hash, for [channels.NAME.users]; it may come as a line of stdin."""
    from hookgate.cli.main import guarded

    guarded(_print_hash)


def _print_hash() -> int:
    from hookgate.channels.web.access.passwords import hashed

    if sys.stdin.isatty():
        password = str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise click.UsageError("an empty password lets everybody in")
    click.echo(hashed(password))
    return 0
