"""A gateway that shares its journal with nobody."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from time import time

import trio

import hookgate
from hookgate.protocol.journal.cluster import Member, Note

ME = "gateway"


class Alone:
    """A Cluster of one."""

    me = ME

    def __init__(self) -> None:
        self.members = (Member(ME, ME, hookgate.__version__, time()),)

    def tell(self, note: Note, to: str = "") -> None:
        """There is nobody to tell."""

    def hear(self, kind: str, function: Callable[[Note], None]) -> None:
        """There is nobody to hear."""

    def describe(self, text: str) -> None:
        """There is nobody to know it."""

    async def described(self) -> Mapping[str, str]:
        await trio.lowlevel.checkpoint()
        return {}

    def altered(self, name: str) -> None:
        """Nobody else has read it."""

    def follow(self, name: str, load: Callable[[], Awaitable[object]]) -> None:
        """Nobody else alters it."""

    async def owner(self, session: str) -> str:
        await trio.lowlevel.checkpoint()
        return ME

    async def drain(self) -> None:
        await trio.lowlevel.checkpoint()

    def place_of(self, name: str) -> str:
        return ME

    async def holder(self, name: str) -> str:
        await trio.lowlevel.checkpoint()
        return ME

    async def take(self, name: str) -> bool:
        await trio.lowlevel.checkpoint()
        return True

    async def give(self, name: str) -> None:
        await trio.lowlevel.checkpoint()

    def present(self) -> AbstractContextManager[object]:
        return nullcontext()
