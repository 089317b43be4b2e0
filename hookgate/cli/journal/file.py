"""`hookgate store`: the file of stored conversations as a whole."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from hookgate import config as configuration
from hookgate.cli.printing import counted, failed, say
from hookgate.program.endings import FAILED
from hookgate.protocol.codec import encode

DAY_S = 86400.0
MB = 1_000_000


def journal_of(config_file: Path | None) -> Path:
    """Raises ConfigError."""
    config, _file = configuration.load(config_file)
    return configuration.journal_file(config)


def check_file(config_file: Path | None) -> int:
    """Raises ConfigError and StoreFailed, as all do."""
    from hookgate.store.journal.looking import check, open_look

    file = journal_of(config_file)
    with open_look(file) as tables:
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


def back_up_file(to: Path, config_file: Path | None) -> int:
    from hookgate.store.journal.backup import back_up

    size = back_up(journal_of(config_file), to.absolute())
    say(f"{to} is a whole copy: {size / MB:.1f} MB")
    return 0


def export_file(config_file: Path | None) -> int:
    from hookgate.store.journal.looking import exported, open_look

    with open_look(journal_of(config_file)) as tables:
        write_lines(exported(tables))
    return 0


def write_lines(lines: Iterable[dict[str, object]]) -> None:
    for line in lines:
        sys.stdout.buffer.write(encode(line) + b"\n")
    sys.stdout.buffer.flush()


async def trim_file(config_file: Path | None, days: float, megabytes: float) -> int:
    from hookgate.store.journal import open_journal
    from hookgate.store.journal.place import look_at

    file = journal_of(config_file)
    # One that is not there is not made.
    look_at(file).close()
    async with open_journal(file) as journal:
        await journal.retention.keep(age_s=days * DAY_S, most_bytes=int(megabytes * MB))
        sessions = await journal.books.sessions()
        used = await journal.retention.used_bytes()
    say(f"{counted(len(sessions), 'conversation')} left, {used / MB:.1f} MB")
    return 0
