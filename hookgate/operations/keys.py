"""Keys of programs: looked at, made, revoked."""

from __future__ import annotations

from collections.abc import Collection

import trio

from hookgate.approvals.people import People
from hookgate.channels.http.keys import Keys, NoKey
from hookgate.loop.doors.guests import Guests, NotPaired
from hookgate.operations.refused import OperationRefused
from hookgate.protocol.approval import OPERATOR, Voter
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.keys import Key


@dataclass(frozen=True)
class KeyRing:
    """`channels`: what a key can be for."""

    keys: Keys
    guests: Guests
    channels: Collection[str]


@dataclass(frozen=True)
class KeyRow:
    """Whoever shows it is `holder`, `CHANNEL:NAME`, with these roles. `opens` False: nothing of that name is there to
    be opened. `at`: seconds of the wall clock."""

    holder: str
    roles: tuple[str, ...]
    by: str
    at: float
    opens: bool = True


@dataclass(frozen=True)
class NewKey:
    """`key`: what a program shows, this once."""

    key: str
    holder: str
    roles: tuple[str, ...]


async def listed(ring: KeyRing) -> tuple[KeyRow, ...]:
    """Keys of programs, by what they open and whose they are."""
    await trio.lowlevel.checkpoint()
    return tuple(_row(ring, key) for key in ring.keys.listed())


async def add(ring: KeyRing, name: str, channel: str, role: str = "", same_person: bool = False) -> NewKey:
    """Make a key. Whoever shows it is the person who has the id `CHANNEL:NAME`; `role`: one that they get besides.
    `same_person`: also where the one called so has other ids, who is then one with this program."""
    if channel not in ring.channels:
        there = ", ".join(ring.channels) or "nothing"
        raise OperationRefused(f"{channel!r} takes no keys: here they can be for {there}")
    try:
        ring.keys.check(channel, name)
        if role:
            _check_person(ring.guests, name, f"{channel}:{name}", same_person=same_person)
            await ring.guests.add(name, [Voter(channel, name)], [role], OPERATOR.id)
        key, shown = await ring.keys.add(channel, name, OPERATOR.id)
    except (NoKey, NotPaired) as error:
        raise OperationRefused(str(error)) from None
    return NewKey(shown, _holder(key), _roles(ring.guests.people, key))


async def revoke(ring: KeyRing, name: str, channel: str = "") -> tuple[KeyRow, ...]:
    """Revoke the keys of that name, for this channel or all: what runs for them ends; roles stay with the person."""
    found = [key for key in ring.keys.listed() if key.name == name and channel in ("", key.channel)]
    if not found:
        raise OperationRefused(f"{name} has no key{f' for {channel}' if channel else ''}")
    for key in found:
        await ring.keys.revoke(key, OPERATOR.id)
    return tuple(_row(ring, key) for key in found)


def _check_person(guests: Guests, name: str, holder: str, *, same_person: bool) -> None:
    """Raises OperationRefused where a role would also be somebody else's, and theirs the program's."""
    known = next((it for it in guests.listed() if it.name == name), None)
    others = [it for it in known.ids if it != holder] if known is not None else []
    if known is not None and known.counts and others and not same_person:
        raise OperationRefused(
            f"{name} is {', '.join(others)} already, who would have this role too, as the key would have the roles"
            f" {', '.join(known.roles) or '(none)'}: say that it is the same person (--yes), or choose another name"
        )


def _row(ring: KeyRing, key: Key) -> KeyRow:
    return KeyRow(_holder(key), _roles(ring.guests.people, key), key.by, key.at, key.channel in ring.channels)


def _holder(key: Key) -> str:
    return f"{key.channel}:{key.name}"


def _roles(people: People, key: Key) -> tuple[str, ...]:
    return people.roles(Voter(key.channel, key.name))
