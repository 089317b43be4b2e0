"""What every command that lists has: a group that lists by itself, rows that fit the screen, `--json`, whole help."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from hookgate.cli.main import hookgate
from hookgate.cli.options import ListingGroup, json_option
from hookgate.cli.printing import table

WIDTH = 78
"""Of a help text: click's on a terminal of 80 columns."""


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


def commands(group: click.Group, path: str = "hookgate") -> Iterator[tuple[str, click.Group, click.Command]]:
    """All that help shows: the path, the group, the command."""
    context = click.Context(group, info_name=path)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        yield f"{path} {name}", group, command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def test_every_command_that_lists_has_json() -> None:
    listing = {"list", "explain", "channels", "status", "where", "doctor"}
    without = [
        path
        for path, _group, command in commands(hookgate)
        if path.rsplit(" ", 1)[1] in listing and not any("--json" in it.opts for it in command.params)
    ]
    assert without == ["hookgate ext doctor"]


def test_what_a_command_is_for_is_a_whole_line_of_its_group_s_help() -> None:
    cut = list[str]()
    for path, group, command in list(commands(hookgate)):
        longest = max(len(name) for name, it in group.commands.items() if not it.hidden)
        if command.get_short_help_str(WIDTH - 6 - longest).endswith("..."):
            cut.append(path)
    assert cut == []


ROWS = [("gate", "up", "it judges every call of every tool"), ("audit-log", "down", "")]
NAMES = ("name", "state", "what for")


def test_a_row_that_the_screen_has_no_room_for_goes_on_below_itself() -> None:
    assert table(ROWS) == [
        "gate       up    it judges every call of every tool",
        "audit-log  down  -",
    ]
    assert table(ROWS, 40) == [
        "gate       up    it judges every call",
        "                 of every tool",
        "audit-log  down  -",
    ]


def test_where_the_columns_alone_are_wider_than_the_screen_each_row_is_a_block_of_what_it_holds() -> None:
    assert table(ROWS, 40, NAMES)[0] == "name       state  what for"
    assert table(ROWS, 36, NAMES) == [
        "  name      gate",
        "  state     up",
        "  what for  it judges every call of",
        "            every tool",
        "",
        "  name   audit-log",
        "  state  down",
    ]
