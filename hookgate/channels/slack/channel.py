"""Slack as a channel: what a chat is sent becomes calls of the Web API. Knows neither a turn nor how events come."""

from __future__ import annotations

from collections import OrderedDict

from hookgate.channels.platforms.asking import Asking
from hookgate.channels.platforms.files import read_files
from hookgate.channels.platforms.requests import CONNECT_S
from hookgate.channels.slack.api import CALL_S, UPLOAD_S
from hookgate.channels.slack.connection import Connection
from hookgate.channels.slack.incoming.inbox import MAX_FILE
from hookgate.channels.slack.outgoing.messages import Messages, Text
from hookgate.protocol.approval import ApprovalRequest, Decide
from hookgate.protocol.channel import ChannelLimits, ChannelState, Undelivered
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.media import MediaStore

# The platform takes 4,000 of a message that is changed; what is left is for its marks.
LIMITS = ChannelLimits(
    3500,
    "chars",
    edit_s=1.2,
    group_edit_s=1.2,
    buttons=25,
    media_in=MAX_FILE,
    media_out=100_000_000,
    media_s=UPLOAD_S + CALL_S + CONNECT_S,
)
MARKS = {"answer": "", "output": "", "notice": "\u2139\ufe0f ", "error": "⚠️ "}
UNFINISHED = 1000
"""Messages of several calls that broke off in the middle: their beginnings are not sent again."""


class SlackChannel:
    limits = LIMITS

    def __init__(
        self, name: str, messages: Messages, asking: Asking, connection: Connection, media: MediaStore
    ) -> None:
        self.name = name
        self._messages, self._asking, self._connection, self._media = messages, asking, connection, media
        self._begun: OrderedDict[str, str] = OrderedDict()

    @property
    def state(self) -> ChannelState:
        return self._connection.state

    async def send(self, outbound: Outbound, key: str) -> str:
        """The receipt: when it was sent, which is its id, and those of its files."""
        files, notes = await read_files(self._media, outbound.media, LIMITS.media_out)
        text = _said(outbound, notes)
        first = self._begun.get(key, "")
        if text and not first:
            first = await self._messages.post(outbound.chat, Text.of(text))
        if not files:
            return first
        self._begun[key] = first
        others = await self._messages.post_files(outbound.chat, files)
        self._begun.pop(key, None)
        while len(self._begun) > UNFINISHED:
            self._begun.popitem(last=False)
        return " ".join(filter(None, (first, others)))

    async def edit(self, outbound: Outbound, receipt: str) -> None:
        await self._messages.edit(outbound.chat, _first(receipt), Text.of(_said(outbound, [])))

    def stream(self, chat: Chat, text: str) -> None:
        """Shown by `edit`."""

    def end_stream(self, chat: Chat) -> None:
        """Shown by `edit`."""

    def restart_stream(self, chat: Chat) -> None:
        """Shown by `edit`."""

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        """What is pressed is decided with the id of who presses, not by `decide`: that is for who has asked."""
        await self._asking.ask(request)


def _said(outbound: Outbound, notes: list[str]) -> str:
    return "\n".join(filter(None, (f"{MARKS[outbound.kind]}{outbound.text}" if outbound.text else "", *notes)))


def _first(receipt: str) -> str:
    """Raises Undelivered."""
    first = receipt.partition(" ")[0]
    if "." not in first:
        raise Undelivered("Slack has not said which message that is", final=True)
    return first
