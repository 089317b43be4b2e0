"""What the channel is told and given: its own settings, and the gateway as a few callables. Knows no configuration
file, no loop and no server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container
from typing import Literal

from hookgate.channels.http.bearer import Bearers
from hookgate.channels.http.keys import Keys
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.chat.media import MediaStore
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.interfaces import Replacing
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Accepted

DEFAULT_MODEL = "hookgate"
"""Stands for the agent that answers where nothing else is said."""


@dataclass(frozen=True, slots=True)
class OpenAISettings:
    """`on_disconnect`: what becomes of the turn of a client that leaves. `approval_wait_s`: so long a request waits
    for a person, then it is told where to ask. `show_tools`: a response has items of what our own tools do."""

    name: str
    on_disconnect: Literal["cancel", "detach"] = "cancel"
    approval_wait_s: float = 120.0
    show_tools: bool = True


@dataclass(frozen=True, slots=True)
class OpenAIParts:
    """What the channel needs of the gateway. `receive` raises StoreFailed where nothing was stored. `withdraw`: a
    message that waits is not to be answered any more. `rest`: nothing more is said in a chat for now. `agent`: the
    name of who answers in a chat; `tools`: the names of our tools there. `agents`: those that can be chosen.
    `refuses`: why this user may not come in, as a line; empty: they may."""

    receive: Callable[[Inbound], Awaitable[Accepted]]
    withdraw: Callable[[Chat, Accepted], Awaitable[bool]]
    rest: Callable[[Chat], None]
    agent: Callable[[Chat], str]
    tools: Callable[[Chat], Container[str]]
    agents: Callable[[], tuple[str, ...]]
    refuses: Callable[[str], str]
    bearers: Bearers
    keys: Keys
    journal: Journal
    media: MediaStore
    redactor: Replacing
