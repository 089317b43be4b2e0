"""An unquiet way to a platform: requests that break off before or after they were heard, fail, or are too many.

Stands before a platform's fake as an ASGI application; knows no platform.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, TypeAlias, get_args

import trio
from starlette.responses import Response

from hookgate.channels.http.server import App, Receive, Scope, Send

Message: TypeAlias = MutableMapping[str, Any]
Trouble = Literal["cut before", "cut after", "fails", "too many", "late"]
LATE_S = 1.0


@dataclass
class Unrest:
    """`level`: the share of requests that have trouble. `too_many`: what the platform answers then. `unheard`: gets
    the body of each answer that was given and never arrived. `seen`: how often there was trouble."""

    app: App
    chance: Random
    too_many: Callable[[], Response]
    unheard: Callable[[bytes], None]
    level: float = 0.0
    seen: dict[Trouble, int] = field(default_factory=dict[Trouble, int])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self.chance.random() >= self.level:
            await self.app(scope, receive, send)
            return
        trouble = self.chance.choice(get_args(Trouble))
        self.seen[trouble] = self.seen.get(trouble, 0) + 1
        match trouble:
            case "cut before":
                await _cut(send)
            case "cut after":
                self._unheard(await self._answer(scope, receive))
                await _cut(send)
            case "fails":
                await Response("Bad Gateway", 502)(scope, receive, send)
            case "too many":
                await self.too_many()(scope, receive, send)
            case "late":
                await trio.sleep(self.chance.random() * LATE_S)
                answer = await self._answer(scope, receive)
                if await _has_gone(receive):
                    self._unheard(answer)
                for message in answer:
                    await send(message)

    async def _answer(self, scope: Scope, receive: Receive) -> list[Message]:
        """The request was heard; nobody has its answer yet."""
        answer = list[Message]()

        async def keep(message: Message) -> None:
            answer.append(message)

        await self.app(scope, receive, keep)
        return answer

    def _unheard(self, answer: list[Message]) -> None:
        self.unheard(b"".join(it.get("body", b"") for it in answer))


async def _has_gone(receive: Receive) -> bool:
    """Whoever asked, and whose request has been read, waits no more: killed, or out of patience."""
    with trio.move_on_after(0):
        while (await receive())["type"] != "http.disconnect":
            pass
        return True
    return False


async def _cut(send: Send) -> None:
    """An answer whose connection closes before it is whole."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"100000")]})
    await send({"type": "http.response.body", "body": b"{", "more_body": False})
