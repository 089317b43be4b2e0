"""Methods of the Web API, and files. Knows no meaning of a method.

Every failure leaves as ApiFailed. A token goes to the platform's own hosts alone.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import urlsplit

import trio

from hookgate.channels.platforms import failing
from hookgate.channels.platforms.requests import MAX_ANSWER, Answer, Request, Requests, Unreached, open_requests
from hookgate.channels.slack.settings import Secret

CALL_S = 25.0
UPLOAD_S = 120.0
REVOKED = frozenset(
    {"invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "org_login_required"}
)
"""A token that is none, or none any more; or nobody's."""
PASSING = frozenset(
    {"ratelimited", "rate_limited", "fatal_error", "internal_error", "service_unavailable", "request_timeout"}
)
"""The same may work later."""


class ApiFailed(failing.ApiFailed):
    """`code`: the platform's own word, empty: it was not reached, or did not answer as it should."""

    platform = "Slack"

    def __init__(self, code: str, why: str, retry_after_s: float | None = None) -> None:
        super().__init__(why, retry_after_s)
        self.code = code

    @property
    def is_revoked(self) -> bool:
        return self.code in REVOKED

    @property
    def is_final(self) -> bool:
        """A chat may be gone, archived or left. What the bot lacks, a scope or a token, a person may give it."""
        return bool(self.code) and not (self.code in PASSING or self.code == "missing_scope" or self.is_revoked)


class Api:
    """Whoever asks for too much is told so by the platform for a method at a time, of a chat where it is one of
    those that write: nobody asks it again before that time is over. `revoked` is told when the bot's token is none
    any more."""

    def __init__(self, base: str, token: Secret, requests: Requests) -> None:
        self._base = base.rstrip("/")
        self._token, self._requests = token, requests
        self._not_before: dict[tuple[str, str], float] = {}
        self.revoked: Callable[[], None] = lambda: None
        self.scopes: frozenset[str] | None = None
        """What the bot's token is for, by the platform's latest word; None: it has not said."""

    async def call(
        self, method: str, params: Mapping[str, object] = MappingProxyType({}), token: Secret | None = None
    ) -> Mapping[str, Any]:
        """What it answers; None among the parameters is left out. Raises ApiFailed."""
        what = (method, str(params.get("channel")) if method.startswith("chat.") else "")
        if (wait_s := self._not_before.get(what, 0.0) - trio.current_time()) > 0:
            raise ApiFailed("ratelimited", "ratelimited", wait_s)
        self._not_before.pop(what, None)
        # Each method takes a form, and not all of them JSON.
        form = {name: _encoded(it) for name, it in params.items() if it is not None}
        headers = {"Authorization": f"Bearer {(token or self._token).value}"}
        answer = await self._asked(Request("POST", f"{self._base}/api/{method}", headers, form=form), CALL_S)
        if token is None and "x-oauth-scopes" in answer.headers:
            self.scopes = frozenset(answer.headers["x-oauth-scopes"].replace(",", " ").split())
        try:
            return _result(answer)
        except ApiFailed as error:
            if error.retry_after_s is not None:
                self._not_before[what] = trio.current_time() + error.retry_after_s
            if error.is_revoked and token is None:
                self.revoked()
            raise

    async def upload(self, url: str, content: bytes) -> None:
        """To where the platform wants it. Raises ApiFailed."""
        headers = {"Content-Type": "application/octet-stream"}
        answer = await self._asked(Request("POST", self._ours(url), headers, content), UPLOAD_S)
        if answer.status != 200:
            raise ApiFailed("", f"it did not take the file: status {answer.status}")

    async def download(self, url: str, most: int) -> bytes:
        """A file of at most so many bytes. Raises ApiFailed."""
        headers = {"Authorization": f"Bearer {self._token.value}"}
        answer = await self._asked(Request("GET", self._ours(url), headers), UPLOAD_S, most)
        if answer.status != 200:
            raise ApiFailed("file", f"the file cannot be had: status {answer.status}")
        if answer.headers.get("content-type", "").startswith("text/html"):
            # Whoever may not read it is shown a page to log in.
            raise ApiFailed("missing_scope", "the file cannot be had: the bot needs files:read")
        return answer.body

    def _ours(self, url: str) -> str:
        """Raises ApiFailed for an address of anybody else's."""
        base = urlsplit(self._base)
        try:
            to = urlsplit(url)
            same = to.scheme == base.scheme and to.port == base.port
        except ValueError:
            raise ApiFailed("file", "the file has no address") from None
        host, own = to.hostname or "", base.hostname or ""
        if not same or (host != own and not host.endswith(f".{own}")):
            raise ApiFailed("file", "the file lies elsewhere")
        return url

    async def _asked(self, request: Request, within_s: float, most: int = MAX_ANSWER) -> Answer:
        try:
            return await self._requests.ask(request, within_s, most)
        except Unreached as error:
            raise ApiFailed("", str(error)) from None


@asynccontextmanager
async def open_api(base: str, token: Secret) -> AsyncGenerator[Api]:
    async with open_requests(base) as requests:
        yield Api(base, token, requests)


def _encoded(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _result(answer: Answer) -> Mapping[str, Any]:
    if answer.status == 429:
        after = answer.headers.get("retry-after", "")
        raise ApiFailed("ratelimited", "ratelimited", float(after) if after.isdecimal() else 30.0)
    try:
        said: object = json.loads(answer.body)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise ApiFailed("", f"it answered with no JSON, status {answer.status}")
    members = cast("dict[str, Any]", said)
    if members.get("ok") is True:
        return members
    code = str(members.get("error") or f"status {answer.status}")[:100]
    needed = f" ({members['needed']})" if code == "missing_scope" and members.get("needed") else ""
    raise ApiFailed(code, f"{code}{needed}"[:300])
