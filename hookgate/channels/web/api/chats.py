"""Chats of one user: listed, read, written to, stopped, revised, deleted. A user's chats are those whose key begins
with the channel and their name; there is no way to name another's."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from secrets import token_hex
from typing import cast

from starlette.requests import Request
from starlette.responses import Response

from hookgate.channels.http.requests import HttpRefused, answer, read_json, text_of, trace_of
from hookgate.channels.web.access.logins import Login
from hookgate.channels.web.channel import WebChannel
from hookgate.channels.web.settings import WebParts
from hookgate.channels.web.shapes import ListedChat
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.chat.media import media_reference
from hookgate.protocol.codec import rfc3339
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.views import ChatRow, Exchange

ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
MAX_TEXT = 200_000
MAX_MEDIA = 10
MAX_SEARCH = 200
MAX_TITLE = 80
STOP = "stop-"
"""How the keys of messages begin that are a pressed button: nobody has written them."""


class ChatsApi:
    def __init__(self, channel: WebChannel, parts: WebParts) -> None:
        self._channel, self._parts = channel, parts

    def chat(self, request: Request, login: Login) -> Chat:
        """Of this user. Raises HttpRefused."""
        id_ = request.path_params["chat"]
        if not ID.fullmatch(id_):
            raise HttpRefused(404, "there is no such chat")
        return Chat(self._channel.name, login.user, login.user, thread=id_)

    async def listed(self, request: Request, login: Login) -> Response:
        search = request.query_params.get("search", "")[:MAX_SEARCH]
        prefix = f"{self._channel.name}:{login.user}:"
        rows: dict[str, ChatRow] = {}
        for row in await self._parts.journal.chats.listed(prefix, search):
            rows.setdefault(row.conversation.session, row)
        pending = await self._parts.journal.decisions.pending()
        waiting = Counter(it.request.conversation.session for it in pending)
        listed = (self._listed(row, key.removeprefix(prefix), waiting[key]) for key, row in rows.items())
        return answer([asdict(it) for it in listed])

    def _listed(self, row: ChatRow, id_: str, waiting: int) -> ListedChat:
        feed = self._channel.feeds.known(row.conversation.session)
        running = feed is not None and feed.writing is not None
        title = " ".join(row.title.split())
        short = title if len(title) <= MAX_TITLE else f"{title[:MAX_TITLE]}…"
        return ListedChat(id_, short, rfc3339(row.last_at), running, waiting)

    async def begin(self, request: Request, login: Login) -> Response:
        return answer({"id": token_hex(8)}, 201)

    async def read(self, request: Request, login: Login) -> Response:
        return answer(asdict(await self._channel.snapshot(self.chat(request, login))))

    async def forget(self, request: Request, login: Login) -> Response:
        chat = self.chat(request, login)
        await self._parts.forget(chat)
        self._channel.feeds.forget(chat.session_key)
        return Response(status_code=204)

    async def write(self, request: Request, login: Login) -> Response:
        members = await read_json(request)
        text, media = text_of(members, "text", MAX_TEXT), await self._files(members.get("media"), login)
        if not text.strip() and not media:
            raise HttpRefused(400, "the message is empty")
        key = _key(text_of(members, "key"))
        said = Inbound(self.chat(request, login), text, media, key, trace=trace_of(request.headers))
        return await self._received(said)

    async def turn_away(self, request: Request, login: Login) -> None:
        """What somebody writes who is not heard here: in the books, as far as it is a message and can be stored."""
        with suppress(HttpRefused, StoreFailed):
            members = await read_json(request)
            text, key = text_of(members, "text", MAX_TEXT), _key(text_of(members, "key"))
            await self._parts.turn_away(Inbound(self.chat(request, login), text, (), key))

    async def stop(self, request: Request, login: Login) -> Response:
        await self._parts.receive(Inbound(self.chat(request, login), "/stop", (), f"{STOP}{token_hex(8)}"))
        return Response(status_code=204)

    async def edit(self, request: Request, login: Login) -> Response:
        """Another text in place of a message; what came after it is taken back."""
        members = await read_json(request)
        text, message = text_of(members, "text", MAX_TEXT), text_of(members, "message")
        if not text.strip():
            raise HttpRefused(400, "the message is empty")
        chat = self.chat(request, login)
        inbound, entry = await self._stored(chat, message)
        key, trace = _key(text_of(members, "key")), trace_of(request.headers)
        return await self._received(Inbound(chat, text, inbound.media, key, entry, trace=trace))

    async def regenerate(self, request: Request, login: Login) -> Response:
        """The last message once more, as a message of its own in its place."""
        members, chat = await read_json(request), self.chat(request, login)
        inbound, entry = await self._stored(chat, "")
        return await self._received(replace(inbound, message_id=_key(text_of(members, "key")), replaces=entry))

    async def _files(self, value: object, login: Login) -> tuple[str, ...]:
        """Raises HttpRefused."""
        ids = cast("list[object]", value if isinstance(value, list) else [] if value is None else [value])
        found = [it for it in ids if isinstance(it, str) and await self._is_theirs(it, login)]
        if len(found) < len(ids) or len(ids) > MAX_MEDIA:
            raise HttpRefused(
                400, f"media has to be a list of at most {MAX_MEDIA} ids of files that were sent before"
            )
        return tuple(found)

    async def _is_theirs(self, id_: str, login: Login) -> bool:
        """A message is no way to what somebody else has sent."""
        reference, user = media_reference(id_), f"{self._channel.name}:{login.user}"
        return reference is not None and await self._parts.media.is_of(reference.digest, user)

    async def _stored(self, chat: Chat, message: str) -> tuple[Inbound, int]:
        """The message with this key, or the last one; and the entry that it begins with. Raises HttpRefused."""
        exchanges = await self._parts.journal.chats.said(await self._channel.conversation(chat))
        for it in reversed(exchanges):
            if it.inbound is not None and _begins(it) and message in ("", it.inbound.message_id):
                return it.inbound, it.entries[0][1].number
        raise HttpRefused(404, "there is no such message, or it is too old to be changed")

    async def _received(self, inbound: Inbound) -> Response:
        """Acknowledged only once it is stored."""
        accepted = await self._channel.waiting.receive(inbound)
        return answer({"id": accepted.id, "known": accepted.known}, 202)


def _begins(exchange: Exchange) -> bool:
    """Whether its turn can be run again."""
    return bool(exchange.entries) and exchange.entries[0][1].message.role == "user"


def _key(key: str) -> str:
    if not ID.fullmatch(key) or key.startswith(STOP):
        raise HttpRefused(400, "key has to be 1 to 64 letters, digits, - or _")
    return key
