"""What is piped to a run of one question: read to its end, bounded, and not waited for where nobody sends anything.

Knows neither chat nor model.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from itertools import count

import trio

from hookgate.config import ConfigError

STDIN = "-"
"""As the question: it is what stdin has."""
MAX_BYTES = 1_000_000
FIRST_S = 10.0
"""How long a pipe that nobody may write to is waited for, beside a question that stands without it."""
QUIET_S = 1.0
READ_BYTES = 1 << 16
MANY = f"stdin has more than {MAX_BYTES:,} bytes: pipe a part of it, or name the file in the question"

Tell = Callable[[str], None]


async def asked(text: str, tell: Tell, descriptor: int = 0) -> str:
    """The question with what was piped behind it, or the one that was piped. Raises ConfigError."""
    if not text.strip():
        raise ConfigError("--once needs a question")
    if text != STDIN:
        piped = await _beside(tell, descriptor)
        return _joined(text, piped) if piped.strip() else text
    if os.isatty(descriptor):
        raise ConfigError("--once - takes the question from stdin, which is a terminal: pipe it in, or write it here")
    question = await _text(descriptor)
    if not question.strip():
        raise ConfigError("--once - takes the question from stdin, which is empty")
    return question


def _joined(text: str, piped: str) -> str:
    """No piped text can end the mark round it."""
    marks = ("stdin" if number == 1 else f"stdin-{number}" for number in count(1))
    mark = next(it for it in marks if f"</{it}>" not in piped)
    end = "" if piped.endswith("\n") else "\n"
    return f"{text}\n\nThis was piped to stdin:\n<{mark}>\n{piped}{end}</{mark}>"


async def _beside(tell: Tell, descriptor: int) -> str:
    """Of a file, or of a pipe in which something comes; terminals and other devices are nobody's text."""
    mode = os.fstat(descriptor).st_mode
    if not _comes_later(mode):
        return await _text(descriptor) if stat.S_ISREG(mode) else ""
    if not await _begins(descriptor, QUIET_S):
        tell(f"hookgate: waiting {FIRST_S:g} s for what is piped to stdin; `< /dev/null` asks at once")
        if not await _begins(descriptor, FIRST_S):
            tell("hookgate: nothing came on stdin; asking without it")
            return ""
    return await _text(descriptor)


async def _begins(descriptor: int, seconds: float) -> bool:
    """Whether there is something to read, or an end, within this time."""
    with trio.move_on_after(seconds):
        await trio.lowlevel.wait_readable(descriptor)
        return True
    return False


async def _text(descriptor: int) -> str:
    """To the end, however long that takes. Raises ConfigError."""
    data = bytearray()
    while len(data) <= MAX_BYTES:
        await _ready(descriptor)
        piece = os.read(descriptor, READ_BYTES)
        if not piece:
            break
        data += piece
    else:
        raise ConfigError(MANY)
    if b"\0" in data:
        raise ConfigError("stdin holds no text")
    return data.decode("utf-8", "replace")


async def _ready(descriptor: int) -> None:
    if _comes_later(os.fstat(descriptor).st_mode):
        await trio.lowlevel.wait_readable(descriptor)
    else:
        await trio.lowlevel.checkpoint()


def _comes_later(mode: int) -> bool:
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
