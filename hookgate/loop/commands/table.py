"""Slash commands: the one table of what can be invoked in a chat, and which messages do so.

Rows come from the gateway, from a surface that can do more than a chat, and from extensions. Knows none of them.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import field
from difflib import get_close_matches
from functools import partial
from typing import Protocol

import trio

from hookgate.loop.sessions.jobs import Compaction, Prompt
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.values import Accepted, AcceptEffect, ArrivalKind

RESERVED = frozenset(
    {
        "approve",
        "deny",
        "pending",
        "grants",
        "revoke",
        "pair",
        "whoami",
        "stop",
        "new",
        "clear",
        "compact",
        "help",
        "tools",
        "hooks",
        "mcp",
        "model",
        "quit",
        "exit",
        "reload-ext",
    }
)
"""hookgate's own, though only some surface has it: an extension's command of such a name is never invoked, so that a
name means the same in every chat."""

LOOKS = re.compile(r"/([A-Za-z0-9_-]{1,64})(?:\s.*)?", re.DOTALL)
"""What looks like a command; a path has another slash."""
GREETING = "start"
"""What a platform sends for whoever opens the chat: it is a message where nobody has such a command."""
NEAR = 0.7

Outcome = str | Outbound | Prompt | Compaction
"""What comes of a command at once: a line for its chat (empty: none), or work that joins the conversation's queue."""


async def _nothing(_chat: Chat) -> Iterable[str]:
    await trio.lowlevel.checkpoint()
    return ()


@dataclass(frozen=True, eq=False)
class Command:
    """A row. It is found in any case, by an alias too; `extension` is whose it is, empty: hookgate's own.

    `kind`: as what it is stored; a decision is made again after a crash. `effect`: what it does to the conversation
    the moment it is stored. `may`: the chats, with their senders, that can use it. `takes`: a message with words
    behind the name invokes it as well. `beside`: it may take long, so it runs beside the turns, within
    `Invocation.scope`, and says itself that it was stopped; any other one has acted when its message is taken in.
    `early`: it may act while hooks and tools still start; `waits`: what it is for waits until a running turn has
    ended. `syntax`: the words behind the name, as help shows them; `completes`: what could be the first of them.
    `known` False: it is no row, and its answer says so.
    """

    name: str
    help: str
    run: Callable[[Invocation], Awaitable[Outcome]]
    aliases: tuple[str, ...] = ()
    kind: ArrivalKind = "command"
    effect: AcceptEffect = "none"
    may: Callable[[Chat], bool] = lambda _chat: True
    takes: bool = False
    beside: bool = False
    early: bool = False
    waits: bool = False
    extension: str = ""
    syntax: str = ""
    completes: Callable[[Chat], Awaitable[Iterable[str]]] = _nothing
    known: bool = True

    @property
    def ends(self) -> bool:
        """It stops something, or decides about it: that works however much somebody has sent before."""
        return self.effect == "stop" or self.kind == "decision"

    @property
    def names(self) -> tuple[str, ...]:
        return self.name.lower(), *(it.lower() for it in self.aliases)

    @property
    def row(self) -> tuple[str, str]:
        """For help."""
        shown = f"/{self.name} {self.syntax}".rstrip()
        return shown, f"{self.help} ({self.extension})" if self.extension else self.help


@dataclass(eq=False)
class Invocation:
    """A message that is a command; the same text again is another one. `accepted`: as it is stored. `scope` ends one
    that runs beside the turns; `quiet`: people hear of its end otherwise."""

    inbound: Inbound
    command: Command
    args: str
    accepted: Accepted | None = None
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    quiet: bool = False

    @property
    def session(self) -> str:
        return self.inbound.chat.session_key

    def line(self, outcome: str | Outbound) -> Outbound | None:
        """What its chat is told; None: nothing."""
        if isinstance(outcome, Outbound):
            return outcome
        return Outbound(self.inbound.chat, outcome, kind="notice") if outcome else None


class Source(Protocol):
    """Rows that come and go."""

    def rows(self) -> Iterable[Command]: ...

    def forget(self, session: str) -> None:
        """The conversation begins anew."""
        ...


class Commands:
    """The table. Of two rows with one name the one that was added later counts; an own one before one of `source`."""

    def __init__(self, rows: Iterable[Command], source: Source | None = None) -> None:
        self._own = list(rows)
        self._source = source

    def add(self, rows: Iterable[Command]) -> None:
        """What a surface can do besides."""
        self._own.extend(rows)

    def listed(self, chat: Chat) -> tuple[Command, ...]:
        """What this chat can invoke."""
        found: dict[str, Command] = {}
        for row in self._own:
            if row.may(chat):
                found.pop(row.name.lower(), None)
                found[row.name.lower()] = row
        for row in self._source.rows() if self._source is not None else ():
            if row.name.lower() not in RESERVED and row.may(chat):
                found.setdefault(row.name.lower(), row)
        return tuple(found.values())

    def named(self, name: str, chat: Chat) -> Command | None:
        return next((it for it in self.listed(chat) if name.lower() in it.names), None)

    async def completed(self, chat: Chat, text: str) -> list[str]:
        """What a line that begins so could become: a command, or one with what may stand behind it."""
        name, blank, begins = text.partition(" ")
        if not blank:
            return [f"/{it.name}" for it in self.listed(chat) if f"/{it.name}".startswith(name.lower())]
        command = self.named(name[1:], chat)
        words = await command.completes(chat) if command is not None and command.takes else ()
        return [f"{name} {word}" for word in words if word.startswith(begins.lstrip())]

    def read(self, inbound: Inbound) -> Invocation | None:
        """The command that a message is; None for everything else."""
        name, *rest = inbound.text.split(maxsplit=1) or [""]
        command = self.named(name[1:], inbound.chat) if name.startswith("/") else None
        if command is None or (rest and not command.takes):
            return None
        return Invocation(inbound, command, rest[0].rstrip() if rest else "")

    def decides(self, text: str) -> bool:
        """Whether it begins as a decision does, about a call or about what was allowed. It may be called in any
        thread."""
        name = (text.split(maxsplit=1) or [""])[0].lower()
        return any(it.kind == "decision" and name in {f"/{own}" for own in it.names} for it in self._own)

    def unknown(self, inbound: Inbound) -> Invocation | None:
        """A message that looks like a command, and whose name is none there: it is answered with that."""
        looks = LOOKS.fullmatch(inbound.text.strip())
        name = looks[1] if looks else GREETING
        if name.lower() == GREETING or self.named(name, inbound.chat) is not None:
            return None
        text = no_command(name, self.listed(inbound.chat))
        return Invocation(inbound, Command(name, "", partial(_said, text), known=False), "")

    def forget(self, session: str) -> None:
        if self._source is not None:
            self._source.forget(session)


def no_command(name: str, listed: Iterable[Command]) -> str:
    near = get_close_matches(name.lower(), [it for row in listed for it in row.names], 1, NEAR)
    meant = f" Did you mean /{near[0]}?" if near else ""
    return f"There is no command /{name} here.{meant} /help lists what there is."


async def _said(text: str, _invocation: Invocation) -> Outcome:
    await trio.lowlevel.checkpoint()
    return text
