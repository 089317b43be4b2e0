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
from hookgate.protocol.journal.interfaces import Journal

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
    def __init__(self, settings: WebSettings, journal: Journal, clock: Callable[[], float] = time) -> None:
        self._settings, self._holds, self._clock = settings, journal.holds, clock
        self._cluster, self._shared = journal.cluster, f"{STATE} of {settings.name}"
        self._cluster.follow(self._shared, self._load_again)
        self._known: dict[str, Login] = {}
        self._verifying = trio.CapacityLimiter(2)
        self._writing = trio.Lock()
        self._nobodys = ""

    async def load(self) -> None:
        """Those of earlier runs. Raises StoreFailed."""
        self._known = _read(await self._holds.state(self._settings.name, STATE))

    async def _load_again(self) -> None:
        """Somebody has logged in or out at another gateway."""
        async with self._writing:
            await self.load()

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
        self._known.pop(login.id, None)
        await self._change(lambda known: {id_: it for id_, it in known.items() if id_ != login.id})

    def _no_password(self) -> str:
        self._nobodys = self._nobodys or next(iter(self._settings.users.values()), "") or hashed(secrets.token_hex())
        return self._nobodys

    async def _begin(self, user: str) -> str:
        cookie = secrets.token_urlsafe(32)
        login = Login(_digest(cookie), user, self._proof(user), self._clock() + LASTS_S)
        await self._change(lambda known: self._without_old({**known, login.id: login}, user))
        return cookie

    def _without_old(self, known: dict[str, Login], user: str) -> dict[str, Login]:
        now = self._clock()
        live = [it for it in known.values() if it.until > now]
        own = [it.id for it in live if it.user == user][:-MOST_OF_ONE]
        return {it.id: it for it in [it for it in live if it.id not in own][-MOST:]}

    async def _change(self, change: Callable[[dict[str, Login]], dict[str, Login]]) -> None:
        """Those of all gateways, in one step."""

        def changed(kept: str) -> str:
            return encode([asdict(it) for it in change(_read(kept)).values()]).decode()

        async with self._writing:
            self._known = _read(await self._holds.change_state(self._settings.name, STATE, changed))
        self._cluster.altered(self._shared)

    def _proof(self, user: str) -> str:
        """Empty: there is no such user."""
        known = self._settings.token if user == OWNER and self._settings.token else self._settings.users.get(user, "")
        return _digest(f"proof {known}") if known else ""


def _read(kept: str) -> dict[str, Login]:
    """What cannot be read is nobody's login."""
    try:
        rows: list[Any] = decode(kept or "[]")
        return {row["id"]: Login(**row) for row in rows}
    except (BadMessage, TypeError, KeyError):
        return {}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
