"""The `hookgate store` and `hookgate sessions` groups: their commands' words and options. Imports click alone."""

from __future__ import annotations

from pathlib import Path

import click

from hookgate.cli.options import FILE, config_option, yes_option


@click.group()
def store() -> None:
    """The journal's file: check it, copy it, write it out, drop what is old."""


@store.command(name="check")
@config_option
def store_check(config_file: Path | None) -> None:
    """Read all of it: every page, every value, and whether the books balance. The status is 0 where it is whole."""
    from hookgate.cli.journal.file import check_file
    from hookgate.cli.main import guarded

    guarded(lambda: check_file(config_file))


@store.command(name="backup")
@click.argument("to", metavar="FILE", type=FILE)
@config_option
def store_backup(to: Path, config_file: Path | None) -> None:
    """Write a whole copy to FILE, also while hookgate runs."""
    from hookgate.cli.journal.file import back_up_file
    from hookgate.cli.main import guarded

    guarded(lambda: back_up_file(to, config_file))


@store.command(name="export")
@config_option
def store_export(config_file: Path | None) -> None:
    """Everything that is stored, as JSON lines."""
    from hookgate.cli.journal.file import export_file
    from hookgate.cli.main import guarded

    guarded(lambda: export_file(config_file))


@store.command(name="trim")
@click.option("--days", type=click.FloatRange(0, min_open=True), help="Drop what ended longer ago.")
@click.option("--mb", type=click.FloatRange(0, min_open=True), help="Then the oldest, until no more is used.")
@config_option
def store_trim(days: float | None, mb: float | None, config_file: Path | None) -> None:
    """Drop what nobody waits for and is old, or more than there should be. Not while hookgate runs."""
    from hookgate.cli.journal.file import trim_file
    from hookgate.cli.main import run

    if days is None and mb is None:
        raise click.UsageError("give --days, --mb or both")
    run(lambda: trim_file(config_file, days or 0.0, mb or 0.0))


@click.group()
def sessions() -> None:
    """Stored conversations: list, show, write out, forget."""


@sessions.command(name="list")
@config_option
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def sessions_list(config_file: Path | None, as_json: bool) -> None:
    """Each with how much it holds, what in it is unfinished, and when it last moved."""
    from hookgate.cli.journal.conversations import list_sessions
    from hookgate.cli.main import guarded

    guarded(lambda: list_sessions(config_file, as_json=as_json))


@sessions.command(name="show")
@click.argument("id_", metavar="ID")
@config_option
def sessions_show(id_: str, config_file: Path | None) -> None:
    """What was said in it, from the last summary on."""
    from hookgate.cli.journal.conversations import show_session
    from hookgate.cli.main import guarded

    guarded(lambda: show_session(id_, config_file))


@sessions.command(name="export")
@click.argument("id_", metavar="ID")
@config_option
def sessions_export(id_: str, config_file: Path | None) -> None:
    """All that is stored of it, as JSON lines."""
    from hookgate.cli.journal.conversations import export_session
    from hookgate.cli.main import guarded

    guarded(lambda: export_session(id_, config_file))


@sessions.command(name="forget")
@click.argument("id_", metavar="ID")
@yes_option
@config_option
def sessions_forget(id_: str, yes: bool, config_file: Path | None) -> None:
    """Delete all that was said in it. Not while hookgate runs."""
    from hookgate.cli.journal.conversations import forget_session
    from hookgate.cli.main import run

    run(lambda: forget_session(id_, config_file, yes=yes))
