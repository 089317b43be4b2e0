"""Files: those of the page, answered from memory, and those that people send and are sent."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from hookgate.channels.http.requests import HttpRefused, answer, read_body, wait
from hookgate.channels.web.access.logins import Login
from hookgate.channels.web.past import file
from hookgate.channels.web.settings import WebParts
from hookgate.processes.rates import Rate
from hookgate.protocol.chat.media import IMAGES, MediaFull, MediaRefused, file_name
from hookgate.protocol.dataclasses import replace

UPLOAD_S = 120.0
MAX_UPLOAD = 20_000_000
TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "ico": "image/x-icon",
    "webmanifest": "application/manifest+json",
}


@cache
def page() -> dict[str, tuple[bytes, str, str]]:
    """Content, type and ETag by path."""
    found = dict(_walk(files("hookgate.channels.web") / "static", ""))
    return {"": found["index.html"], **found} if "index.html" in found else found


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, tuple[bytes, str, str]]]:
    found: list[tuple[str, tuple[bytes, str, str]]] = []
    for it in folder.iterdir() if folder.is_dir() else ():
        if it.is_dir():
            found += _walk(it, f"{prefix}{it.name}/")
        elif type_ := TYPES.get(it.name.rpartition(".")[2]):
            content = it.read_bytes()
            found.append((f"{prefix}{it.name}", (content, type_, f'"{hashlib.sha256(content).hexdigest()[:32]}"')))
    return found


async def static(request: Request) -> Response:
    return page_of(request, request.path_params["path"])


def page_of(request: Request, path: str) -> Response:
    """Raises HttpRefused."""
    found = page().get(path)
    if found is None:
        raise HttpRefused(404, "there is no such page")
    content, type_, tag = found
    headers = {"etag": tag, "cache-control": "no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, 200, headers, type_)


class MediaApi:
    def __init__(self, channel: str, parts: WebParts) -> None:
        self._channel, self._parts = channel, parts
        self._rate = Rate(20, 3.0)

    async def keep(self, request: Request, login: Login) -> Response:
        wait(self._rate, login.user)
        content = await read_body(request, MAX_UPLOAD, UPLOAD_S)
        try:
            kept = await self._parts.media.keep(content, f"{self._channel}:{login.user}")
            shown = file(replace(kept, name=file_name(request.query_params.get("name", ""))))
        except MediaFull as error:
            raise HttpRefused(507, str(error)) from None
        except MediaRefused as error:
            raise HttpRefused(415, str(error)) from None
        return answer(asdict(shown), 201)

    async def read(self, request: Request, login: Login) -> Response:
        """Of their own chats alone, unless an operator asks: its name is its hash, which is no secret."""
        digest, media = request.path_params["digest"], self._parts.media
        theirs = self._parts.operates(login.user) or await media.is_of(digest, f"{self._channel}:{login.user}")
        found = await media.read(digest) if theirs else None
        if found is None:
            raise HttpRefused(404, "there is no such file")
        type_, content = found
        headers = {"cache-control": "private, max-age=31536000, immutable"}
        if type_ not in IMAGES:
            name = quote(file_name(request.query_params.get("name", "")))
            headers["content-disposition"] = f"attachment; filename*=UTF-8''{name}" if name else "attachment"
        return Response(content, 200, headers, type_ if type_ in IMAGES else "application/octet-stream")
