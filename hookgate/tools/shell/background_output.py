"""What a process in the background has printed and nobody has read yet; all of it is in a file. Knows no process."""

from __future__ import annotations

import codecs
from pathlib import Path

import trio

from hookgate.protocol.dataclasses import dataclass
from hookgate.tools.shell.capture import Log
from hookgate.tools.text import MAX_BYTES, MAX_LINES


@dataclass(frozen=True, slots=True)
class News:
    """`text`: the output since the last reading; `left_out`: how many bytes of it, its oldest, are not in there."""

    text: str
    left_out: int = 0


class Unread:
    """Keeps the newest output, as much as one result may show. `news` is set when more comes, and then replaced."""

    def __init__(self, folder: Path) -> None:
        self.log = Log(folder, "background")
        self.news = trio.Event()
        self._kept = bytearray()
        self._left_out = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    async def take(self, chunk: bytes) -> None:
        self._kept += chunk
        self._drop(len(self._kept) - MAX_BYTES)
        self.wake()
        await self.log.write(chunk)

    def wake(self) -> None:
        """Whoever waits for news looks again."""
        self.news.set()
        self.news = trio.Event()

    def __bool__(self) -> bool:
        return bool(self._kept)

    def read(self, *, last: bool = False) -> News:
        """What is new, which is then read. A character that is not whole yet waits, unless this is the `last`."""
        self._drop(_surplus(self._kept))
        data, self._kept = bytes(self._kept), bytearray()
        left_out, self._left_out = self._left_out, 0
        return News(self._decoder.decode(data, final=last), left_out)

    def _drop(self, count: int) -> None:
        """The oldest `count` bytes, and what is left of a character that this cuts."""
        if count <= 0:
            return
        while count < len(self._kept) and self._kept[count] & 0xC0 == 0x80:
            count += 1
        self._decoder.reset()
        self._left_out += count
        del self._kept[:count]


def _surplus(data: bytearray) -> int:
    """How many bytes stand before the last lines that may be shown."""
    position = len(data)
    for _ in range(MAX_LINES + 1):
        position = data.rfind(b"\n", 0, position)
        if position < 0:
            return 0
    return position + 1
