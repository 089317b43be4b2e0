"""What every command that lists has: a group that lists by itself, rows that fit the screen, `--json`, whole help."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from hookgate.cli.main import hookgate
from hookgate.cli.options import ListingGroup, json_option
from hookgate.cli.printing import aligned, folded, table
from hookgate.rpc.flags import usage
from tests.cli.program import configured, open_terminal, run

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
    assert without == []


def test_what_a_command_is_for_is_a_whole_line_of_its_group_s_help_and_whole_on_a_narrow_screen() -> None:
    cut, narrow = list[str](), CliRunner().invoke(hookgate, ["--help"], terminal_width=50).output
    for path, group, command in list(commands(hookgate)):
        longest = max(len(name) for name, it in group.commands.items() if not it.hidden)
        if len(command.short_help or "") > WIDTH - 6 - longest:
            cut.append(path)
        assert group is not hookgate or (command.short_help or "") in " ".join(narrow.split())
    assert cut == []
    assert "..." not in narrow.partition("Commands:")[2]


async def test_the_help_of_hookgate_itself_is_asked_for_as_that_of_its_commands(tmp_path: Path) -> None:
    short, long = [await run(tmp_path, flag) for flag in ("-h", "--help")]
    assert (short.returncode, short.stdout, short.stderr) == (0, long.stdout, b"")
    assert b"  -h, --help     Show this message and exit.\n" in long.stdout


@pytest.mark.parametrize("width", [40, 50, 80])
def test_no_help_is_wider_than_a_terminal_and_each_says_how_it_is_asked_for(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    its = {path: it.context_class(it, info_name=path) for path, _group, it in commands(hookgate)}
    helps = {path: context.command.get_help(context) for path, context in its.items()}
    helps["hookgate rpc"] = usage("hookgate")
    wide = {path: line for path, text in helps.items() for line in text.splitlines() if len(line) > width}
    assert wide == {}
    assert [path for path, text in helps.items() if "--help" not in text.partition("\n")[2]] == []


@pytest.mark.parametrize("group", ["approvals", "audit", "hooks", "keys", "mcp", "people", "sessions", "tools"])
async def test_the_name_of_each_group_that_lists_does_so_and_its_help_says_it(tmp_path: Path, group: str) -> None:
    configured(tmp_path, "http://127.0.0.1:1")
    assert (await run(tmp_path, group, "--json")).stdout == (await run(tmp_path, group, "list", "--json")).stdout
    assert (
        b"Without a command it lists, with the options of list, --json among them."
        in (await run(tmp_path, group, "--help")).stdout
    )


async def test_channels_are_listed_below_the_names_of_their_columns_or_it_is_said_that_there_are_none(
    tmp_path: Path,
) -> None:
    configured(tmp_path, "http://127.0.0.1:1")
    assert (await run(tmp_path, "channels")).stdout.decode().splitlines()[1:] == ["no channels"]
    configured(tmp_path, "http://127.0.0.1:1", '[channels.page]\nkind = "web"\n')
    heads, row = (await run(tmp_path, "channels")).stdout.decode().splitlines()[1:]
    assert (heads.split(), row.split()[:2]) == (["name", "kind", "state"], ["page", "web"])


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


def test_a_line_that_the_screen_has_no_room_for_goes_on_at_words_below_its_last_column() -> None:
    path = "/a/path/that/is/whole/wherever/it/stands.py"
    assert folded(f"  ok  python  3.11 at {path}, on Linux", None) == [f"  ok  python  3.11 at {path}, on Linux"]
    assert folded(f"  ok  python  3.11 at {path}, on Linux", 40) == [
        "  ok  python  3.11 at",
        f"              {path},",
        "              on Linux",
    ]
    assert folded("  -> start what should answer there, or mend it", 30) == [
        "  -> start what should answer",
        "    there, or mend it",
    ]
    assert table([("gate", "before_llm,before_tool,after_tool,1,000")], 30) == [
        "gate  before_llm,before_tool,",
        "      after_tool,1,000",
    ]
    # Where its columns leave no room it goes on further to the left.
    assert table([("cli:terminal/main/0", "2026-01-02 03:04Z", "12 messages, 1 unfinished")], 50) == [
        "cli:terminal/main/0  2026-01-02 03:04Z  12",
        "                     messages, 1 unfinished",
    ]


async def test_on_a_narrow_terminal_no_line_is_cut_in_a_word_and_a_pipe_has_it_whole(tmp_path: Path) -> None:
    configured(tmp_path, "http://127.0.0.1:1", '[hooks.processes.h]\ncommand = ["x"]\nobserve = ["*"]\n')
    for words in (("hooks", "explain", "--tool", "bash"), ("init", "new"), ("sessions",)):
        piped = (await run(tmp_path, *words)).stdout.decode()
        if words[0] == "init":
            (tmp_path / "new" / "hookgate.toml").unlink()
            (tmp_path / "new" / "hooks" / "example_hook.py").unlink()
        async with open_terminal(tmp_path, *words, size=(40, 50)) as screen:
            assert await screen.ends() == 0
            await screen.sees(piped.split()[-1])
        assert screen.shown.split() == piped.split()
        assert any(len(line) > 50 for line in piped.splitlines())
        assert [line for line in screen.shown.splitlines() if len(line) > 50 and " " in line.strip()] == []


def test_a_path_that_has_no_room_below_the_column_stands_further_to_the_left_in_one_piece() -> None:
    path = "/root/.local/share/hookgate/extensions"
    assert folded(f"  ok      extensions       {path} (made when it is needed)", 50) == [
        "  ok      extensions",
        f"           {path}",
        "                           (made when it is",
        "                           needed)",
    ]
    assert folded(f"  ok      hookgate   Python at {path}, Linux", 50) == [
        "  ok      hookgate   Python at",
        f"          {path},",
        "                     Linux",
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


def test_names_that_no_line_shows_are_there_once_each_row_is_a_block() -> None:
    rows, names = [("4f1c2b9aa0e1", "telegram:-100/17", "12 s", "asks the model")], ("id", "chat", "runs", "now")
    assert table(rows, 80, names, headed=False) == ["4f1c2b9aa0e1  telegram:-100/17  12 s  asks the model"]
    blocks = ["  id    4f1c2b9aa0e1", "  chat  telegram:-100/17", "  runs  12 s", "  now   asks the model"]
    assert table(rows, 50, names, headed=False) == blocks
    assert aligned(rows, 80, names) == ["  4f1c2b9aa0e1  telegram:-100/17  12 s  asks the model"]
    assert aligned(rows, 50, names) == blocks
    # What stands side by side only if a long one moves its own row has no room either.
    long = [("n" * 30, "up", "well enough to go on"), ("gate", "up", "-")]
    assert aligned(long, 40, ("hook", "state", "said")) == [
        f"  hook   {'n' * 30}",
        "  state  up",
        "  said   well enough to go on",
        "",
        "  hook   gate",
        "  state  up",
    ]


def test_below_names_a_column_that_is_empty_everywhere_is_left_out_so_that_the_others_fit() -> None:
    rows, names = [("ls", "", ""), ("bash", "reserved", "")], ("name", "flags", "shadowed by a very long name")
    assert table(rows, 34, names) == [
        "name  flags",
        "ls    -",
        "bash  reserved",
    ]
