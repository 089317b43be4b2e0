"""What a shell offers where something known is named: what is configured, what is stored, and what the gateway of
this configuration knows. Imports little and makes no file; whatever is raised here, nothing is offered.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

from hookgate.cli.completion import TooLate, Typed
from hookgate.cli.journal.place import JournalChoice

PATIENCE_S = 3.0

if TYPE_CHECKING:
    from hookgate.sections import Config
    from hookgate.store.names import Of


def _config(typed: Typed) -> Config:
    """Where there is no file, the usual one."""
    from hookgate import config as configuration
    from hookgate.sections import Config

    there = typed.config_file is not None or Path(configuration.FILE_NAME).exists()
    return configuration.load(typed.config_file)[0] if there else Config()


# --- of the configuration -----------------------------------------------------------------------------------


def model_names(typed: Typed) -> Iterable[str]:
    """Those that the configuration names, and what its providers begin with."""
    config = _config(typed)
    named = (config.agent.model, *(it.model for it in config.agents.values()))
    return (*filter(None, named), *(f"{name}/" for name in config.providers))


def agent_names(typed: Typed) -> Iterable[str]:
    config = _config(typed)
    return (config.agent.name, *config.agents)


def hook_names(typed: Typed) -> Iterable[str]:
    return _config(typed).hooks.processes


def channel_names(typed: Typed) -> Iterable[str]:
    from hookgate.sections.section import KNOWN_CHANNELS

    return (*_config(typed).channels, *KNOWN_CHANNELS)


def keyed_names(typed: Typed) -> Iterable[str]:
    """What a key can open."""
    return _config(typed).keyed


def role_names(typed: Typed) -> Iterable[str]:
    from hookgate.cli.people.roles import known_roles

    return known_roles(_config(typed))


def extension_names(typed: Typed) -> Iterable[str]:
    from hookgate.cli.ext.installed import places_of
    from hookgate.extensions.discovery import look

    return (it.name for it in look(places_of(typed.config_file))[0])


def page_names(_typed: Typed) -> Iterable[str]:
    from hookgate.cli.pages import pages

    return (it.name for it in pages())


# --- of conversations that are kept by name -----------------------------------------------------------------


def kept_names(typed: Typed) -> Iterable[str]:
    """Those of a chat."""
    return (name for name in kept_journals(typed) if "/" not in name)


def kept_journals(typed: Typed) -> Iterable[str]:
    """As --session of a command about journals takes them: an RPC's is rpc/NAME."""
    from hookgate.assembly.journals import conversation_files

    return (f"{it.parent.name}/{it.stem}".removeprefix("cli/") for it in conversation_files(_config(typed)))


# --- what is stored, or known to the gateway that runs ------------------------------------------------------


def conversation_ids(typed: Typed) -> Iterable[str]:
    """Of those that are kept by name the names, and the ids that say which of them is meant."""
    from hookgate.assembly.journals import conversation_files

    if typed.session:
        from hookgate.cli.journal.file import journal_of

        place = journal_of(JournalChoice(typed.config_file, typed.session))
        return _stored(typed, "conversations", place if isinstance(place, Path) else None)
    held = Counter[str]()
    for file in conversation_files(_config(typed)):
        # One that cannot be read hides no other.
        with suppress(Exception):
            held.update(_stored(typed, "conversations", file))
    own = list[str]()
    with suppress(Exception):
        own = _stored(typed, "conversations")
    return (*own, *kept_journals(typed), *(id_ for id_, times in held.items() if times == 1))


def request_ids(typed: Typed) -> Iterable[str]:
    from hookgate.cli.running import all_ours
    from hookgate.control.client import call

    with _in_time():
        paths = [typed.control] if typed.control else all_ours(typed.config_file, "approvals.list")
        rows = [row for path in paths for row in cast("list[dict[str, Any]]", call(path, "approvals.list"))]
    return [str(it["request"]) for it in rows] or _stored(typed, "requests")


def person_names(typed: Typed) -> Iterable[str]:
    """Who can be changed: not whom the configuration names."""
    rows = _rows(typed, "people.list")
    return [str(it["name"]) for it in rows if it["by"]] or _stored(typed, "people")


def key_names(typed: Typed) -> Iterable[str]:
    holders = _told(typed, "keys.list", "holder")
    return [it.partition(":")[2] for it in holders] or _stored(typed, "keys")


def tool_names(typed: Typed) -> Iterable[str]:
    """Without a gateway no hook is started to be asked for its tools."""
    from hookgate.tools.names import BUILTINS

    return _told(typed, "tools.list", "name") or (*BUILTINS, *made_tools(typed))


def made_tools(typed: Typed) -> Iterable[str]:
    return _catalog(typed, "tools")


def connection_names(typed: Typed) -> Iterable[str]:
    """MCP connections that a model made."""
    return _catalog(typed, "servers")


def method_names(typed: Typed) -> Iterable[str]:
    """Of the gateway that would be asked."""
    from hookgate.cli.running import running
    from hookgate.control.client import call

    with _in_time():
        about = call(running(typed.config_file, typed.control).path, "gateway.about")
    return cast("dict[str, Any]", about)["methods"]


def _stored(typed: Typed, of: Of, file: Path | None = None) -> list[str]:
    """Of this journal, or of the configuration's. A database is not asked: nobody who types waits for a network."""
    from hookgate.assembly.journals import journal_place
    from hookgate.store.names import read_names

    place = file or journal_place(_config(typed))
    return read_names(place, of) if isinstance(place, Path) else []


def _catalog(typed: Typed, of: Of) -> list[str]:
    from hookgate import config as configuration
    from hookgate.store.names import read_names

    return read_names(configuration.store_file(_config(typed)), of)


def _told(typed: Typed, method: str, member: str) -> list[str]:
    return [str(it[member]) for it in _rows(typed, method)]


def _rows(typed: Typed, method: str) -> list[dict[str, Any]]:
    """What the gateway of this configuration says; nothing where none runs."""
    from hookgate.cli.running import ours
    from hookgate.control.client import call

    with _in_time():
        path = ours(typed.config_file, typed.control, method)
        return cast("list[dict[str, Any]]", call(path, method)) if path is not None else []


@contextmanager
def _in_time() -> Generator[None]:
    """Raises TooLate: whoever has pressed Tab waits for no gateway that says nothing."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise TooLate

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
