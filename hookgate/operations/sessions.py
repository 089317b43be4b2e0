"""Conversations of a running gateway: which there are, what was said in them, ending what runs in one, forgetting."""

from __future__ import annotations

from collections.abc import Callable

from hookgate.loop.anywhere import NotReached
from hookgate.loop.gateway import Gateway
from hookgate.operations.refused import OperationRefused
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.values import Conversation, Entry
from hookgate.protocol.journal.views import ChatRow


@dataclass(frozen=True)
class SessionStatus:
    """`waiting`: jobs behind the one that runs; `messages`: of the transcript."""

    key: str
    busy: bool
    waiting: int
    messages: int


async def list_sessions(gateway: Gateway) -> tuple[SessionStatus, ...]:
    """Conversations that are in memory, of whichever gateway, and what runs there."""
    here = {s.key: SessionStatus(s.key, s.busy, s.jobs.waiting, len(s.transcript)) for s in gateway.sessions.values()}
    for row in await gateway.anywhere.sessions():
        # One that went elsewhere rests here still.
        if row[0] not in here or row[1] or row[2]:
            here[row[0]] = SessionStatus(*row)
    return tuple(here.values())


async def stop_turn(gateway: Gateway, session: str) -> bool:
    """End the turn that runs there; whether one did."""
    try:
        stopped = await gateway.anywhere.stop(_chat(session), "stopped by an operator")
    except NotReached as error:
        raise OperationRefused(str(error)) from None
    if stopped is None:
        raise OperationRefused(f"there is no session {session!r}")
    return stopped


@dataclass(frozen=True)
class StoredSession:
    """A conversation that is stored. `title`: how its first message begins; `last_at`: seconds of the wall clock;
    `busy`: a turn runs there, `waiting`: jobs behind it."""

    id: str
    session: str
    agent: str
    title: str
    last_at: float
    busy: bool
    waiting: int


@dataclass(frozen=True)
class SaidCall:
    """`arguments`: as the model wrote them."""

    name: str
    arguments: str


@dataclass(frozen=True)
class TranscriptEntry:
    """An entry of a transcript."""

    number: int
    role: str
    text: str
    calls: tuple[SaidCall, ...]


@dataclass(frozen=True)
class Transcript:
    """What was said in a conversation, from its last summary on: the last entries of it, oldest first. `more`: there
    are earlier ones."""

    id: str
    session: str
    busy: bool
    entries: tuple[TranscriptEntry, ...]
    more: bool


async def stored_sessions(gateway: Gateway, words: str = "", most: int = 100) -> tuple[StoredSession, ...]:
    """With this in what was said there, or with a key that begins so; the last one used first."""
    chats = gateway.journal.chats
    rows = [*await chats.listed("", words, most), *(await chats.listed(words, "", most) if words else ())]
    found = sorted({row.conversation: row for row in rows}.values(), key=lambda row: -row.last_at)
    running = {it.key: it for it in await list_sessions(gateway)}
    return tuple(_stored(row, running.get(row.conversation.session)) for row in found[:most])


def _stored(row: ChatRow, running: SessionStatus | None) -> StoredSession:
    its = row.conversation
    busy, waiting = (running.busy, running.waiting) if running is not None else (False, 0)
    return StoredSession(its.id, its.session, its.agent, row.title, row.last_at, busy, waiting)


async def read_transcript(
    gateway: Gateway, id_: str, most: int = 100, hidden: Callable[[str], str] = str
) -> Transcript:
    """`hidden`: what people may read of a text."""
    its = _conversation(id_)
    entries = (await gateway.journal.work.load(its)).entries
    busy = any(it.busy for it in await list_sessions(gateway) if it.key == its.session)
    said = tuple(_said(it, hidden) for it in entries[-most:])
    return Transcript(id_, its.session, busy, said, len(entries) > most)


def _said(entry: Entry, hidden: Callable[[str], str]) -> TranscriptEntry:
    message = entry.message
    calls = tuple(SaidCall(it.name, hidden(it.arguments)) for it in message.tool_calls)
    return TranscriptEntry(entry.number, "summary" if entry.upto else message.role, hidden(message.content), calls)


async def forget_session(gateway: Gateway, session: str) -> None:
    """What runs and waits there ends, and all that was ever said there is gone, to whichever agent."""
    known = {row.conversation.session for row in await gateway.journal.books.sessions()}
    if session not in known:
        raise OperationRefused(f"there is no session {session!r}")
    try:
        await gateway.anywhere.forget(_chat(session))
    except NotReached as error:
        raise OperationRefused(str(error)) from None


def _conversation(id_: str) -> Conversation:
    """By its id as it is listed."""
    session, agent, generation = ([*id_.rsplit("/", 2), "", ""])[:3]
    if not (session and agent and generation.isdecimal() and len(generation) < 10):
        raise OperationRefused(f"there is no conversation {id_!r}")
    return Conversation(session, agent, int(generation))


def _chat(session: str) -> Chat:
    """Whose key it is, as far as that says it."""
    channel, chat, thread = ([*session.split(":", 2), "", ""])[:3]
    return Chat(channel, _plain(chat), thread=_plain(thread))


def _plain(part: str) -> str:
    return part.replace("%3A", ":").replace("%25", "%")
