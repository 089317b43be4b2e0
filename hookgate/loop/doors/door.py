"""Who comes in by a channel, and which messages of a group are meant for the bot. Decides, and remembers nothing."""

from __future__ import annotations

from typing import Literal

from hookgate.approvals.people import People, read_id, requester
from hookgate.protocol.approval import Voter
from hookgate.protocol.chat import Inbound
from hookgate.protocol.dataclasses import dataclass

Judgement = Literal["in", "aside", "stranger"]
"""`aside`: it was said in a group, to others."""


@dataclass(frozen=True, slots=True)
class Quota:
    """How many messages of one person in so many seconds."""

    most: int
    window_s: float


@dataclass(frozen=True, slots=True)
class Door:
    """`allow`: whose messages are heard: ids of the platform, of people or of whole chats (bare, or `CHANNEL:ID`),
    names of people, `role:NAME`. `everybody`: whoever the channel itself has let in. `pairing`: whoever was paired,
    too; a stranger is given a code. `group`: in a chat with several people those that mention the bot or answer it,
    or all. `quota` None: as many as they like."""

    allow: tuple[str, ...] = ()
    everybody: bool = False
    pairing: bool = False
    group: Literal["mention", "all"] = "mention"
    quota: Quota | None = None


def judge(door: Door, people: People, inbound: Inbound, *, commands: bool = False) -> Judgement:
    """`commands`: it is a slash command of ours, which is meant for nobody else."""
    chat = inbound.chat
    meant = inbound.mentioned or inbound.reply_to_bot or commands
    if chat.chat_type != "direct" and door.group == "mention" and not meant:
        return "aside"
    here = Voter(chat.channel, chat.chat_id)
    return "in" if is_listed(door, people, requester(chat)) or _lists(door, people, here) else "stranger"


def is_listed(door: Door, people: People, voter: Voter) -> bool:
    paired = door.pairing and people.has_paired(voter)
    return door.everybody or paired or people.are_meant(door.allow, voter)


def _lists(door: Door, people: People, chat: Voter) -> bool:
    """A whole chat; what is the name of a person means that person alone."""
    return any(read_id(it, chat.channel) == chat for it in door.allow if not people.has(it))
