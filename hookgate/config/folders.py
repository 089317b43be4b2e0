"""Where hookgate keeps what outlives a run, and what is found in folders of the user."""

from __future__ import annotations

import os
from pathlib import Path

from hookgate.sections import Config


def state_directory() -> Path:
    """What outlives a run: `$XDG_STATE_HOME/hookgate`, else `~/.local/state/hookgate`."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "hookgate"


def history_file() -> Path:
    """What this user has typed at the terminal."""
    return state_directory() / "chat-history"


def store_file(config: Config) -> Path:
    """The SQLite file of the tool catalog and the descriptions; it need not exist."""
    return Path(config.store.path).expanduser() if config.store.path else state_directory() / "hookgate.db"


def journal_file(config: Config) -> Path:
    """The SQLite file of stored conversations; it need not exist."""
    return Path(config.store.journal).expanduser() if config.store.journal else state_directory() / "journal.db"


def conversations_folder(config: Config) -> Path:
    """Where conversations that are kept by name lie: a folder for each channel, a file for each."""
    return journal_file(config).with_suffix(".sessions")


def media_folder(config: Config) -> Path:
    """Where files that belong to messages lie."""
    return journal_file(config).with_suffix(".media")


def dynamic_folder(config: Config) -> Path:
    """Where tools that were made at run time live, a folder each."""
    return Path(config.dynamic.folder).expanduser() if config.dynamic.folder else state_directory() / "tools"


def zot_home(config: Config) -> Path:
    """Where zot keeps its things: configured, else `$ZOT_HOME`, else zot's usual folder."""
    if config.zot.home:
        return Path(config.zot.home).expanduser().absolute()
    given = os.environ.get("ZOT_HOME")
    return Path(given).absolute() if given else state_directory().with_name("zot")


def extensions_folder() -> Path:
    """Where `hookgate ext install` puts extensions: `$XDG_DATA_HOME/hookgate/extensions`."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "hookgate" / "extensions"


def trust_folder() -> Path:
    """Where it stands which extensions of projects may run."""
    return state_directory() / "trusted"


def learnt_folder() -> Path:
    """Where it stands what earlier runs have learnt of extensions."""
    return state_directory() / "extensions"


def skills_folder() -> Path:
    """The person's own skills: `$XDG_DATA_HOME/hookgate/skills`."""
    return extensions_folder().with_name("skills")


def runtime_directory() -> Path:
    """Where control sockets live: `$XDG_RUNTIME_DIR/hookgate`, else a folder of this user's in the temporary one."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base:
        return Path(base) / "hookgate"
    return Path(os.environ.get("TMPDIR", "/tmp")) / f"hookgate-{os.getuid()}"  # noqa: S108 - checked before use
