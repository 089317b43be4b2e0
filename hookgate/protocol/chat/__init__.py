"""What people and hookgate say in a chat: where, what came in, what goes out. Frozen; no model, no tool."""

from __future__ import annotations

from typing import Literal

from hookgate.protocol.chat.client_input import ClientInput
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.values import ProposedCall

OutboundKind = Literal["answer", "output", "notice", "error"]

CHAT_TYPES = ("direct", "group", "channel")
LONGEST_ID = 200
LEFT = "left-"
"""How the id of a stop begins that nobody asked for: the client whose turn it ends has gone."""


@dataclass(frozen=True, slots=True)
class Chat:
    """Where a message was said and where its answer belongs. `account`: who the sender counts as where `sender` is
    no more than the word of a client program; empty: they are the sender."""

    channel: str
    chat_id: str
    sender: str = ""
    chat_type: str = "direct"
    thread: str = ""
    account: str = ""

    def __hash__(self) -> int:
        # Of what chats differ in most: each question to a hook looks its chat up.
        return hash((self.chat_id, self.sender, self.thread))

    @property
    def identity(self) -> str:
        """By which the way in knows who writes, and by which they may do anything."""
        return self.account or self.sender

    @property
    def user(self) -> str:
        """Whose files are theirs: `channel:identity`."""
        return f"{self.channel}:{self.identity}"

    @property
    def session_key(self) -> str:
        """`channel:chat_id`, with `:thread` where the chat has threads; `:` and `%` within these are `%3A`, `%25`."""
        key = f"{self.channel}:{_part(self.chat_id)}"
        return f"{key}:{_part(self.thread)}" if self.thread else key


def own_chat(channel: str) -> Chat:
    """That of a client program which names none; its sender is who the other end is, whatever it says of itself."""
    return Chat(channel, "main", sender="user")


def called(own: Chat, chat_id: str = "", chat_type: str = "", sender: str = "", thread: str = "") -> Chat:
    """A chat of a client program, as it calls it; what it does not name is as in its `own`. Whoever it says that
    speaks counts as the program itself. Raises ValueError."""
    if chat_type and chat_type not in CHAT_TYPES:
        raise ValueError(f"chat_type must be one of {', '.join(CHAT_TYPES)}, not {chat_type[:60]!r}")
    for name, text in (("chat_id", chat_id), ("sender", sender), ("thread", thread)):
        if len(text) > LONGEST_ID or not text.isprintable():
            raise ValueError(f"{name} must have at most {LONGEST_ID} characters, all of which can be seen")
    sender = sender or own.sender
    account = own.identity if sender != own.identity else ""
    return Chat(own.channel, chat_id or own.chat_id, sender, chat_type or own.chat_type, thread, account)


def _part(text: str) -> str:
    return text.replace("%", "%25").replace(":", "%3A")


@dataclass(frozen=True, slots=True)
class Inbound:
    """`replaces`: the number of the entry of its conversation that it takes the place of, and of all that came after;
    0: it goes at the end. Of a chat with several people: `mentioned`, the bot is named in it; `reply_to_bot`, it
    answers something that the bot has said. `album`: messages with the same one were sent as one; what comes late of
    them joins the turn of the others. `client`: what a program sends with it; with an empty text, that is all.
    `trace`: the W3C traceparent of the request that brought it, if one did."""

    chat: Chat
    text: str
    media: tuple[str, ...] = ()
    message_id: str = ""
    replaces: int = 0
    mentioned: bool = False
    reply_to_bot: bool = False
    album: str = ""
    client: ClientInput | None = None
    trace: str = ""

    @property
    def sound(self) -> Inbound:
        """With U+FFFD for each lone surrogate, which no database takes."""
        chat, text, id_ = self.chat, _sound(self.text), _sound(self.message_id)
        ids = {"chat_id": _sound(chat.chat_id), "sender": _sound(chat.sender), "thread": _sound(chat.thread)}
        return replace(self, chat=replace(chat, **ids), text=text, message_id=id_)


def _sound(text: str) -> str:
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@dataclass(frozen=True, slots=True)
class Outbound:
    """One message to a chat.

    `answer`: what the model said at last; `output`: what a tool shows besides; `notice`: hookgate itself (a denial,
    say); `error`: the one line that stands where an answer should. `in_reply_to`: the platform's own id of the
    message that it answers, put in by the journal when it leaves; empty: of none that has one. `request`: the id of
    an approval request, of which this is the card: the channel shows the call and what has become of it by now, with
    ways to decide as long as it is open, and the text is its title; empty: a message as any other. `calls`: of tools
    that whoever has asked runs itself; their results come with the next message of the conversation.
    """

    chat: Chat
    text: str
    media: tuple[str, ...] = ()
    kind: OutboundKind = "answer"
    in_reply_to: str = ""
    request: str = ""
    calls: tuple[ProposedCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """What stands in a chat, as it is judged on its way in (`message`; `steer`: it joins a turn that runs) or out.

    `message_id`: its own, where it came in; `in_reply_to`: of the one that it answers, where it goes out.
    """

    text: str
    media: tuple[str, ...] = ()
    kind: Literal["message", "steer"] | OutboundKind = "message"
    message_id: str = ""
    in_reply_to: str = ""
