"""Who is logged in: random cookies, stored as hashes in the journal, so that a restart logs nobody out and a thief of
the file gets in nowhere. Knows no request."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import asdict
from time import time
from typing import Any

import trio

from hookgate.channels.web.access.passwords import hashed, is_right
from hookgate.channels.web.settings import OWNER, WebSettings
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.journal.interfaces import Holds

STATE = "logins"
LASTS_S = 30 * 24 * 3600.0
MOST = 1000
"""Of all users together; the oldest is logged out."""
MOST_OF_ONE = 50


@dataclass(frozen=True, slots=True)
class Login:
    """`id`: the hash of its cookie; `proof`: of what it was made with, so that a new password ends it."""

    id: str
    user: str
    proof: str
    until: float

    @property
    def csrf(self) -> str:
        """Only who has the cookie's session is told it; a page elsewhere cannot read it."""
        return _digest(f"csrf {self.id}")


class Logins:
    def __init__(self, settings: WebSettings, holds: Holds, clock: Callable[[], float] = time) -> None:
        self._settings, self._holds, self._clock = settings, holds, clock
        self._known: dict[str, Login] = {}
        self._verifying = trio.CapacityLimiter(2)
        self._writing = trio.Lock()
        self._nobodys = ""

    async def load(self) -> None:
        """Those of earlier runs. Raises StoreFailed."""
        try:
            rows: list[Any] = decode(await self._holds.state(self._settings.name, STATE) or "[]")
            self._known = {row["id"]: Login(**row) for row in rows}
        except (BadMessage, TypeError, KeyError):
            self._known = {}

    def by_cookie(self, cookie: str) -> Login | None:
        login = self._known.get(_digest(cookie))
        return login if login is not None and self.holds(login) else None

    def holds(self, login: Login) -> bool:
        """Whether it has neither ended nor been ended."""
        return login.id in self._known and login.until > self._clock() and login.proof == self._proof(login.user)

    async def by_token(self, token: str) -> str | None:
        """A new cookie, if it is the channel's token. Raises StoreFailed."""
        known = self._settings.token
        right = hmac.compare_digest(_digest(token), _digest(known)) and bool(known)
        return await self._begin(OWNER) if right else None

    async def by_password(self, user: str, password: str) -> str | None:
        """A new cookie, if it is theirs; an unknown name takes as long. Raises StoreFailed."""
        known = self._settings.users.get(user, "")
        right = await trio.to_thread.run_sync(
            is_right, known or self._no_password(), password, limiter=self._verifying
        )
        return await self._begin(user) if right and known else None

    async def end(self, login: Login) -> None:
        async with self._writing:
            self._known.pop(login.id, None)
            await self._store()

    def _no_password(self) -> str:
        self._nobodys = self._nobodys or next(iter(self._settings.users.values()), "") or hashed(secrets.token_hex())
        return self._nobodys

    async def _begin(self, user: str) -> str:
        cookie = secrets.token_urlsafe(32)
        login = Login(_digest(cookie), user, self._proof(user), self._clock() + LASTS_S)
        async with self._writing:
            self._known[login.id] = login
            self._let_go(user)
            await self._store()
        return cookie

    def _let_go(self, user: str) -> None:
        now = self._clock()
        live = [it for it in self._known.values() if it.until > now]
        own = [it.id for it in live if it.user == user][:-MOST_OF_ONE]
        self._known = {it.id: it for it in [it for it in live if it.id not in own][-MOST:]}

    async def _store(self) -> None:
        rows = [asdict(it) for it in self._known.values()]
        await self._holds.keep_state(self._settings.name, STATE, encode(rows).decode())

    def _proof(self, user: str) -> str:
        """Empty: there is no such user."""
        known = self._settings.token if user == OWNER and self._settings.token else self._settings.users.get(user, "")
        return _digest(f"proof {known}") if known else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
