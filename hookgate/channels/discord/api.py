"""Requests to Discord's API, each when its limits let it leave. Knows no meaning of a request.

Every failure leaves as ApiFailed, in words of our own: the head of a request holds the token, the address of an
interaction another one.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import cast
from urllib.parse import urlsplit

import trio

from hookgate.channels.discord.limits import RateLimits
from hookgate.channels.platforms import failing
from hookgate.channels.platforms.requests import (
    MAX_ANSWER,
    Answer,
    Request,
    Requests,
    Unreached,
    Upload,
    open_requests,
)
from hookgate.protocol.dataclasses import dataclass

CALL_S = 20.0
UPLOAD_S = 90.0
PATIENCE_S = 5.0
"""Who would wait longer for a limit is told so instead."""
MAX_WHY = 300
CDN = ("cdn.discordapp.com", "media.discordapp.net")


class ApiFailed(failing.ApiFailed):
    """`status`: of HTTP, 0: it was not reached. `code`: its own number of what is wrong, 0: none."""

    platform = "Discord"

    def __init__(self, status: int, why: str, code: int = 0, retry_after_s: float | None = None) -> None:
        super().__init__(why, retry_after_s)
        self.status, self.code = status, code

    @property
    def is_revoked(self) -> bool:
        return self.status == 401

    @property
    def is_final(self) -> bool:
        """It is wrong, its place is gone, or not the bot's to write in."""
        return 400 <= self.status < 500 and self.status not in (401, 408, 429)


@dataclass(frozen=True, slots=True)
class Route:
    """`path`: with `{}` in the place of each of `ids`. The first one has limits of its own, where the path begins
    with it. `of_bot`: it is asked with the bot's token, else the path holds one."""

    method: str
    path: str
    ids: tuple[str, ...] = ()
    of_bot: bool = True

    @property
    def limited(self) -> tuple[str, str]:
        """Its bucket."""
        return f"{self.method} {self.path}", self.ids[0] if self.ids else ""


class Api:
    """`server`: which one this is, for what has numbers of its own on each."""

    def __init__(self, base: str, token: str, requests: Requests) -> None:
        self.server = sha256(base.rstrip("/").encode()).hexdigest()[:12]
        self._base, self._requests = base.rstrip("/"), requests
        self._token = {"Authorization": f"Bot {token}"}
        self._limits = RateLimits(trio.current_time)
        self._hosts = CDN if base.startswith("https:") else (urlsplit(base).hostname,)

    async def call(self, route: Route, body: object = None, files: Sequence[Upload] = (), query: str = "") -> object:
        """The answer, None: it has none. Raises ApiFailed."""
        url = f"{self._base}{route.path.format(*route.ids)}{query}"
        head = dict(self._token) if route.of_bot else dict[str, str]()
        said = b"" if body is None else json.dumps(body).encode()
        if files:
            form = {"payload_json": said.decode()} if said else {}
            request = Request(route.method, url, head, form=form, files=files)
        else:
            request = Request(route.method, url, head | ({"Content-Type": "application/json"} if said else {}), said)
        # What is said within an interaction is bound to no limit of the bot's.
        if route.of_bot:
            await self._turn(*route.limited)
        answer = await self._asked(request, UPLOAD_S if files else CALL_S)
        return self._read(route, answer)

    async def download(self, url: str, most: int) -> bytes:
        """What somebody has attached, from where the platform keeps it, without the token. Raises ApiFailed."""
        if not self._is_kept_at(url):
            raise ApiFailed(400, "it lies somewhere else than at Discord")
        answer = await self._asked(Request("GET", url), UPLOAD_S, most)
        if answer.status != 200:
            raise ApiFailed(answer.status, f"the file cannot be had: status {answer.status}")
        return answer.body

    def _is_kept_at(self, url: str) -> bool:
        try:
            to = urlsplit(url)
        except ValueError:
            return False
        return to.scheme == urlsplit(self._base).scheme and to.hostname in self._hosts and not to.username

    async def _turn(self, route: str, major: str) -> None:
        """Raises ApiFailed."""
        while wait_s := self._limits.wait_s(route, major):
            if wait_s > PATIENCE_S:
                raise ApiFailed(429, "it has asked for time", retry_after_s=wait_s)
            await trio.sleep(wait_s)
        self._limits.take(route, major)

    async def _asked(self, request: Request, within_s: float, most: int = MAX_ANSWER) -> Answer:
        try:
            return await self._requests.ask(request, within_s, most)
        except Unreached as error:
            raise ApiFailed(0, str(error)) from None

    def _read(self, route: Route, answer: Answer) -> object:
        """Raises ApiFailed."""
        self._limits.learn(*route.limited, answer.status, answer.headers)
        try:
            found: object = json.loads(answer.body) if answer.body else None
        except (ValueError, RecursionError):
            found = _BROKEN
        if answer.status < 300 and found is not _BROKEN:
            return found
        members = cast("dict[str, object]", found) if isinstance(found, dict) else {}
        if answer.status == 429:
            raise self._too_many(route, answer, members)
        raise _failed(answer.status, members)

    def _too_many(self, route: Route, answer: Answer, members: Mapping[str, object]) -> ApiFailed:
        wait_s = members.get("retry_after", answer.headers.get("retry-after"))
        try:
            wait_s = max(float(str(wait_s)), 0.0)
        except ValueError:
            wait_s = PATIENCE_S
        # Whoever stands before the platform says no more than that.
        everywhere = members.get("global") is True or "retry_after" not in members
        self._limits.back_off(*route.limited, wait_s, everywhere=everywhere)
        return ApiFailed(429, "it has asked for time", retry_after_s=wait_s)


_BROKEN = object()


def _failed(status: int, members: Mapping[str, object]) -> ApiFailed:
    code, why = members.get("code"), members.get("message")
    if status < 300 or not isinstance(why, str):
        return ApiFailed(status if status >= 300 else 0, f"it answered with no JSON, status {status}")
    more = _first_problem(members.get("errors"))
    return ApiFailed(status, f"{why}{more}"[:MAX_WHY], code if isinstance(code, int) else 0)


def _first_problem(errors: object) -> str:
    """Where a request is wrong, and how; the first of all that is."""
    path = list[str]()
    while isinstance(errors, dict) and errors:
        members = cast("dict[str, object]", errors)
        if isinstance(found := members.get("_errors"), list) and found and isinstance(found[0], dict):
            message = cast("dict[str, object]", found[0]).get("message")
            return f" ({'.'.join(path)}: {message})"
        name, errors = next(iter(members.items()))
        path.append(name)
    return ""


@asynccontextmanager
async def open_api(base: str, token: str) -> AsyncGenerator[Api]:
    async with open_requests(base) as requests:
        yield Api(base, token, requests)
