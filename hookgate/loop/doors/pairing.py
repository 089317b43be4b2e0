"""Strangers are given a code in their direct chat, and let in by whoever may: what both of them read."""

from __future__ import annotations

from collections.abc import Collection

from hookgate.approvals.people import requester
from hookgate.loop.commands.table import Command, Invocation
from hookgate.loop.doors.doors import STRANGER, Doors, Turned
from hookgate.loop.doors.guests import Guests, NotPaired
from hookgate.processes.rates import Rate
from hookgate.protocol.approval import OPERATOR_ROLE

NOT_YOURS = f"Only those with the role {OPERATOR_ROLE} may let somebody in."
AT_THE_MACHINE = "Nobody is let in by a key: say it in another chat, or at the machine."
WHICH = "Say the code: /pair CODE [NAME]."
TOO_MANY = "Too many codes at once: try again in {} s."


async def told(turned: Turned, guests: Guests | None) -> str:
    """The line for whoever is turned away, with a new code where they may have one. Raises StoreFailed."""
    if turned.pairs is None or guests is None:
        return turned.tell
    code = await guests.offer(turned.pairs)
    return f"{STRANGER} Show them this code: {code}. It is good for one hour, and once." if code else STRANGER


class Pairing:
    """`/pair`, in every chat, for those who have the right by now. However many codes somebody tries, few are looked
    at. `keyed`: channels where nobody has it: who was let in by a key that was stolen would stay when it is gone."""

    def __init__(self, guests: Guests, doors: Doors, keyed: Collection[str] = ()) -> None:
        self._guests, self._doors, self._keyed = guests, doors, keyed
        self._tries = Rate(20, 30.0)

    @property
    def row(self) -> Command:
        return Command("pair", "let somebody in with that code", self._pair, takes=True, syntax="CODE [NAME]")

    async def _pair(self, invocation: Invocation) -> str:
        by = requester(invocation.inbound.chat)
        if by.channel in self._keyed:
            return AT_THE_MACHINE
        if not self._doors.people.has_role(by, OPERATOR_ROLE):
            return NOT_YOURS
        code, _, name = invocation.args.partition(" ")
        if not code:
            return WHICH
        if wait := self._tries.take(str(by)):
            return TOO_MANY.format(wait)
        try:
            person = await self._guests.pair(code, name.strip(), self._doors.people.known_as(by))
        except NotPaired as error:
            return str(error)
        return f"{person.name} ({', '.join(map(str, person.ids))}) may talk here now."
