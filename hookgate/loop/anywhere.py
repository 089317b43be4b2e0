"""What is asked of a conversation from outside it, at whichever gateway it is: done here, or asked of that one.

What is asked and answered goes by notes, which may be lost: whoever gets no answer in time says where it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING

import structlog
import trio

from hookgate.loop.sessions.jobs import WITHDRAWN
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.journal.cluster import ASKED, SAID, Member, Note
from hookgate.protocol.journal.values import Accepted, Conversation
from hookgate.protocol.values import Json

if TYPE_CHECKING:
    from hookgate.loop.gateway import Gateway

log = structlog.get_logger("hookgate.loop")

ANSWER_S = 5.0
"""How long another gateway is waited for."""


class NotReached(StoreFailed):
    """Of the gateway where it is nothing was heard: it is not known whether it was done."""


class _Asked:
    """What others have said so far, by gateway, of `many`."""

    def __init__(self, many: int) -> None:
        self.answers: dict[str, Json] = {}
        self.all = trio.Event()
        self._many = many

    def take(self, gateway: str, said: Json) -> None:
        self.answers[gateway] = said
        if len(self.answers) == self._many:
            self.all.set()


class Anywhere:
    def __init__(self, gateway: Gateway, beside: Callable[[Callable[[], Awaitable[None]]], None]) -> None:
        self._gateway, self._cluster, self._beside = gateway, gateway.journal.cluster, beside
        self._waiting: dict[str, _Asked] = {}
        self._acts: dict[str, Callable[[Chat, str], Awaitable[Json]]] = {
            "stop": self._stop,
            "withdraw": self._withdraw,
            "forget": self._forget,
            "sessions": self._sessions,
        }
        self._cluster.hear(ASKED, lambda note: beside(partial(self._answer, note)))
        self._cluster.hear(SAID, self._take)

    async def stop(self, chat: Chat, why: str) -> bool | None:
        """End what runs there: whether anything did; None: no gateway has such a conversation in memory. Raises
        NotReached and StoreFailed, as all of these."""
        said = await self._do("stop", chat, why)
        return said if isinstance(said, bool) else None

    async def withdraw(self, chat: Chat, accepted: Accepted) -> bool:
        """Whoever sent this message does not want it answered any more. False where it has ended."""
        return bool(await self._do("withdraw", chat, accepted.id))

    async def forget(self, chat: Chat) -> None:
        """What runs and waits there ends, and what was ever said there is gone, to whichever agent."""
        await self._do("forget", chat, "")

    async def sessions(self) -> list[tuple[str, bool, int, int]]:
        """The conversations that other gateways have in memory: key, whether a turn runs, how many jobs wait, how
        many messages. Of one that does not answer there are none."""
        asked = [it for it in self._cluster.members if it.id != self._cluster.me]
        answers = await self._ask(asked, "sessions", Chat("", ""), "")
        rows = (row for said in answers.values() if isinstance(said, list) for row in said)
        return [(str(it[0]), bool(it[1]), int(str(it[2])), int(str(it[3]))) for it in rows if isinstance(it, list)]

    # --- asking -------------------------------------------------------------------------------------------------

    async def _do(self, act: str, chat: Chat, what: str) -> Json:
        owner = await self._cluster.owner(chat.session_key)
        member = next((it for it in self._cluster.members if it.id == owner != self._cluster.me), None)
        if member is None:
            return await self._acts[act](chat, what)
        answers = await self._ask((member,), act, chat, what)
        if member.id not in answers:
            told = f"{chat.session_key} is at the gateway {member.name}, which has not answered"
            raise NotReached(f"{told}: ask there, or again in a while")
        return answers[member.id]

    async def _ask(self, members: Iterable[Member], act: str, chat: Chat, what: str) -> dict[str, Json]:
        members, id_ = tuple(members), token_hex(8)
        asked = self._waiting[id_] = _Asked(len(members))
        body = {"id": id_, "by": self._cluster.me, "act": act, "what": what, **asdict(chat)}
        try:
            for it in members:
                self._cluster.tell(Note(ASKED, chat.session_key, body), it.id)
            with trio.move_on_after(ANSWER_S if members else 0):
                await asked.all.wait()
            return asked.answers
        finally:
            del self._waiting[id_]

    def _take(self, note: Note) -> None:
        if (asked := self._waiting.get(note.body["id"])) is not None:
            asked.take(note.body["by"], decode(note.body["said"]))

    # --- being asked --------------------------------------------------------------------------------------------

    async def _answer(self, note: Note) -> None:
        body = dict(note.body)
        id_, by, act, what = (body.pop(it) for it in ("id", "by", "act", "what"))
        try:
            said = await self._acts[act](Chat(**body), what)
        except Exception:
            # Whoever asked hears nothing, and says so.
            log.exception("not_done_for_another", act=act, session=note.session)
            return
        answer = {"id": id_, "by": self._cluster.me, "said": encode(said).decode()}
        self._cluster.tell(Note(SAID, note.session, answer), by)

    async def _stop(self, chat: Chat, why: str) -> bool | None:
        await trio.lowlevel.checkpoint()
        known = chat.session_key in self._gateway.sessions
        return self._gateway.stop(chat.session_key, why) or (False if known else None)

    async def _withdraw(self, chat: Chat, message: str) -> bool:
        session = self._gateway.sessions.get(chat.session_key)
        its = Accepted(message, Conversation(chat.session_key, ""))
        job = None if session is None else session.jobs.holding(its)
        if session is None or job is None:
            return False
        if session.jobs.current is job:
            return session.stop(WITHDRAWN)
        session.jobs.cancel(job)
        await self._gateway.journal.intake.settle(message, "dropped", why=WITHDRAWN)
        return True

    async def _forget(self, chat: Chat, _what: str) -> None:
        key, books = chat.session_key, self._gateway.journal.books
        self._gateway.clear(chat)
        for row in await books.sessions():
            if row.conversation.session == key:
                await books.forget(row.conversation)

    async def _sessions(self, _chat: Chat, _what: str) -> Json:
        await trio.lowlevel.checkpoint()
        sessions = self._gateway.sessions.values()
        return [[it.key, it.busy, it.jobs.waiting, len(it.transcript)] for it in sessions]
