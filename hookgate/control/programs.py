"""What programs may ask over HTTP, by who they are: an operator what operators may ask, anybody what is their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial, wraps
from inspect import signature
from typing import Literal

from hookgate.approvals.requests import Approvals
from hookgate.assembly.app import Runtime
from hookgate.control.gateway import gateway_methods
from hookgate.control.methods import Method, Methods
from hookgate.control.openrpc import discoverable
from hookgate.operations import approvals, programs
from hookgate.operations.refused import OperationRefused
from hookgate.protocol.approval import Decision, Outcome, Voter
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.values import Json

AT_THE_MACHINE = frozenset(
    {
        "keys.add",
        "keys.revoke",
        "people.add",
        "people.codes",
        "people.pair",
        "people.remove",
        "people.role",
    }
)
"""A key that was stolen makes no other one, and no operator: what it did ends with it."""
ProgramGrant = Literal["once", "session"]
"""How far a program's yes may go: what holds for always, or elsewhere, would outlive its key."""
OF_ANYBODY = frozenset({"message.send"})
"""It is in the journal anyway."""


Record = Callable[[str, str, str], Awaitable[None]]
"""Keeps who has done what to what. Raises StoreFailed."""


def program_methods(runtime: Runtime, caller: Voter, record: Record, *, operates: bool) -> Methods:
    """`record`: of what operators change."""
    if operates:
        its = gateway_methods(runtime, caller, AT_THE_MACHINE)
        its = {**its, "approvals.decide": _deciding(partial(approvals.decide, runtime.agent.approvals), caller)}
        return discoverable({name: _recorded(name, it, partial(record, str(caller))) for name, it in its.items()})
    return discoverable(
        {
            "message.send": Method(partial(programs.send, runtime, caller), changes=True),
            "message.wait": Method(partial(programs.wait, runtime, caller), changes=False, waits=True),
            **_own_approvals(runtime.agent.approvals, caller),
        }
    )


def _recorded(name: str, method: Method, record: Callable[[str, str], Awaitable[None]]) -> Method:
    """Whatever is changed stands in the record before, and is not done where it cannot."""
    if not method.changes or name in OF_ANYBODY:
        return method
    shape = signature(method.call)

    @wraps(method.call)
    async def call(*args: Json, **params: Json) -> object:
        about = next((it for it in shape.bind(*args, **params).arguments.values() if isinstance(it, str)), "")
        try:
            await record(name, about)
        except StoreFailed:
            raise OperationRefused("it cannot be recorded, so it was not done") from None
        return await method.call(*args, **params)

    return replace(method, call=call)


def _own_approvals(held: Approvals, caller: Voter) -> Methods:
    return {
        "approvals.list": Method(partial(approvals.decidable, held, caller), changes=False),
        "approvals.decide": _deciding(held.decide, caller),
    }


def _deciding(decided: Callable[[str, Decision, Voter], Awaitable[Outcome]], caller: Voter) -> Method:
    async def decide(request: str, approved: bool, reason: str = "", grant: ProgramGrant = "once") -> Outcome:
        """A yes or a no, of somebody who may decide it. `grant`: how far a yes goes."""
        return await decided(request, Decision(approved, str(caller), reason, grant), caller)

    return Method(decide, changes=True)
