"""How a request reads: as people see it first, and as the events tell of it."""

from __future__ import annotations

from secrets import token_hex

from hookgate.approvals.binding import Subject, request_digest
from hookgate.approvals.decide import NOBODY, deciding, refusal_reason
from hookgate.approvals.rules import TTL_S
from hookgate.protocol.approval import ApprovalRequest, Wish, usual_title
from hookgate.protocol.events.payloads import ApprovalDecided, ApprovalRequested
from hookgate.protocol.interfaces import Redactor
from hookgate.protocol.journal.decisions import Standing, StoredRequest
from hookgate.protocol.redacting import presentable_request


def request_of(
    subject: Subject, wish: Wish, approvers: tuple[str, ...], directory: str, redactor: Redactor | None
) -> ApprovalRequest:
    """A new one, secrets hidden. `directory`: where tools work."""
    step, call = subject.step, subject.call
    request = ApprovalRequest(
        id=token_hex(8),
        chat=step.chat,
        call=call,
        asked_by=wish.asked_by,
        title=wish.title or usual_title(call.name, step.extension, step.agent if step.parent_turn_id else ""),
        text=wish.text,
        approvers=approvers,
        ttl_s=wish.ttl_s or TTL_S,
        digest=request_digest(subject, wish.asker, directory),
        once=wish.once,
        always=_always(subject, wish),
        extension=step.extension,
        terms=wish.terms,
        place=subject.place,
    )
    return request if redactor is None else presentable_request(redactor.for_questions, request)


def wish_of(stored: StoredRequest) -> Wish:
    """As whoever asked it wanted it."""
    shown = stored.shown.unredacted or stored.shown
    content = stored.asker.removeprefix("rule:") if stored.asker.startswith("rule:") else ""
    about = (shown.asked_by, shown.title, shown.text, shown.approvers, shown.ttl_s)
    return Wish(*about, once=True, content=content, terms=shown.terms)


def _always(subject: Subject, wish: Wish) -> str:
    """What a yes for always would be for; empty: there is none."""
    if wish.lasting is not None:
        return wish.lasting.text
    if wish.once or "always" not in wish.terms.grants:
        return ""
    return f"every {subject.call.name} call that {wish.asked_by} asks about, in all conversations of whoever asks now"


def requested(shown: ApprovalRequest, redactor: Redactor | None) -> ApprovalRequested:
    true = shown.unredacted or shown
    title = true.title if redactor is None else redactor.text(true.title)
    return ApprovalRequested(shown.id, true.call.name, shown.asked_by, title, shown.ttl_s, shown.digest)


def decided(standing: Standing) -> ApprovalDecided:
    shown, approved = standing.request.shown, standing.state == "approved"
    vote, tool = deciding(standing), (shown.unredacted or shown).call.name
    if vote is None:
        return ApprovalDecided(shown.id, tool, False, NOBODY, shown.digest, refusal_reason(standing))
    return ApprovalDecided(shown.id, tool, approved, vote.name, shown.digest, vote.reason or None, vote.grant or None)
