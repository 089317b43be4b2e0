"""What the operators' page is given: the gateway's operations as callables. Knows none of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hookgate.protocol.approval import Voter
from hookgate.protocol.dataclasses import dataclass

Show = Callable[[Voter, Mapping[str, str]], Awaitable[object]]
"""What somebody asks to see, with the members of their query, becomes a value that is encoded as JSON."""
Do = Callable[[Voter, Mapping[str, Any]], Awaitable[object]]
"""What somebody has done, with the members of their request, becomes a value that says what happened."""


@dataclass(frozen=True, slots=True)
class Action:
    """`about`: the member that says what it is done to; empty: it is done to the gateway. `changes`: it does more
    than look, and so is put on record."""

    do: Do
    about: str = ""
    changes: bool = True


@dataclass(frozen=True, slots=True)
class OpsParts:
    """By their names in addresses. `record` stores who does what to what, and raises StoreFailed; `views` and
    `actions` raise Refused."""

    views: Mapping[str, Show]
    actions: Mapping[str, Action]
    record: Callable[[Voter, str, str], Awaitable[None]]
