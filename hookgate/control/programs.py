"""What programs may ask over HTTP, by who they are: an operator what operators may ask, anybody what is their own."""

from __future__ import annotations

from functools import partial

from hookgate.approvals.requests import Approvals
from hookgate.assembly.app import Runtime
from hookgate.control.gateway import gateway_methods
from hookgate.control.methods import Method, Methods
from hookgate.control.openrpc import discoverable
from hookgate.operations import approvals, programs
from hookgate.protocol.approval import Decision, Grant, Outcome, Voter

AT_THE_MACHINE = frozenset({"keys.add", "keys.revoke", "people.add", "people.role", "people.remove"})
"""A key that was stolen makes no other one, and no operator: what it did ends with it."""


def program_methods(runtime: Runtime, caller: Voter, *, operates: bool) -> Methods:
    if operates:
        methods = gateway_methods(runtime, caller)
        return discoverable({name: it for name, it in methods.items() if name not in AT_THE_MACHINE})
    return discoverable(
        {
            "message.send": Method(partial(programs.send, runtime, caller), changes=True),
            "message.wait": Method(partial(programs.wait, runtime, caller), changes=False, waits=True),
            **_own_approvals(runtime.agent.approvals, caller),
        }
    )


def _own_approvals(held: Approvals, caller: Voter) -> Methods:
    async def decide(request: str, approved: bool, reason: str = "", grant: Grant = "once") -> Outcome:
        """A yes or a no, of somebody who may decide it. `grant`: how far a yes goes."""
        return await held.decide(request, Decision(approved, str(caller), reason, grant), caller)

    return {
        "approvals.list": Method(partial(approvals.decidable, held, caller), changes=False),
        "approvals.decide": Method(decide, changes=True),
    }
