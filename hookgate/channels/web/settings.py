"""What a web channel is told and given: its own settings, and the gateway as a few callables. Knows no configuration
file, no loop and no server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field

from hookgate.protocol.approval import Decision, Outcome, Voter
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.chat.media import MediaStore
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.interfaces import Replacing
from hookgate.protocol.journal.decisions import StoredRequest
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Accepted

OWNER = "owner"
"""Who has logged in with the channel's token."""


@dataclass(frozen=True, slots=True)
class WebSettings:
    """`token`: what logs in OWNER; empty: nothing does. `users`: argon2 hashes of passwords by name. `origin`:
    where people reach the page (`https://chat.example.org`), if not by loopback or address; with https, cookies are
    for https alone. `ops`: the operators' page stands beside it."""

    name: str
    token: str
    users: Mapping[str, str] = field(default_factory=dict[str, str])
    origin: str = ""
    show_tools: bool = True
    show_trace: bool = False
    ops: bool = False


@dataclass(frozen=True, slots=True)
class WebParts:
    """What the channel needs of the gateway. `receive` raises StoreFailed where nothing was stored. `agent`: the name
    of who answers in a chat. `may`: whether somebody may decide a request. `forget`: ends what runs in a chat; what
    was said there is gone. `refuses`: why this user may not come in, as a line; empty: they may. `turn_away`: what
    somebody says who may not is in the books; raises StoreFailed. `operates`: whether somebody has the gateway in
    hand, and may see every file."""

    receive: Callable[[Inbound], Awaitable[Accepted]]
    decide: Callable[[str, Decision, Voter], Awaitable[Outcome]]
    may: Callable[[StoredRequest, Voter], bool]
    agent: Callable[[Chat], str]
    forget: Callable[[Chat], Awaitable[None]]
    journal: Journal
    media: MediaStore
    redactor: Replacing
    refuses: Callable[[str], str]
    turn_away: Callable[[Inbound], Awaitable[None]]
    operates: Callable[[str], bool]
