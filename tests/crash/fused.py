"""`hookgate`, built to die: `python -m tests.crash.fused serve ...` ends itself at one call of its journal.

`CRASH_AT`: "before work.append 2" is right before the second call of that name, "after" right after it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any, cast

from hookgate.cli.main import hookgate
from hookgate.sections import Config
from hookgate.serve import run
from hookgate.store.journal import StoredJournal


@dataclass
class Fuse:
    """`left`: so many calls of that name are let through."""

    name: str
    left: int
    after: bool

    async def call(self, function: Callable[..., Coroutine[Any, Any, Any]], *given: Any, **named: Any) -> Any:
        self.left -= 1
        if self.left < 0 and not self.after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = await function(*given, **named)
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result


class Fused:
    """The journal or a part of it."""

    def __init__(self, whole: object, fuse: Fuse, name: str = "") -> None:
        self._whole, self._fuse, self._name = whole, fuse, name

    def __getattr__(self, name: str) -> object:
        found = getattr(self._whole, name)
        if iscoroutinefunction(found):
            return partial(self._fuse.call, found) if f"{self._name}.{name}" == self._fuse.name else found
        return found if self._name else Fused(found, self._fuse, name)


def arm() -> None:
    moment, name, number = os.environ["CRASH_AT"].split()
    fuse = Fuse(name, int(number) - 1, moment == "after")
    opened = run.open_kept_journal

    @asynccontextmanager
    async def open_fused(config: Config, file: Path, *, named: bool = False) -> AsyncGenerator[StoredJournal]:
        async with opened(config, file, named=named) as journal:
            yield cast("StoredJournal", Fused(journal, fuse))

    run.open_kept_journal = open_fused


if __name__ == "__main__":
    arm()
    hookgate()
