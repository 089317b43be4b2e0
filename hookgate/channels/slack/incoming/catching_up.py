"""What was said while nobody listened: asked for from the place that is stored on, in every conversation that the bot
is in and every thread that it takes part in, the oldest first; and where somebody speaks meanwhile, there at once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import structlog
import trio
from pydantic import BaseModel, ValidationError

from hookgate.channels.platforms.message import PlatformMessage
from hookgate.channels.slack.api import Api, ApiFailed
from hookgate.channels.slack.incoming.inbox import Inbox
from hookgate.channels.slack.wire import JoinedConversation, Past, Places
from hookgate.processes.backoff import backoff_s
from hookgate.protocol.catalog import StoreFailed

log = structlog.get_logger("hookgate.slack")

KINDS = ("im", "mpim", "private_channel", "public_channel")
"""Of conversations; for each a scope of its own is needed."""
PAGE = 200
MOST_PAGES = 50
"""Of one conversation: 10,000 messages."""
FIRST_S, LONGEST_S = 1.0, 60.0
TRIES = 8
BEFORE_S = 10.0
"""So long what is said now waits for what was missed before it."""
Page = TypeVar("Page", bound=BaseModel)
Raw = Mapping[str, Any]


class CatchingUp:
    def __init__(self, api: Api, inbox: Inbox) -> None:
        self._api, self._inbox = api, inbox
        self._wanted = trio.Event()
        self._asked = set[str]()
        """Where all that was missed is stored by now, by session key."""
        self._asking: WeakValueDictionary[str, trio.Lock] = WeakValueDictionary()
        inbox.missed = self._wake

    def want(self) -> None:
        """From now on the place that is stored stays where it is, until all has been asked for."""
        self._inbox.place.miss()
        self._wake()

    async def before(self, said: PlatformMessage) -> None:
        """Until what was missed in its conversation is stored, which came first. What cannot be had soon follows.
        Whoever speaks later does not overtake whoever waits for that."""
        key = said.chat.session_key
        if not self._inbox.place.missing and key not in self._asking:
            return
        lock = self._asking[key] = self._asking.get(key) or trio.Lock()
        async with lock:
            if (since := self._inbox.place.missing) and key not in self._asked:
                await self._ask(said, since)

    async def _ask(self, said: PlatformMessage, since: str) -> None:
        key, chat = said.chat.session_key, said.chat
        if chat.thread == said.message_id:
            return
        kind = "im" if chat.chat_type == "direct" else "channel"
        with suppress(ApiFailed, StoreFailed), trio.move_on_after(BEFORE_S):
            if not chat.thread:
                await self._read("conversations.history", since, kind, channel=chat.chat_id)
            elif chat in self._inbox.threads:
                await self._read("conversations.replies", since, kind, channel=chat.chat_id, ts=chat.thread)
            self._asked.add(key)

    def _wake(self) -> None:
        self._asked.clear()
        self._wanted.set()

    async def run(self) -> None:
        """Whenever it is wanted, until cancelled."""
        failures = 0
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            since = self._inbox.place.seek()
            try:
                await self._catch_up(since)
            except (ApiFailed, StoreFailed) as error:
                failures += 1
                log.warning("not_caught_up", channel=self._inbox.reader.channel, since=since, reason=str(error))
                await trio.sleep(backoff_s(failures, FIRST_S, LONGEST_S))
                self._wanted.set()
            else:
                failures = 0
                self._inbox.place.found()

    async def _catch_up(self, since: str) -> None:
        """Raises ApiFailed and StoreFailed."""
        if not since:
            return
        found = 0
        for kind in KINDS:
            told = kind if kind in ("im", "mpim") else "channel"
            for place in await self._places(kind):
                found += await self._read("conversations.history", since, told, channel=place.id)
        for channel, thread in self._inbox.threads.all:
            kind = "im" if channel.startswith("D") else "channel"
            found += await self._read("conversations.replies", since, kind, channel=channel, ts=thread)
        log.info("caught_up", channel=self._inbox.reader.channel, since=since, messages=found)

    async def _places(self, kind: str) -> list[JoinedConversation]:
        """None of a kind that the bot was not given to see. Raises ApiFailed."""
        cursor, places = None, list[JoinedConversation]()
        while True:
            told: dict[str, object] = {"types": kind, "limit": PAGE, "cursor": cursor}
            try:
                page = await self._page(Places, "users.conversations", told)
            except ApiFailed as error:
                if error.code != "missing_scope":
                    raise
                log.warning("not_caught_up", channel=self._inbox.reader.channel, chats=kind, reason=error.why)
                return places
            places += (it for it in page.channels if not it.is_archived)
            cursor = page.response_metadata.next_cursor if page.response_metadata else ""
            if not cursor:
                return places

    async def _read(self, method: str, since: str, kind: str, **where: str) -> int:
        """How many messages it has found. The platform gives the latest first, so that all are there before the
        oldest is taken."""
        messages, cursor = list[Raw](), None
        for _ in range(MOST_PAGES):
            try:
                told: dict[str, object] = {
                    **where,
                    "oldest": since,
                    "inclusive": True,
                    "limit": PAGE,
                    "cursor": cursor,
                }
                page = await self._page(Past, method, told)
            except ApiFailed as error:
                lacks_scope = error.code == "missing_scope"
                if not error.is_final and not lacks_scope:
                    raise
                # Else it was left, closed or deleted meanwhile.
                say = log.warning if lacks_scope else log.info
                say("not_caught_up", channel=self._inbox.reader.channel, chat=where["channel"], reason=error.why)
                break
            messages += page.messages
            cursor = page.response_metadata.next_cursor if page.response_metadata else ""
            if not cursor:
                break
        else:
            log.warning(
                "caught_up_in_part", channel=self._inbox.reader.channel, chat=where["channel"], most=len(messages)
            )
        for raw in sorted(messages, key=lambda it: str(it.get("ts"))):
            heard = self._inbox.reader.past(raw, where["channel"], kind)
            # A thread gives what it begins with, however old that is.
            if isinstance(heard, PlatformMessage) and heard.message_id >= since:
                await self._inbox.take(heard)
        return len(messages)

    async def _page(self, shape: type[Page], method: str, params: Mapping[str, object]) -> Page:
        """Raises ApiFailed."""
        for _ in range(TRIES):
            try:
                return shape.model_validate(await self._api.call(method, params))
            except ValidationError:
                raise ApiFailed("", f"{method} does not answer as it should") from None
            except ApiFailed as error:
                if error.retry_after_s is None:
                    raise
                await trio.sleep(error.retry_after_s)
        raise ApiFailed("ratelimited", f"{method} asks for time again and again")
