"""What a connection to an MCP server is made from, and what can be said of one. Starts nothing, knows no SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Literal

from hookgate.protocol.catalog import RowOrigin, Transport
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import TOOL_TIMEOUT_S

State = Literal["connecting", "up", "down", "closed"]

NAME = r"^[a-z][a-z0-9_]{1,63}$"
"""Names of connections; the prefix of their tools."""


@dataclass(frozen=True)
class ServerSpec:
    """One MCP server. Times in seconds; `environment` is all that a stdio server gets to see.

    `tools`, `read_only` and `pure` are globs over the server's own tool names: which are taken, which the operator
    vouches do not change state, and which give the same result until something does. Of a connection that the
    model made (`origin`) a new or changed tool waits for a person; an operator's server is taken at its word.
    """

    name: str
    transport: Transport
    command: tuple[str, ...] = ()
    directory: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    url: str = ""
    token: str | None = field(default=None, repr=False)
    allow_private: bool = False
    tools: tuple[str, ...] = ("*",)
    read_only: tuple[str, ...] = ()
    pure: tuple[str, ...] = ()
    origin: RowOrigin = "operator"
    required: bool = False
    connect_timeout_s: float = 10.0
    timeout_s: float = TOOL_TIMEOUT_S
    recheck: Callable[[], Awaitable[str]] | None = field(default=None, compare=False, repr=False)
    """Asked before each start of its program: why it may not be started any more; empty: it may."""

    @property
    def provider(self) -> str:
        return f"mcp:{self.name}"


@dataclass(frozen=True, slots=True)
class ServerState:
    """A connection became this; `restarts` counts the connections made again after a loss."""

    name: str
    state: State
    reason: str = ""
    tools: int = 0
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """How a connection stands. `tools` are the names a model may call; `waiting` the server's own names of tools
    that nobody has approved yet; `skipped` says which tools cannot be taken and why; `error` is the last one."""

    name: str
    transport: Transport
    state: State
    origin: RowOrigin
    tools: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    error: str = ""
    restarts: int = 0
    hashes: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class ServerListeners:
    """Who hears of what happens: called from the event loop, must be quick and must not raise.

    `on_notification(connection, method, text)` gets a text that is framed as data already, 2 KiB and its frame at
    most.
    """

    on_state: Callable[[ServerState], None] = lambda _state: None
    on_notification: Callable[[str, str, str], None] = lambda _connection, _method, _text: None


class ConnectFailed(Exception):
    """There is no usable connection; the text is one line for people and models.

    `lasting`: trying again will not help.
    """

    def __init__(self, reason: str, *, lasting: bool = False) -> None:
        super().__init__(reason)
        self.lasting = lasting


class RequiredServerFailed(Exception):
    """A server that the operator marked `required` cannot be had."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"MCP server {name} is required but {reason}")
