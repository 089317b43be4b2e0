"""Where what extensions say beside the conversation goes: the chat it concerns, else those who operate hookgate.

Knows no extension and no terminal. Nothing here waits for a chat but `say` and `run`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

import structlog
import trio

from hookgate.protocol.chat import Chat, Inbound, Outbound, OutboundKind
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.journal.values import Accepted
from hookgate.protocol.zot.panels import Opened
from hookgate.protocol.zot.sequences import without_sequences
from hookgate.protocol.zot.surface import Surface

if TYPE_CHECKING:
    from hookgate.protocol.zot.frames import Level, Panel

log = structlog.get_logger("hookgate.loop")
T = TypeVar("T")

MAX_WAITING = 256
"""Notes that one channel may have waiting; more are dropped: an extension must not fill the memory."""


class Inbox(Protocol):
    """Where messages come in, and where those for people go."""

    async def say(self, outbound: Outbound) -> None: ...

    async def receive(self, inbound: Inbound) -> Accepted:
        """A person's, which may be a command."""
        ...

    async def submit(self, inbound: Inbound) -> Accepted:
        """No command, whatever it says."""
        ...


@runtime_checkable
class Editor(Protocol):
    """A surface whose person writes where text can be put in for them."""

    def insert(self, text: str) -> None: ...


@runtime_checkable
class Displaying(Protocol):
    """A surface that knows the colours of what is displayed, which a message has not."""

    @property
    def displays(self) -> bool: ...

    def note(self, extension: str, level: Level, text: str, chat: Chat | None) -> None: ...


@dataclass(frozen=True)
class _Typed:
    """A message that counts as a person's: a command, if it is one."""

    inbound: Inbound


_Job = Outbound | Inbound | _Typed | trio.Event


class Surfaces:
    """The Surface of all extensions. `own`: by channel name, those that show notes and panels themselves; they also
    get what concerns no chat. Everywhere else notes and panels are messages. `redact` is applied to all of it."""

    def __init__(
        self, channels: Iterable[str], own: Mapping[str, Surface], redact: Callable[[str], str] = lambda text: text
    ) -> None:
        self._own = own
        self._redact = redact
        self._queues = {name: trio.open_memory_channel[_Job](MAX_WAITING) for name in channels}
        self._panel: Opened | None = None

    async def run(self, inbox: Inbox) -> None:
        """Hand on until cancelled: each channel's in order, none waiting for another."""
        async with trio.open_nursery() as nursery:
            for _, jobs in self._queues.values():
                nursery.start_soon(_hand_on, jobs, inbox)

    # --- from extensions ---

    def note(self, extension: str, level: Level, text: str, chat: Chat | None) -> None:
        text = self._redact(text)
        for surface in self._owners(chat):
            surface.note(extension, level, text, chat)
        self._write(chat, noted(extension, text))

    def clear_notes(self, extension: str) -> None:
        """A message that was sent stays."""
        for surface in self._own.values():
            surface.clear_notes(extension)

    def panel(self, extension: str, panel: Panel, chat: Chat | None) -> None:
        """In a chat that shows no panels it is a message, sent again only when it looks different."""
        before, self._panel = self._panel, Opened(extension, self._redacted(panel), chat)
        for surface in self._owners(chat):
            surface.panel(extension, self._panel.panel, chat)
        if before != self._panel:
            self._write(chat, noted(extension, panel_text(self._panel.panel)))

    def panel_close(self, extension: str, panel_id: str) -> None:
        self._panel = None
        for surface in self._own.values():
            surface.panel_close(extension, panel_id)

    def submit(self, extension: str, text: str, chat: Chat | None) -> None:
        """Without a chat it is for the own surfaces, which may have one."""
        for surface in self._owners(chat):
            surface.submit(extension, text, chat)
        if chat is not None and chat.channel not in self._own:
            self._put(chat, Inbound(chat, text))

    def submit_slash(self, extension: str, text: str, chat: Chat | None) -> None:
        for surface in self._owners(chat):
            surface.submit_slash(extension, text, chat)
        if chat is not None and chat.channel not in self._own:
            self._put(chat, _Typed(Inbound(chat, text, mentioned=True)))

    # --- from commands ---

    async def say(self, chat: Chat, text: str, kind: OutboundKind = "notice") -> None:
        """A message that is delivered, after all that was noted before it, when this returns."""
        queue = self._queues.get(chat.channel)
        if queue is not None:
            await queue[0].send(Outbound(chat, self._redact(text), kind=kind))
            await self.settled(chat)

    async def display(self, extension: str, text: str, chat: Chat) -> None:
        """For people alone: a message, but where a surface shows it."""
        surface = self._own.get(chat.channel)
        if isinstance(surface, Displaying) and surface.displays:
            surface.note(extension, "info", self._redact(text), chat)
        else:
            await self.say(chat, noted(extension, text), "output")

    async def settled(self, chat: Chat) -> None:
        """Until all that was noted for this chat's channel before is delivered."""
        queue, mark = self._queues.get(chat.channel), trio.Event()
        if queue is not None:
            await queue[0].send(mark)
            await mark.wait()

    async def insert(self, extension: str, text: str, chat: Chat) -> None:
        """Into the person's editor; where there is none it is shown."""
        surface = self._own.get(chat.channel)
        if isinstance(surface, Editor):
            surface.insert(text)
        else:
            await self.say(chat, noted(extension, text))

    # --- routing ---

    def _owners(self, chat: Chat | None) -> tuple[Surface, ...]:
        if chat is None:
            return tuple(self._own.values())
        surface = self._own.get(chat.channel)
        return () if surface is None else (surface,)

    def _write(self, chat: Chat | None, text: str) -> None:
        if chat is not None and chat.channel not in self._own:
            # A secret may be whole only without the colours in it.
            self._put(chat, Outbound(chat, self._redact(text), kind="notice"))

    def _put(self, chat: Chat, job: _Job) -> None:
        queue = self._queues.get(chat.channel)
        if queue is None:
            return
        try:
            queue[0].send_nowait(job)
        except trio.WouldBlock:
            log.warning("extension_note_dropped", channel=chat.channel)

    def _redacted(self, panel: Panel) -> Panel:
        lines = tuple(map(self._redact, panel.lines))
        return replace(panel, title=self._redact(panel.title), lines=lines, footer=self._redact(panel.footer))


def noted(extension: str, text: str) -> str:
    """A note as a message: the extension's name before each line, and no colours."""
    return "\n".join(f"[{extension}] {line}" for line in without_sequences(text).splitlines() or [""])


def panel_text(panel: Panel) -> str:
    """A panel where it cannot be drawn."""
    parts = (panel.title, "\n".join(panel.lines), panel.footer)
    return "\n".join(part for part in parts if part)


async def _hand_on(jobs: trio.MemoryReceiveChannel[_Job], inbox: Inbox) -> None:
    async for job in jobs:
        match job:
            case Inbound():
                await _take(inbox.submit, job)
            case _Typed(inbound=inbound):
                await _take(inbox.receive, inbound)
            case trio.Event():
                job.set()
            case _:
                await _take(inbox.say, job)


async def _take(take: Callable[[T], Awaitable[object]], said: T) -> None:
    """What cannot be taken in now is lost alone."""
    try:
        await take(said)
    except Exception:
        log.exception("extension_message_lost")
