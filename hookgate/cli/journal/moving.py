"""`hookgate store migrate`: the journal is carried over, from a file to PostgreSQL or back."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from hookgate import config as configuration
from hookgate.assembly.journals import journal_place
from hookgate.cli.printing import counted, say
from hookgate.config import ConfigError
from hookgate.protocol.catalog import StoreFailed
from hookgate.sections import StoreSection
from hookgate.store.moving import move
from hookgate.store.places import Database, JournalPlace, open_journal_at, refuse_missing


async def migrate_journal(to: str, config_file: Path | None) -> int:
    """Raises ConfigError and StoreFailed."""
    config, _file = configuration.load(config_file)
    source, target = journal_place(config), _place(to, configuration.journal_file(config))
    if source == target:
        raise ConfigError(f"--to {to}: the journal lies there already")
    refuse_missing(source)
    async with open_journal_at(source) as old, open_journal_at(target) as new:
        try:
            compared = await move(old, new, say)
        except StoreFailed as error:
            raise StoreFailed(f"{target}: {error}") from None
    rows = sum(it.rows for it in compared)
    say(f"{counted(len(compared), 'table')} with {counted(rows, 'row')} are the same in both, by their SHA-256.")
    files = configuration.media_folder(config)
    say(f"Files of messages stay where they are: in {files}, and in a database's own tables.")
    line = f'url = "{target.address}"' if isinstance(target, Database) else f'journal = "{target}"'
    say(f"Now write {line} below [store]. {source} is left as it was.")
    return 0


def _place(to: str, beside: Path) -> JournalPlace:
    if "://" not in to:
        return Path(to).absolute()
    try:
        return Database(StoreSection(url=to).url, beside)
    except ValidationError as error:
        raise ConfigError(f"--to: {error.errors()[0]['msg']}") from None
