"""The `hookgate tools` group: its commands' words and options. Imports click alone, as main does."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Literal

import click

from hookgate.cli.completion import completed
from hookgate.cli.exits import guarded, run
from hookgate.cli.names import channel_names, made_tools, tool_names
from hookgate.cli.options import ListingGroup, config_option, control_option, ext_option, json_option, yes_option

everywhere_option = click.option("--everywhere", is_flag=True, help="In all workspaces, not in this one alone.")


@click.group(cls=ListingGroup)
def tools() -> None:
    """What a model may use: look, call by hand, describe, add."""


@tools.command(name="list")
@config_option
@control_option
@ext_option
@json_option
def tools_list(config_file: Path | None, control: Path | None, ext: tuple[Path, ...], as_json: bool) -> None:
    """The running gateway's tools, or those that one would have.

    With --ext: those that one would have with it, whatever runs.
    """
    from hookgate.cli.tools.listing import Source, list_tools

    guarded(lambda: list_tools(Source(config_file, control, ext), as_json=as_json))


@tools.command(name="show")
@click.argument("name", shell_complete=completed(tool_names))
@config_option
@control_option
@ext_option
@json_option
def tools_show(
    name: str, config_file: Path | None, control: Path | None, ext: tuple[Path, ...], as_json: bool
) -> None:
    """One tool: description, schema, flags, provider, preference."""
    from hookgate.cli.tools.listing import Source, show_tool

    guarded(lambda: show_tool(name, Source(config_file, control, ext), as_json=as_json))


@tools.command(name="call")
@click.argument("name", shell_complete=completed(tool_names))
@click.argument("arguments", default="{}")
@config_option
@ext_option
@click.option("--trace", is_flag=True, help="Show what every hook decided, and how long it took.")
@click.option("--channel", default="cli", show_default=True, shell_complete=completed(channel_names))
@click.option("--chat", default="terminal", show_default=True)
@click.option("--sender", default="user", show_default=True)
@yes_option
def tools_call(name: str, arguments: str, config_file: Path | None, **flags: str | bool | tuple[Path, ...]) -> None:
    """Run one call through every hook and approval, as a model would. ARGUMENTS is a JSON object."""
    from hookgate.cli.tools.call import CallFlags, call_tool

    asked = CallFlags(name, arguments, config_file, **flags)  # type: ignore[arg-type] - click has checked them
    run(lambda: call_tool(asked))


@tools.command(name="describe")
@click.argument("name", shell_complete=completed(tool_names))
@click.argument("text", required=False)
@config_option
@control_option
@click.option(
    "--file", "text_file", type=click.File("r", encoding="utf-8"), help="Read the text from here; - is stdin."
)
@click.option("--clear", is_flag=True, help="Go back to the tool's own description.")
def tools_describe(
    name: str,
    text: str | None,
    config_file: Path | None,
    control: Path | None,
    text_file: IO[str] | None,
    clear: bool,
) -> None:
    """What the model reads about a tool in place of its own words. Without TEXT, show it."""
    from hookgate.cli.tools.store import Wording, describe_tool

    if (text is not None) + (text_file is not None) + clear > 1:
        raise click.UsageError("give one of TEXT, --file and --clear")
    given = text_file.read() if text_file else text
    guarded(lambda: describe_tool(Wording(name, given, clear), config_file, control))


@tools.command(name="forget")
@click.argument("name", shell_complete=completed(made_tools))
@config_option
@control_option
@yes_option
def tools_forget(name: str, config_file: Path | None, control: Path | None, yes: bool) -> None:
    """Take a dynamic tool or an MCP connection from the catalog. Its files stay."""
    from hookgate.cli.tools.store import forget_tool

    guarded(lambda: forget_tool(name, config_file, control, yes=yes))


@tools.command(name="decode")
def tools_decode() -> None:
    """Read arguments as models write them. A JSON string per line in; class, value and steps out."""
    from hookgate.cli.tools.text import decode_lines

    guarded(decode_lines)


@tools.command(name="extract")
@click.option("--tools", "names", required=True, metavar="A,B", help="The names that may be called.")
@click.option("--mode", type=click.Choice(["tags", "all"]), default="all", help="What counts; all unless it is said.")
def tools_extract(names: str, mode: Literal["tags", "all"]) -> None:
    """Find calls in a model's text. A JSON string per line in; class, calls and rest out."""
    from hookgate.cli.tools.text import extract_lines

    guarded(lambda: extract_lines(names, mode))


@tools.command(name="approve")
@click.argument("name", shell_complete=completed(made_tools))
@config_option
@everywhere_option
@yes_option
def tools_approve(name: str, config_file: Path | None, everywhere: bool, yes: bool) -> None:
    """Vouch for a tool that a model made. It starts with hookgate from now on."""
    from hookgate.cli.tools.made import approve_tool

    guarded(lambda: approve_tool(name, config_file, everywhere=everywhere, yes=yes))


@tools.command(name="add")
@click.argument("program", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@config_option
@everywhere_option
def tools_add(program: Path, config_file: Path | None, everywhere: bool) -> None:
    """Make a program a tool. It answers `--describe` with its spec and `--call` with a result."""
    from hookgate.cli.tools.made import add_program

    guarded(lambda: add_program(program, config_file, everywhere=everywhere))
