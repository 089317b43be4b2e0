"""A chat platform as a channel: what all of them do alike. Knows neither a platform nor a turn.

What the model writes is shown by messages that are changed, at the pace that the limits state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from hookgate.channels.platforms.asking import ApprovalCards
from hookgate.channels.platforms.files import File, read_files
from hookgate.channels.platforms.outgoing import Begun, written
from hookgate.channels.platforms.reception import Connecting
from hookgate.channels.platforms.typing import Typing
from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import ChannelLimits, ChannelState
from hookgate.protocol.chat.media import MediaStore
from hookgate.protocol.events.event import Event

T = TypeVar("T")


class PlatformChannel(ABC, Generic[T]):
    """`outgoing`: what brings messages of this platform there."""

    limits: ChannelLimits

    def __init__(
        self, name: str, outgoing: T, asking: ApprovalCards, typing: Typing, connection: Connecting, media: MediaStore
    ) -> None:
        self.name = name
        self._outgoing = outgoing
        self._asking, self._typing = asking, typing
        self._connection, self._media = connection, media
        self._begun = Begun()

    # --- what each platform says ---

    @abstractmethod
    def steps(
        self, outbound: Outbound, key: str, text: str, files: Sequence[File]
    ) -> Sequence[Callable[[], Awaitable[str]]]:
        """The calls that a message takes, each made once; `text`: as Markdown. Each gives ids, for the receipt."""

    @abstractmethod
    def first(self, receipt: str) -> str:
        """The id of the message that it is about, the first one. Raises Undelivered where it names none."""

    @abstractmethod
    async def change(self, chat: Chat, id_: str, text: str) -> None:
        """A message of ours to another text, as Markdown."""

    # --- what the gateway asks ---

    @property
    def state(self) -> ChannelState:
        return self._connection.state

    async def send(self, outbound: Outbound, key: str) -> str:
        """The receipt: the ids of its messages."""
        if outbound.request:
            self._typing.end(outbound.chat)
            return await self._asking.show(outbound)
        files, notes = await read_files(self._media, outbound.media, self.limits.media_out)
        return await self._begun.go_on(key, self.steps(outbound, key, written(outbound, notes), files))

    async def edit(self, outbound: Outbound, receipt: str) -> None:
        first = self.first(receipt)
        if outbound.request:
            await self._asking.change(outbound, first)
        else:
            await self.change(outbound.chat, first, written(outbound))

    def stream(self, chat: Chat, text: str) -> None:
        """Shown by `edit`."""

    def end_stream(self, chat: Chat) -> None:
        """Shown by `edit`."""

    def restart_stream(self, chat: Chat) -> None:
        """Shown by `edit`."""

    def shows_whole(self, request: ApprovalRequest) -> bool:
        return self._asking.shows_whole(request)

    def hear(self, event: Event) -> None:
        self._typing.hear(event)
