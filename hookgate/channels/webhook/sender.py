"""Signed requests to the address of a channel: each to addresses that it may reach, within a time, following nothing
and reading nothing but the status. Knows no message."""

from __future__ import annotations

from collections.abc import Callable
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from time import time
from urllib.parse import urlsplit

import trio

from hookgate.channels.platforms.requests import Answer, Request, Requests, Unconnected, Unreached
from hookgate.channels.webhook.envelope import TYPE
from hookgate.channels.webhook.settings import WebhookSettings
from hookgate.channels.webhook.signing import signed
from hookgate.network.addresses import NotPublic, reachable
from hookgate.protocol.chat.channel import Undelivered

WITHIN_S = 20.0
LONGEST_WAIT_S = 3600.0
"""Nobody is waited for longer, whatever they ask."""


class Sender:
    def __init__(self, requests: Requests, settings: WebhookSettings, clock: Callable[[], float] = time) -> None:
        self._requests, self._settings, self._clock = requests, settings, clock

    async def post(self, id_: str, body: bytes) -> None:
        """Raises Undelivered."""
        headers = signed(self._settings.url_secrets, id_, int(self._clock()), body)
        request = Request("POST", self._settings.url, {**headers, "content-type": TYPE}, body)
        with trio.move_on_after(WITHIN_S):
            self._judge(await self._asked(request))
            return
        raise Undelivered(f"it did not answer within {WITHIN_S:g} s")

    async def _asked(self, request: Request) -> Answer:
        why = "it has no address"
        for address in await self._addresses():
            try:
                # What it answers besides its status is of no interest, however much it is.
                return await self._requests.ask(request, WITHIN_S, 0, address)
            except Unconnected as error:
                why = str(error)
            except Unreached as error:
                raise Undelivered(str(error)) from None
        raise Undelivered(why)

    async def _addresses(self) -> tuple[str, ...]:
        url = urlsplit(self._settings.url)
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            return await reachable(url.hostname or "", port, allow_private=self._settings.allow_private)
        except NotPublic:
            name = self._settings.name
            raise Undelivered(f"its address is not public: allow_private in [channels.{name}] allows that") from None
        except (OSError, UnicodeError):
            raise Undelivered("its name means no address") from None

    def _judge(self, answer: Answer) -> None:
        """Raises Undelivered."""
        status = answer.status
        if 200 <= status < 300:
            return
        if status == HTTPStatus.GONE:
            raise Undelivered("it answered 410: nobody is there any more", final=True)
        redirects = ", which is a redirect: none is followed" if 300 <= status < 400 else ""
        after = self._wait_s(answer.headers.get("retry-after", ""))
        raise Undelivered(f"it answered {status}{redirects}", after)

    def _wait_s(self, after: str) -> float | None:
        """What Retry-After says: seconds, or a date."""
        try:
            wait_s = float(after) if after.isdecimal() else parsedate_to_datetime(after).timestamp() - self._clock()
        except (ValueError, TypeError, OverflowError):
            return None
        return min(max(wait_s, 0.0), LONGEST_WAIT_S)
