"""Options that several groups of commands share. Imports click and what lays out its help, as every group does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hookgate.program.help import Context


class Group(click.Group):
    """What each command is for is a whole sentence wherever it stands: help folds it, and a shell shows it."""

    context_class = Context

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        cmd.context_class = Context
        first, end, _ = " ".join((cmd.help or "").partition("\n\n")[0].split()).partition(". ")
        cmd.short_help = cmd.short_help or first + end.rstrip()
        super().add_command(cmd, name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, following = super().resolve_command(ctx, args)
        # A shell that asks what may follow is not told: behind no command nothing may.
        return name, command or click.Command(name, add_help_option=False), following


class ListingGroup(Group):
    """A group whose `list` is what its name alone does."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 - click's own
        alone = "Without a command it lists, with the options of list, --json among them."
        super().__init__(epilog=alone, subcommand_metavar="[COMMAND] [ARGS]...", **given)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:
            # A shell wants to know what may follow.
            return super().parse_args(ctx, args)
        asks_for_help = any(it in args[:1] for it in self.get_help_option_names(ctx))
        named = bool(args) and not args[0].startswith("-")
        return super().parse_args(ctx, args if named or asks_for_help else ["list", *args])


FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(path_type=Path)
config_option = click.option("--config", "config_file", type=FILE, help="Instead of ./hookgate.toml.")
ext_option = click.option(
    "-e", "--ext", multiple=True, type=FOLDER, help="Load the extension in this folder; may be repeated."
)
control_option = click.option("--control", type=FILE, help="The control socket's path.")
json_option = click.option("--json", "as_json", is_flag=True, help="For programs.")
yes_option = click.option("--yes", is_flag=True, help="Answer every question with yes.")
