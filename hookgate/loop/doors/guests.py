"""People who were let in while hookgate ran: paired by a code, or added by whoever operates it.

Those of the configuration win: their names and ids are nobody else's. What is changed here counts at once.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from time import time

import trio

from hookgate.approvals.people import People, Person
from hookgate.protocol.approval import Voter
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.people import NAME, Pairing, StoredPerson

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Without what is taken for something else."""
PEOPLE = "people"
"""What gateways tell each other of, where one lets somebody in or puts them out."""
CODE_CHARACTERS = 8
CODE_S = 3600.0
MOST_IDS = 32
RESERVED = frozenset({"requester", "operator", "nobody"})
NUMBER = re.compile(r"-?[0-9]+")
"""As platforms write the ids of people and chats."""


class NotPaired(Exception):
    """Nothing was changed; the text says why, for whoever asked."""


@dataclass(frozen=True, slots=True)
class ListedPerson:
    """Somebody as operators see them. `by` empty: the configuration names them; `counts` False: it names somebody
    else so."""

    name: str
    ids: tuple[str, ...]
    roles: tuple[str, ...]
    by: str = ""
    at: float = 0.0
    counts: bool = True


class Guests:
    """`tell` hears who counts, each time that somebody here changes. `listed`: what stands in lists of those who are
    heard or who approve, which may be an id, or mean somebody yet to come. `clock`: of the wall, for the books
    alone."""

    def __init__(
        self,
        journal: Journal,
        configured: Iterable[Person],
        listed: Collection[str] = (),
        clock: Callable[[], float] = time,
    ) -> None:
        self.tell: Callable[[People], None] = lambda _people: None
        self._store, self._clock = journal.people, clock
        self._configured, self._listed = tuple(configured), frozenset(listed)
        self._stored: tuple[StoredPerson, ...] = ()
        self._one = trio.Lock()
        self._cluster = journal.cluster
        self._cluster.follow(PEOPLE, self._load_again)

    async def load(self) -> None:
        """Whom the journal knows, from an earlier run too. Raises StoreFailed."""
        self._stored = await self._store.listed()
        self.tell(self.people)

    async def _load_again(self) -> None:
        """Another gateway has changed somebody."""
        async with self._one:
            before = self._stored
            self._stored = await self._store.listed()
            if self._stored != before:
                self.tell(self.people)

    async def _changed(self) -> None:
        await self.load()
        self._cluster.altered(PEOPLE)

    def adopt(self, configured: Iterable[Person], listed: Collection[str] = ()) -> People:
        """Who counts where the configuration names these; `tell` hears nothing."""
        self._configured, self._listed = tuple(configured), frozenset(listed)
        return self.people

    @property
    def people(self) -> People:
        taken = {id_ for person in self._configured for id_ in person.ids}
        guests = (replace(it, ids=tuple(id_ for id_ in it.ids if id_ not in taken)) for it in self._stored)
        paired = (Person(it.name, it.ids, it.roles, paired=True) for it in guests if self._counts(it.name))
        return People((*self._configured, *paired))

    def listed(self) -> tuple[ListedPerson, ...]:
        configured = (ListedPerson(it.name, tuple(map(str, it.ids)), it.roles) for it in self._configured)
        stored = (
            ListedPerson(it.name, tuple(map(str, it.ids)), it.roles, it.by, it.at, self._counts(it.name))
            for it in self._stored
        )
        return (*configured, *stored)

    async def pairings(self) -> tuple[Pairing, ...]:
        return await self._store.pairings()

    # --- strangers ---

    async def offer(self, voter: Voter) -> str:
        """A new code for this stranger, as people write it; empty where there are too many. Raises StoreFailed."""
        code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_CHARACTERS))
        return written(code) if await self._store.offer(voter, code, CODE_S) else ""

    async def pair(self, typed: str, name: str, by: str, *, joins: bool = False) -> StoredPerson:
        """Let in whoever was given that code, under this name or one made of their id. `joins`: the name may be that
        of somebody who is known already, whose roles they then have. Raises NotPaired and StoreFailed."""
        async with self._one:
            code = typed.replace("-", "").replace(" ", "").upper().encode("utf-8", "replace")
            pairings = await self._store.pairings()
            found = [it for it in pairings if hmac.compare_digest(it.code.encode(), code)]
            if not found:
                raise NotPaired("No such code is open: it was used, or is over, or never was.")
            voter = found[0].voter
            name = name or _named_after(voter)
            before = self._changeable(name, new=not joins)
            person = self._with_ids(name, before, (voter,), by)
            if not await self._store.pair(found[0], person, by):
                raise NotPaired("That code is over.")
            await self._changed()
            return person

    # --- operators ---

    async def add(self, name: str, ids: Sequence[Voter], roles: Collection[str], by: str) -> StoredPerson:
        """These ids and roles besides what this person has. Raises NotPaired and StoreFailed."""
        async with self._one:
            before = self._changeable(name, new=False)
            person = self._with_ids(name, before, ids, by)
            if not person.ids:
                raise NotPaired(f"{name} is new: say an id, CHANNEL:ID.")
            return await self._kept(replace(person, roles=_checked((*person.roles, *roles))), by)

    async def set_roles(self, name: str, roles: Collection[str], by: str) -> StoredPerson:
        """These and no others. Raises NotPaired and StoreFailed."""
        async with self._one:
            before = self._changeable(name, new=False)
            if before is None:
                raise NotPaired(f"There is no {name}.")
            return await self._kept(replace(before, roles=_checked(roles)), by)

    async def remove(self, name: str, by: str) -> None:
        """From now on they are a stranger. Raises NotPaired and StoreFailed."""
        async with self._one:
            if not await self._store.remove(name, by):
                configured = f"The configuration names {name}: take them out there."
                raise NotPaired(configured if self._is_configured(name) else f"There is no {name}.")
            await self._changed()

    async def _kept(self, person: StoredPerson, by: str) -> StoredPerson:
        await self._store.keep(person, by)
        await self._changed()
        return person

    def _changeable(self, name: str, *, new: bool) -> StoredPerson | None:
        """The guest of that name, if there is one. Raises NotPaired where nobody may be called so here."""
        if not NAME.fullmatch(name) or name in RESERVED:
            raise NotPaired(f"{name[:64]!r} cannot be a name: letters, digits, _ . and - only, up to 64 of them.")
        if self._is_configured(name):
            raise NotPaired(f"The configuration names {name}: change them there, or choose another name.")
        found = next((it for it in self._stored if it.name == name), None)
        if found is not None and new:
            raise NotPaired(f"There is a {name} already: choose another name.")
        if found is None and NUMBER.fullmatch(name):
            raise NotPaired(f"{name} reads as an id: choose another name.")
        if found is None and name in self._listed:
            raise NotPaired(f"{name} stands in a list of the configuration: choose another name.")
        return found

    def _with_ids(self, name: str, before: StoredPerson | None, ids: Sequence[Voter], by: str) -> StoredPerson:
        for it in (*self._configured, *self._stored):
            if it.name != name and (known := set(it.ids) & set(ids)):
                raise NotPaired(f"{it.name} has the id {min(map(str, known))} already.")
        person = before or StoredPerson(name, (), (), by, self._clock())
        all_ids = tuple(dict.fromkeys((*person.ids, *ids)))
        if len(all_ids) > MOST_IDS:
            raise NotPaired(f"{name} would have more than {MOST_IDS} ids.")
        return replace(person, ids=all_ids)

    def _is_configured(self, name: str) -> bool:
        return any(it.name == name for it in self._configured)

    def _counts(self, name: str) -> bool:
        return not self._is_configured(name)


def _checked(roles: Iterable[str]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(roles))
    for role in found:
        if not NAME.fullmatch(role):
            raise NotPaired(f"{role[:64]!r} cannot be a role: letters, digits, _ . and - only, up to 64 of them.")
    return found


def written(code: str) -> str:
    """As people read it."""
    half = len(code) // 2
    return f"{code[:half]}-{code[half:]}"


def _named_after(voter: Voter) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{voter.channel}-{voter.id}")[:64]
