"""What hookgate asks the editor, each until it is answered. Knows no method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import trio

from hookgate.protocol.acp import wire
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Json


class Unanswered(Exception):
    """The editor gave an error, or will give no answer any more."""


@dataclass
class _Open:
    answer: wire.Answer | None = None
    over: trio.Event = field(default_factory=trio.Event)


class Questions:
    """`write` takes a whole frame and never waits."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._open: dict[int, _Open] = {}
        self._last = 0

    async def ask(self, method: str, params: object) -> Json:
        """The result, however long that takes. Raises Unanswered."""
        self._last += 1
        number, asked = self._last, _Open()
        self._open[number] = asked
        self._write(wire.call_line(number, method, params))
        try:
            await asked.over.wait()
        finally:
            self._open.pop(number, None)
        if asked.answer is None:
            raise Unanswered("the editor has gone")
        if asked.answer.error:
            raise Unanswered(f"the editor answered {method} with an error: {asked.answer.error[:500]}")
        return asked.answer.result

    def take(self, answer: wire.Answer) -> bool:
        """Whether anybody waits for it: late ones are for nothing any more."""
        # 1 and True are one key, and so are 1 and 1.0.
        asked = self._open.pop(answer.id, None) if type(answer.id) is int else None
        if asked is not None:
            asked.answer = answer
            asked.over.set()
        return asked is not None
