"""Approvals over RPC: a request goes out as an event, a command brings the answer. Fails closed."""

from __future__ import annotations

from collections.abc import Callable

import trio

from hookgate.protocol.approval import ApprovalRequest, Decision
from hookgate.protocol.rpc.commands import Approve
from hookgate.protocol.rpc.events import Event, approval_asked

BY = "rpc"
NOBODY = "it needs an approval, and nobody can be asked here (start with --rpc-approvals)"
GONE = "nobody is there to ask any more"


class Approvals:
    """`enabled`: whether the other end has said that it answers."""

    def __init__(self, tell: Callable[[Event], None], *, enabled: bool) -> None:
        self._tell = tell
        self._refusal = "" if enabled else NOBODY
        self._waiting: dict[str, tuple[ApprovalRequest, trio.Event]] = {}
        self._given: dict[str, Decision] = {}

    async def ask(self, request: ApprovalRequest) -> Decision:
        await trio.lowlevel.checkpoint()
        if self._refusal:
            return Decision(False, BY, self._refusal)
        answered = trio.Event()
        self._waiting[request.id] = request, answered
        self._tell(approval_asked(request))
        try:
            await answered.wait()
        finally:
            del self._waiting[request.id]
        return self._given.pop(request.id, Decision(False, BY, GONE))

    def answer(self, answer: Approve) -> bool:
        """Whether such a request waits. The first answer counts."""
        if self.waiting(answer.approval) is None:
            return False
        reason = answer.reason or ("" if answer.approved else "the user said no")
        self._given[answer.approval] = Decision(answer.approved, BY, reason, answer.grant)
        self._waiting[answer.approval][1].set()
        return True

    def waiting(self, approval: str) -> ApprovalRequest | None:
        """A request that nobody has answered yet."""
        request, answered = self._waiting.get(approval, (None, None))
        return None if answered is None or answered.is_set() else request

    def close(self) -> None:
        """Nobody answers any more: what waits is denied, and so is what comes."""
        self._refusal = self._refusal or GONE
        for _request, answered in self._waiting.values():
            answered.set()
