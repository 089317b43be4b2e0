"""`hookgate store`: the file of stored conversations as a whole."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from hookgate import config as configuration
from hookgate.assembly.journals import DAY_S, MB, conversation_file, trim_conversations
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.channels.terminal import NAME as CHANNEL
from hookgate.cli.journal.place import Place
from hookgate.cli.printing import counted, failed, say
from hookgate.program.endings import FAILED
from hookgate.protocol.codec import encode


def journal_of(place: Place) -> Path:
    """Raises ConfigError."""
    config, _file = configuration.load(place.config_file)
    channel, _, name = place.session.rpartition("/")
    return conversation_file(config, channel or CHANNEL, name) if name else configuration.journal_file(config)


def check_file(place: Place) -> int:
    """Raises ConfigError and StoreFailed, as all do."""
    from hookgate.store.journal.operators.looking import check, open_look

    file = journal_of(place)
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


def back_up_file(to: Path, place: Place) -> int:
    from hookgate.store.journal.operators.backup import back_up

    size = back_up(journal_of(place), to.absolute())
    say(f"{to} is a whole copy: {size / MB:.1f} MB")
    return 0


def export_file(place: Place) -> int:
    from hookgate.store.journal.operators.looking import exported, open_look

    with open_look(journal_of(place)) as tables:
        write_lines(exported(tables))
    return 0


def write_lines(lines: Iterable[dict[str, object]]) -> None:
    for line in lines:
        sys.stdout.buffer.write(encode(line) + b"\n")
    sys.stdout.buffer.flush()


async def trim_file(place: Place, days: float, megabytes: float) -> int:
    from hookgate.store.journal import open_journal
    from hookgate.store.journal.engine.place import look_at

    file, age_s, most_bytes = journal_of(place), days * DAY_S, int(megabytes * MB)
    if not place.session:
        config, _file = configuration.load(place.config_file)
        set_up_logs(config.log)
        if trimmed := await trim_conversations(config, age_s, most_bytes):
            say(f"{counted(trimmed, 'conversation')} kept by name trimmed")
    # One that is not there is not made.
    look_at(file).close()
    async with open_journal(file) as journal:
        await journal.retention.keep(age_s=age_s, most_bytes=most_bytes)
        sessions = await journal.books.sessions()
        used = await journal.retention.used_bytes()
    say(f"{counted(len(sessions), 'conversation')} left, {used / MB:.1f} MB")
    return 0
