"""What programs may ask over HTTP, by who they are: an operator what operators may ask, anybody what is their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial, wraps
from inspect import signature

from hookgate.approvals.requests import Approvals
from hookgate.assembly.app import Runtime
from hookgate.control.gateway import gateway_methods
from hookgate.control.methods import Method, Methods
from hookgate.control.openrpc import discoverable
from hookgate.operations import approvals, programs
from hookgate.operations.refused import OperationRefused
from hookgate.protocol.approval import Decision, Grant, Outcome, Voter
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.values import Json

AT_THE_MACHINE = frozenset({"keys.add", "keys.revoke", "people.add", "people.role", "people.remove"})
"""A key that was stolen makes no other one, and no operator: what it did ends with it."""
OF_ANYBODY = frozenset({"message.send"})
"""It is in the journal anyway."""


Record = Callable[[str, str, str], Awaitable[None]]
"""Keeps who has done what to what. Raises StoreFailed."""


def program_methods(runtime: Runtime, caller: Voter, record: Record, *, operates: bool) -> Methods:
    """`record`: of what operators change."""
    if operates:
        methods = gateway_methods(runtime, caller)
        its = {name: it for name, it in methods.items() if name not in AT_THE_MACHINE}
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
    async def decide(request: str, approved: bool, reason: str = "", grant: Grant = "once") -> Outcome:
        """A yes or a no, of somebody who may decide it. `grant`: how far a yes goes."""
        return await held.decide(request, Decision(approved, str(caller), reason, grant), caller)

    return {
        "approvals.list": Method(partial(approvals.decidable, held, caller), changes=False),
        "approvals.decide": Method(decide, changes=True),
    }
