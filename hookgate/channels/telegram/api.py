"""Methods of the Bot API. Knows no meaning of a method.

Every failure leaves as ApiFailed, in words of our own: the address of a request holds the token.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any, cast

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

CALL_S = 25.0
UPLOAD_S = 120.0
JSON = {"Content-Type": "application/json"}


class ApiFailed(failing.ApiFailed):
    """`code`: the platform's own, 0: it was not reached. `moved_to`: as it says."""

    platform = "Telegram"

    def __init__(self, code: int, why: str, retry_after_s: float | None = None, moved_to: int | None = None) -> None:
        super().__init__(why, retry_after_s)
        self.code, self.moved_to = code, moved_to

    def says(self, *words: str) -> bool:
        return self.code == 400 and any(word in self.why.lower() for word in words)

    @property
    def is_revoked(self) -> bool:
        return self.code in (401, 404)

    @property
    def is_final(self) -> bool:
        """What was wrong with a request stays wrong; a chat may be gone, or have blocked the bot."""
        return self.code in (400, 403, 413)


class Api:
    """`polling`: connections of their own, so that nothing waits behind a poll."""

    def __init__(self, base: str, token: str, requests: Requests, polling: Requests) -> None:
        self.server = sha256(base.rstrip("/").encode()).hexdigest()[:12]
        """Which one this is, for what has numbers of its own on each."""
        self._calls = f"{base.rstrip('/')}/bot{token}"
        self._files = f"{base.rstrip('/')}/file/bot{token}"
        self._requests, self._polling = requests, polling

    async def call(self, method: str, params: Mapping[str, object], files: Sequence[Upload] = ()) -> object:
        """The result. Raises ApiFailed."""
        if files:
            fields = {name: it if isinstance(it, str) else json.dumps(it) for name, it in params.items()}
            request = Request("POST", f"{self._calls}/{method}", form=fields, files=files)
        else:
            request = Request("POST", f"{self._calls}/{method}", JSON, json.dumps(params).encode())
        return _result(await _asked(self._requests, request, UPLOAD_S if files else CALL_S))

    async def poll(self, offset: int, wait_s: int, kinds: Sequence[str]) -> list[object]:
        """Updates from this number on, once there are some. Raises ApiFailed."""
        params = {"offset": offset, "timeout": wait_s, "limit": 100, "allowed_updates": list(kinds)}
        request = Request("POST", f"{self._calls}/getUpdates", JSON, json.dumps(params).encode())
        result = _result(await _asked(self._polling, request, wait_s + CALL_S))
        if not isinstance(result, list):
            raise ApiFailed(0, "it answered with something else than updates")
        return cast("list[object]", result)

    async def download(self, path: str, most: int) -> bytes:
        """A file of at most so many bytes. Raises ApiFailed."""
        answer = await _asked(self._requests, Request("GET", f"{self._files}/{path}"), UPLOAD_S, most)
        if answer.status != 200:
            raise ApiFailed(answer.status, f"the file cannot be had: status {answer.status}")
        return answer.body


@asynccontextmanager
async def open_api(base: str, token: str) -> AsyncGenerator[Api]:
    async with open_requests(base) as requests, open_requests(base, 1) as polling:
        yield Api(base, token, requests, polling)


async def _asked(requests: Requests, request: Request, within_s: float, most: int = MAX_ANSWER) -> Answer:
    try:
        return await requests.ask(request, within_s, most)
    except Unreached as error:
        raise ApiFailed(0, str(error)) from None


def _result(answer: Answer) -> object:
    try:
        # Half a character that somebody sends must not cost all the other updates.
        said: object = json.loads(answer.body)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise ApiFailed(
            answer.status if answer.status != 200 else 0, f"it answered with no JSON, status {answer.status}"
        )
    members = cast("dict[str, Any]", said)
    if members.get("ok") is True:
        return members.get("result")
    raise _failure(answer.status, members)


def _failure(status: int, members: Mapping[str, Any]) -> ApiFailed:
    code, why = members.get("error_code"), members.get("description")
    code = code if isinstance(code, int) and code else status
    parameters: object = members.get("parameters")
    more = cast("dict[str, object]", parameters) if isinstance(parameters, dict) else {}
    after, moved = more.get("retry_after"), more.get("migrate_to_chat_id")
    return ApiFailed(
        code,
        str(why)[:300] if why else f"status {status}",
        float(after) if isinstance(after, int) else None,
        moved if isinstance(moved, int) else None,
    )
