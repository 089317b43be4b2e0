"""What one run is told, whoever tells it: its configuration with what was said above that, and what it is joined to.

A command line, a caller's arguments or an RPC client each have one reader that makes these. Opens nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from hookgate import config as configuration
from hookgate.config import ConfigError
from hookgate.protocol.dataclasses import dataclass
from hookgate.sections import Config

if TYPE_CHECKING:
    from hookgate.extensions.discovery import FoundExtensions
    from hookgate.extensions.trust import Trust
    from hookgate.hooks.rules import Mount
    from hookgate.protocol.interfaces import Channel, Provider, Tool
    from hookgate.protocol.journal.interfaces import Journal
    from hookgate.protocol.zot.surface import Surface


@dataclass(frozen=True)
class ExtensionFlags:
    """Which zot extensions. `named`: folders of `--ext`; `search` False: `--no-ext`; `discover`: the project's
    too, where the configuration does not say; `trusting`: all of them, whoever wrote them. `trust`: what somebody has
    agreed to, in this run too. `found`: what a look right before the start has found."""

    named: tuple[Path, ...] = ()
    search: bool = True
    discover: bool = False
    trusting: bool = False
    trust: Trust | None = None
    found: FoundExtensions | None = None


@dataclass(frozen=True)
class KeptConversation:
    """Which conversation a run keeps: the one of this name, else the `last` of this workspace. Neither: none.
    `lenient`: where there is no last one, none is kept."""

    name: str = ""
    last: bool = False
    lenient: bool = False

    def __bool__(self) -> bool:
        return bool(self.name) or self.last


NOTHING = KeptConversation()
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def kept_name(name: str) -> str:
    """By which a conversation can be kept. Raises ConfigError."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"--session {name!r}: a name has up to 64 letters, digits, dots, dashes and underscores")
    return name


@dataclass(frozen=True)
class Settings:
    """`base`: the folder that relative paths of the configuration count from. `file`: the configuration's, if it was
    named. `keys`: literal API keys by the name of their provider. `reasoning` None: as the agent's options say;
    empty: off. `extensions` None: no zot extensions. `functions`: tools of the program that has hookgate inside it.
    `skills`, `context_files`: see `switched_on`. `recording`: keep what files were before a turn changed them.
    `looking`: nobody begins to work here, and what was not brought back is no news. `serving`: the configuration's
    channels are opened too."""

    config: Config
    base: Path
    file: Path | None = None
    keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    reasoning: str | None = None
    extensions: ExtensionFlags | None = None
    functions: tuple[Tool, ...] = ()
    skills: bool | None = None
    context_files: bool | None = None
    recording: bool = False
    looking: bool = False
    serving: bool = False

    @property
    def kind(self) -> str:
        """Of the provider in use. Raises KeyError where the configuration has none of this name."""
        return self.config.providers[self.config.agent.model.partition("/")[0]].kind

    @property
    def workspace(self) -> Path:
        """Raises ConfigError."""
        return configuration.workspace_folder(self.config)


@dataclass(frozen=True)
class Ports:
    """`surfaces`: by channel, those that show what extensions say. `inside`: mounts of this process. `providers`:
    instead of the configuration's of the same names. `journal` None: one in memory. `lists_calls`: each call that was
    refused is a line there already. `watched`: somebody may ask what its turns do. `prompted`: by a program, which
    does so at once, so nothing is done before each MCP server has been tried once."""

    channels: Sequence[Channel]
    surfaces: Mapping[str, Surface] = field(default_factory=dict[str, "Surface"])
    inside: Sequence[Mount] = ()
    providers: Mapping[str, Provider] = field(default_factory=dict[str, "Provider"])
    journal: Journal | None = None
    lists_calls: bool = False
    watched: bool = False
    prompted: bool = False
