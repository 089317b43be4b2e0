"""Groups of commands whose name alone lists what there is."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from hookgate.cli.options import ListingGroup, json_option


@click.group(cls=ListingGroup)
def things() -> None:
    """Things."""


@things.command(name="list")
@json_option
def list_things(as_json: bool) -> None:
    click.echo(f"listed {as_json}")


@things.command(name="show")
def show_things() -> None:
    click.echo("shown")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ([], "listed False"),
        (["--json"], "listed True"),
        (["list"], "listed False"),
        (["show"], "shown"),
        (["--help"], "Usage: "),
        (["shwo"], "No such command"),
        (["--jsno"], "No such option"),
    ],
)
def test_the_name_of_a_group_alone_lists(typed: list[str], said: str) -> None:
    assert said in CliRunner().invoke(things, typed).output
