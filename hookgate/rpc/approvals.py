"""Approvals over RPC: a request goes out as an event, a command brings the answer, which somebody else judges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import trio

from hookgate.protocol.approval import ApprovalRequest, CannotAsk, Decide, Decision, Outcome
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.rpc.commands import Approve
from hookgate.protocol.rpc.events import Event, approval_asked

BY = "rpc"
NOBODY = "it needs an approval, and nobody can be asked here (start with --rpc-approvals)"
GONE = "nobody is there to ask any more"
HearOutcome = Callable[[Outcome | None], None]
"""Hears what has come of an answer; None: it came too late."""


@dataclass
class _Waiting:
    request: ApprovalRequest
    decision: Decision | None = None
    told: HearOutcome = lambda _outcome: None
    answered: trio.Event = field(default_factory=trio.Event)


class Approvals:
    """`enabled`: whether the other end has said that it answers."""

    def __init__(self, tell: Callable[[Event, Chat], None], *, enabled: bool) -> None:
        self._tell = tell
        self._refusal = "" if enabled else NOBODY
        self._waiting: dict[str, _Waiting] = {}

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        if self._refusal:
            raise CannotAsk(self._refusal)
        from hookgate.channels.approving import session_reach  # dear at a start, and most ask nobody

        waiting = self._waiting[request.id] = _Waiting(request)
        self._tell(approval_asked(request, session_reach(request)), request.chat)
        outcome = None
        try:
            await waiting.answered.wait()
            if waiting.decision is None:
                raise CannotAsk(GONE)
            outcome = await decide(waiting.decision)
        finally:
            del self._waiting[request.id]
            waiting.told(outcome)

    def answer(self, answer: Approve, told: HearOutcome) -> None:
        """The first answer to a request that waits goes on."""
        waiting = self._waiting.get(answer.approval)
        if waiting is None or waiting.answered.is_set():
            told(None)
            return
        reason = answer.reason or ("" if answer.approved else "the user said no")
        waiting.decision, waiting.told = Decision(answer.approved, BY, reason, answer.grant), told
        waiting.answered.set()

    def waiting(self, approval: str) -> ApprovalRequest | None:
        """A request that nobody has answered yet."""
        waiting = self._waiting.get(approval)
        return None if waiting is None or waiting.answered.is_set() else waiting.request

    def close(self) -> None:
        """Nobody answers any more: what waits is denied, and so is what comes."""
        self._refusal = self._refusal or GONE
        for waiting in self._waiting.values():
            waiting.answered.set()
