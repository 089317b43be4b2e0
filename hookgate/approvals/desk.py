"""Where a sensitive call waits for a person: rules, the request bound to one very call, grants for a conversation.

Fails closed: an expired, unanswerable or refused request is a refusal. Does not know how a channel asks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

import structlog
import trio

from hookgate.approvals.rules import TTL_S, Rule, wishes
from hookgate.protocol.approval import ApprovalRequest, Decision, Grant, Wish, usual_title
from hookgate.protocol.codec import canonical
from hookgate.protocol.interfaces import Channel, Redactor
from hookgate.protocol.payloads import ApprovalDecided, ApprovalRequested, Payload
from hookgate.protocol.redacting import presentable_request
from hookgate.protocol.values import Step, ToolCall

log = structlog.get_logger("hookgate.approvals")

_Standing = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class Refused:
    """`denied_by` is `approval:ID`; `reason` is what the model is told."""

    denied_by: str
    reason: str


class Desk:
    """Grants are held per conversation, for (who asked, tool, extension, origin of the call): a yes to the model is
    none to an extension, and one to a native call none to a call in the text."""

    def __init__(
        self,
        rules: Sequence[Rule],
        emit: Callable[[Payload, Step | None], None],
        redactor: Redactor | None = None,
    ) -> None:
        self._rules = tuple(rules)
        self._emit = emit
        self._redactor = redactor
        self._ids = count(1)
        self._grants: set[_Standing] = set()

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self._rules

    def adopt(self, rules: Sequence[Rule]) -> bool:
        """Ask by these rules from here on; grants of rules that are gone are void. Whether they say anything else."""
        before, now = ({rule.content for rule in it} for it in (self._rules, rules))
        gone = {f"rule:{content}" for content in before - now}
        self._rules = tuple(rules)
        self._grants = {grant for grant in self._grants if grant[1] not in gone}
        return before != now

    def wishes(self, step: Step, call: ToolCall) -> tuple[Wish, ...]:
        """What the rules demand for this call."""
        return wishes(self._rules, step, call)

    async def settle(self, step: Step, call: ToolCall, wishes: Sequence[Wish], channel: Channel) -> Refused | None:
        """Ask for each wish in turn; None when every one is granted."""
        lasting: list[Callable[[], None]] = []
        for wish in wishes:
            refused = _nobody_here(step, wish)
            if refused is None and not wish.once and _standing(step, call, wish) in self._grants:
                continue
            match refused or await self._ask(step, call, wish, channel):
                case Refused() as refused:
                    return refused
                case Decision(grant="always", by=by) if wish.lasting is not None:
                    lasting.append(partial(wish.lasting.keep, by))
                case _:
                    pass
        # Only now: what another approver refuses must not stand allowed for good.
        for keep in lasting:
            keep()
        return None

    def forget(self, session_key: str) -> None:
        """A conversation starts anew: what was granted in it is void."""
        self._grants = {grant for grant in self._grants if grant[0] != session_key}

    async def _ask(self, step: Step, call: ToolCall, wish: Wish, channel: Channel) -> Refused | Decision:
        request = self._request(step, call, wish)
        title = request.title if self._redactor is None else self._redactor.text(request.title)
        asked = ApprovalRequested(request.id, call.name, wish.asked_by, title, request.ttl_s, request.digest)
        self._emit(asked, step)
        decision = await _decided(request, channel)
        # A yes that comes with the end of the turn, or of the conversation, is for nothing any more.
        await trio.lowlevel.checkpoint_if_cancelled()
        self._emit(_record(request, decision), step)
        told = {"id": request.id, "tool": call.name, "digest": request.digest}
        log.info("approval_decided", **told, approved=decision.approved, by=decision.by)
        if not decision.approved:
            return Refused(f"approval:{request.id}", decision.reason or f"{decision.by} said no")
        if decision.grant == "session":
            self._grants.add(_standing(step, call, wish))
        return decision

    def _request(self, step: Step, call: ToolCall, wish: Wish) -> ApprovalRequest:
        request = ApprovalRequest(
            id=f"A{next(self._ids)}",
            chat=step.chat,
            call=call,
            asked_by=wish.asked_by,
            title=wish.title or usual_title(call.name, step.extension),
            text=wish.text,
            approvers=wish.approvers,
            ttl_s=wish.ttl_s or TTL_S,
            digest=digest(step.session_key, call, wish.asked_by),
            once=wish.once,
            always=wish.lasting.text if wish.lasting is not None else "",
            extension=step.extension,
        )
        return request if self._redactor is None else presentable_request(self._redactor.for_questions, request)


def _standing(step: Step, call: ToolCall, wish: Wish) -> _Standing:
    return step.session_key, wish.asker, call.name, step.extension, call.origin


def _nobody_here(step: Step, wish: Wish) -> Refused | None:
    """Whose message it is that the turn answers decides who can say yes, also to what was granted before."""
    if not wish.approvers or step.chat.sender in wish.approvers:
        return None
    return Refused(wish.asked_by, f"only {', '.join(wish.approvers)} may approve this, and nobody of them is here")


def digest(session_key: str, call: ToolCall, asked_by: str) -> str:
    """SHA-256 of (tool, canonical arguments, session, rule): other arguments are another request."""
    parts = canonical([call.name, call.arguments, session_key, asked_by])
    return hashlib.sha256(parts).hexdigest()


async def _decided(request: ApprovalRequest, channel: Channel) -> Decision:
    with trio.move_on_after(request.ttl_s):
        try:
            return _checked(request, await channel.approve(request))
        except Exception as error:
            log.warning("approval_not_asked", id=request.id, exc_info=error)
            return Decision(False, "nobody", "the chat could not ask")
    return Decision(False, "nobody", f"nobody answered within {request.ttl_s:g} s")


def _checked(request: ApprovalRequest, decision: object) -> Decision:
    """Whoever embeds hookgate writes the function that asks: only true is a yes, and only for what was asked."""
    if not isinstance(decision, Decision):
        return Decision(False, "nobody", "what was asked gave no decision")
    approved: object = decision.approved
    return replace(decision, approved=approved is True, grant=_granted(request, decision.grant))


def _granted(request: ApprovalRequest, asked: object) -> Grant:
    match asked:
        case "session" if not request.once:
            return "session"
        case "always" if request.always:
            return "always"
        case _:
            return "once"


def _record(request: ApprovalRequest, decision: Decision) -> ApprovalDecided:
    return ApprovalDecided(
        request.id,
        request.call.name,
        decision.approved,
        decision.by,
        request.digest,
        decision.reason or None,
        decision.grant if decision.approved else None,
    )
