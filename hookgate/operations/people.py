"""Who is known to a gateway, and who waits to be: looked at, let in by a code, added, put out."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

import trio

from hookgate.approvals.people import read_id
from hookgate.loop.doors.guests import Guests, ListedPerson, NotPaired, written
from hookgate.operations.refused import OperationRefused
from hookgate.protocol.approval import OPERATOR
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.people import StoredPerson

T = TypeVar("T")


@dataclass(frozen=True)
class OpenCode:
    """A stranger waits to be let in; `until`: seconds of the wall clock."""

    code: str
    sender: str
    until: float


async def listed(guests: Guests) -> tuple[ListedPerson, ...]:
    """Who is known: those of the configuration, then those who were let in."""
    await trio.lowlevel.checkpoint()
    return guests.listed()


async def codes(guests: Guests) -> tuple[OpenCode, ...]:
    """Codes of strangers who wait to be let in, the oldest first."""
    return tuple(OpenCode(written(it.code), str(it.voter), it.until) for it in await guests.pairings())


async def pair(guests: Guests, code: str, name: str = "") -> ListedPerson:
    """Let in the stranger who was given this code, as somebody of this name."""
    return await _done(guests.pair(code, name, OPERATOR.id, joins=True))


async def add(guests: Guests, name: str, ids: list[str], roles: list[str]) -> ListedPerson:
    """Let somebody in by their ids, or give ids and roles to somebody who was let in before."""
    for it in ids:
        voter = read_id(it)
        if not (voter.channel and voter.id):
            raise OperationRefused(f"{it!r} is no id: write it CHANNEL:ID, as the platform knows them")
    return await _done(guests.add(name, [*map(read_id, ids)], roles, OPERATOR.id))


async def role(guests: Guests, name: str, roles: list[str]) -> ListedPerson:
    """Give somebody these roles and no others."""
    return await _done(guests.set_roles(name, roles, OPERATOR.id))


async def remove(guests: Guests, name: str) -> bool:
    """Put somebody out: what runs for them ends."""
    await _refusing(guests.remove(name, OPERATOR.id))
    return True


async def _done(changing: Awaitable[StoredPerson]) -> ListedPerson:
    person = await _refusing(changing)
    return ListedPerson(person.name, tuple(map(str, person.ids)), person.roles, person.by, person.at)


async def _refusing(changing: Awaitable[T]) -> T:
    try:
        return await changing
    except NotPaired as error:
        raise OperationRefused(str(error)) from None
