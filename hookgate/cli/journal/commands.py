"""`hookgate store`, `hookgate sessions`, `hookgate where`: their commands' words and options. Imports click alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from hookgate.cli.completion import completed
from hookgate.cli.exits import guarded, run
from hookgate.cli.journal.place import JournalChoice
from hookgate.cli.names import conversation_ids, kept_journals
from hookgate.cli.options import FILE, Group, ListingGroup, config_option, control_option, json_option, yes_option


def journal_option(command: Callable[..., None]) -> Callable[..., None]:
    @config_option
    @click.option(
        "--session",
        default="",
        metavar="NAME",
        shell_complete=completed(kept_journals),
        help="The conversation kept by this name; rpc/NAME: an RPC's.",
    )
    @wraps(command)
    def placed(config_file: Path | None, session: str, **given: Any) -> None:  # noqa: ANN401
        command(place=JournalChoice(config_file, session), **given)

    return placed


@click.group(cls=Group)
def store() -> None:
    """The journal's file: check, copy, write out, trim it."""


@store.command(name="check")
@journal_option
def store_check(place: JournalChoice) -> None:
    """Read every page and value, and whether the books balance. The status is 0 where it is whole."""
    from hookgate.cli.journal.file import check_file

    guarded(lambda: check_file(place))


@store.command(name="backup")
@click.argument("to", metavar="FILE", type=FILE)
@journal_option
def store_backup(to: Path, place: JournalChoice) -> None:
    """Write a whole copy to FILE, also while hookgate runs."""
    from hookgate.cli.journal.file import back_up_file

    guarded(lambda: back_up_file(to, place))


@store.command(name="export")
@journal_option
def store_export(place: JournalChoice) -> None:
    """Everything that is stored, as JSON lines."""
    from hookgate.cli.journal.file import export_file

    guarded(lambda: export_file(place))


@store.command(name="trim")
@click.option("--days", type=click.FloatRange(0, min_open=True), help="Drop what ended longer ago.")
@click.option("--mb", type=click.FloatRange(0, min_open=True), help="Then the oldest, until no more is used.")
@journal_option
def store_trim(days: float | None, mb: float | None, place: JournalChoice) -> None:
    """Drop what nobody waits for and is old or too much. Not while hookgate runs."""
    from hookgate.cli.journal.file import trim_file

    if days is None and mb is None:
        raise click.UsageError("give --days, --mb or both")
    run(lambda: trim_file(place, days or 0.0, mb or 0.0))


@store.command(name="migrate")
@click.option("--to", required=True, metavar="URL|FILE", help="postgresql://USER@HOST:PORT/NAME, or a file.")
@config_option
def store_migrate(to: str, config_file: Path | None) -> None:
    """Carry the journal over, compare both. Not while hookgate runs; what was broken off goes on."""
    from hookgate.cli.journal.moving import migrate_journal

    run(lambda: migrate_journal(to, config_file))


@click.group(cls=ListingGroup)
def sessions() -> None:
    """Stored conversations: list, show, write out, forget."""


@sessions.command(name="list")
@journal_option
@json_option
def sessions_list(place: JournalChoice, as_json: bool) -> None:
    """How much each holds, what is unfinished, by when it last moved."""
    from hookgate.cli.journal.conversations import list_sessions

    guarded(lambda: list_sessions(place, as_json=as_json))


@sessions.command(name="show")
@click.argument("id_", metavar="ID|NAME", shell_complete=completed(conversation_ids))
@journal_option
def sessions_show(id_: str, place: JournalChoice) -> None:
    """What was said in it, from the last summary on."""
    from hookgate.cli.journal.conversations import show_session

    guarded(lambda: show_session(id_, place))


@sessions.command(name="export")
@click.argument("id_", metavar="ID|NAME", shell_complete=completed(conversation_ids))
@journal_option
def sessions_export(id_: str, place: JournalChoice) -> None:
    """All that is stored of it, as JSON lines."""
    from hookgate.cli.journal.conversations import export_session

    guarded(lambda: export_session(id_, place))


@sessions.command(name="forget")
@click.argument("id_", metavar="ID|NAME", shell_complete=completed(conversation_ids))
@yes_option
@journal_option
def sessions_forget(id_: str, yes: bool, place: JournalChoice) -> None:
    """Delete all that was said in it. Not while hookgate runs."""
    from hookgate.cli.journal.conversations import forget_session

    run(lambda: forget_session(id_, place, yes=yes))


@click.command()
@click.argument("message", default="", metavar="[ID|TEXT]")
@journal_option
@control_option
@json_option
def where(message: str, place: JournalChoice, control: Path | None, as_json: bool) -> None:
    """Where a message is, what it waits for, and the way it came. Each step has its time.

    It is named by its id, which may be cut short, or by a part of its text, its chat or its sender, or a person's
    name: then the newest come first. Without: everything that is unfinished.
    """
    from hookgate.cli.journal.messages import show_messages

    guarded(lambda: show_messages(message, place, control, as_json=as_json))
