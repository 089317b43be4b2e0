"""A chat platform as chaos has it: people who write and press buttons there, what they read, and the way to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from tests.chaos.unrest import Unrest


@dataclass(frozen=True)
class Card:
    """A question with live buttons. `id`: the platform's of its message."""

    id: str
    text: str


@dataclass(frozen=True)
class Read:
    """What stands in a chat. `heard`: whether the gateway was told that it stands there."""

    id: str
    text: str
    heard: bool


class Chats(Protocol):
    """`repeats`: whether what was sent and not confirmed may stand there twice, since the platform knows no key by
    which it could tell. `wrong`: what was wrong with the gateway's requests. `sections`: of the configuration;
    `variables`: of the environment, secrets. `socket`: where it tells gateways to connect, or nothing. `refusals`:
    how often something was refused."""

    repeats: bool

    @property
    def chats(self) -> tuple[str, ...]: ...
    @property
    def wrong(self) -> list[str]: ...
    @property
    def sections(self) -> str: ...
    @property
    def variables(self) -> dict[str, str]: ...
    @property
    def socket(self) -> str: ...
    @property
    def refusals(self) -> int: ...

    def say(self, chat: str, text: str) -> None: ...
    def read(self, chat: str) -> list[Read]: ...
    def standing(self) -> Iterable[str]:
        """The ids of all that is read in any chat."""
        ...

    def record(self) -> Iterable[object]:
        """What came, in its order, for whoever looks for what went wrong."""
        ...

    def cards(self) -> list[Card]: ...
    def press(self, card: Card, *, allow: bool) -> None: ...


class Platform(Chats, Protocol):
    unrest: Unrest

    @property
    def acknowledged_ms(self) -> list[float]:
        """How long each update took, in turn, from its coming to the platform's hearing that it is stored."""
        ...

    def refuse(self, seconds: float) -> None:
        """Everything, from now on, asking for so much time."""
        ...

    async def disturb(self) -> None:
        """What the platform itself does to those who receive: once more, in another order, by another connection."""
        ...
