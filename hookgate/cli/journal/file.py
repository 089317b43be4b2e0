"""`hookgate store`: the file of stored conversations as a whole."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from hookgate import config as configuration
from hookgate.assembly.journals import (
    DAY_S,
    MB,
    conversation_file,
    conversation_files,
    journal_place,
    trim_conversations,
)
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.channels.terminal.channel import NAME as CHANNEL
from hookgate.cli.journal.place import JournalChoice
from hookgate.cli.printing import counted, failed, say
from hookgate.program.endings import FAILED
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.codec import encode
from hookgate.store.places import Database, JournalPlace, open_journal_at, open_look_at, refuse_missing


def journal_of(place: JournalChoice) -> JournalPlace:
    """Raises ConfigError."""
    config, _file = configuration.load(place.config_file)
    channel, _, name = place.session.rpartition("/")
    if not name:
        return journal_place(config)
    file = conversation_file(config, channel or CHANNEL, name)
    # Whoever goes on with one names no channel either.
    others = [it for it in conversation_files(config) if it.stem == name] if not channel and not file.exists() else []
    return others[0] if len(others) == 1 else file


def kept_by_name(place: JournalChoice) -> list[tuple[str, Path]]:
    """Conversations that are: the name and the file. Raises ConfigError."""
    config, _file = configuration.load(place.config_file)
    files = conversation_files(config)
    return [(f"{it.parent.name}/{it.stem}".removeprefix(f"{CHANNEL}/"), it) for it in files]


def check_file(place: JournalChoice) -> int:
    """Raises ConfigError and StoreFailed, as all do."""
    from hookgate.store.journal.operators.looking import check

    file = journal_of(place)
    with open_look_at(file) as tables:
        checked = check(tables)
    for mistake in checked.mistakes:
        failed(f"{file}: {mistake}")
    if checked.mistakes:
        return FAILED
    figures = (
        counted(checked.conversations, "conversation"),
        f"{counted(checked.messages, 'message')} ({checked.unfinished} unfinished)",
        f"{checked.to_send} to be sent",
        f"{checked.used_bytes / MB:.1f} MB",
    )
    say(f"{file} is whole: {', '.join(figures)}")
    return 0


def back_up_file(to: Path, place: JournalChoice) -> int:
    from hookgate.store.journal.operators.backup import back_up

    file = journal_of(place)
    if isinstance(file, Database):
        raise StoreFailed(f"{file}: copies of a database are made with its own programs, pg_dump or pg_basebackup")
    size = back_up(file, to.absolute())
    say(f"{to} is a whole copy: {size / MB:.1f} MB")
    return 0


def export_file(place: JournalChoice) -> int:
    from hookgate.store.journal.operators.looking import exported

    with open_look_at(journal_of(place)) as tables:
        write_lines(exported(tables))
    return 0


def write_lines(lines: Iterable[dict[str, object]]) -> None:
    for line in lines:
        sys.stdout.buffer.write(encode(line) + b"\n")
    sys.stdout.buffer.flush()


async def trim_file(place: JournalChoice, days: float, megabytes: float) -> int:
    file, age_s, most_bytes = journal_of(place), days * DAY_S, int(megabytes * MB)
    if not place.session:
        config, _file = configuration.load(place.config_file)
        set_up_logs(config.log)
        if trimmed := await trim_conversations(config, age_s, most_bytes):
            say(f"{counted(trimmed, 'conversation')} kept by name trimmed")
    refuse_missing(file)
    async with open_journal_at(file) as journal:
        await journal.retention.keep(age_s=age_s, most_bytes=most_bytes)
        sessions = await journal.books.sessions()
        used = await journal.retention.used_bytes()
    say(f"{counted(len(sessions), 'conversation')} left, {used / MB:.1f} MB")
    return 0
