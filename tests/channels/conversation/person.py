"""Somebody who talks to hookgate on one channel, as a test sees them; each platform has a file beside this one."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

End = Literal["", "allowed", "refused"]


@dataclass(frozen=True)
class Line:
    """What stands in the chat, without its marks; of a question the tool that it is about.
    `end`: of a question that has been decided."""

    kind: Literal["answer", "question"]
    text: str
    end: End = ""


class Person(Protocol):
    """`section`: of the configuration. `problems`: what the channel did wrong."""

    @property
    def section(self) -> str: ...
    @property
    def problems(self) -> list[str]: ...
    def at(self, address: str) -> AbstractAsyncContextManager[None]:
        """While a gateway runs there."""
        ...

    async def says(self, text: str) -> None: ...
    async def shows(self, picture: bytes, text: str) -> None: ...
    async def reads(self) -> list[Line]: ...
    async def sees_buttons(self) -> None: ...
    async def presses(self, button: Literal["Allow", "Deny"]) -> None: ...
