"""The records of calls: what let one begin, before it runs, and all that is known of it once it has ended."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from hookgate.protocol.approval import Voter
from hookgate.protocol.codec import canonical
from hookgate.protocol.hook.judgement import Judgement
from hookgate.protocol.journal.audit import CallAudit
from hookgate.protocol.journal.values import Claim, Intent
from hookgate.store.journal.audit.chain import note
from hookgate.store.journal.decisions import find_request
from hookgate.store.journal.encoding import decoded
from hookgate.store.journal.tables import Tables

LONGEST = 4096
"""Bytes of a result that stand beside its record; of a longer one only its digest and its size."""


def note_intent(tables: Tables, conversation: int, claim: Claim, intent: Intent) -> None:
    said = {"kind": "intended", "call": intent.call_id, "rules": intent.policy, **_stood_on(intent)}
    beside = {"session": claim.conversation.id, **_reasons(intent.judgements)}
    note(tables, conversation, {**said, "hooks": _hooks(intent.judgements)}, details=_json(beside))


def note_calls(tables: Tables, conversation: int, claim: Claim, audits: Sequence[CallAudit]) -> None:
    for audit in audits:
        intent, step, result = _intent(tables, conversation, audit.id), audit.step, audit.result
        known = intent.judgements if intent is not None else ()
        begun_here = audit.judgements[: len(known)] == known
        heard = audit.judgements if begun_here else (*known, *audit.judgements)
        fault = result.error if result is not None else None
        said = {
            **{"kind": "call", "call": audit.id, "tool": audit.call.name, "turn": step.turn_id, "agent": step.agent},
            **{"extension": step.extension, "channel": step.chat.channel, "policy": audit.policy},
            **(_stood_on(intent) if intent is not None else {"approvals": [], "grants": []}),
            **{"hooks": _hooks(heard), "outcome": audit.outcome, "ns": audit.duration_ns},
            **{"error": fault.kind if fault else "", "denied_by": fault.denied_by if fault else ""},
        }
        beside = {
            **{
                "session": claim.conversation.id,
                "chat": step.session_key,
                "actor": str(Voter(step.chat.channel, step.chat.identity)),
            },
            **{"arguments": audit.call.arguments, "result": _short(result.for_llm if result is not None else "")},
            **_reasons(heard),
            **(_approvers(tables, intent) if intent is not None and intent.approvals else {}),
        }
        note(tables, conversation, said, details=_json(beside))


def _intent(tables: Tables, conversation: int, call: str) -> Intent | None:
    """What it began with, also where that was before a crash."""
    row = tables.one("SELECT format, intent FROM calls WHERE conversation = ? AND id = ?", conversation, call)
    return None if row is None or row[1] is None else decoded(Intent, *row)


def _stood_on(intent: Intent) -> dict[str, object]:
    """The revision of the rules is the one of the moment in which the call began."""
    spent = [it.request for it in intent.approvals]
    return {"policy": intent.revision, "approvals": spent, "grants": list(intent.grants)}


def _approvers(tables: Tables, intent: Intent) -> dict[str, list[str]]:
    found = (find_request(tables, it.request) for it in intent.approvals)
    return {"approvers": [vote.person for it in found if it is not None for vote in it.standing.votes]}


def _hooks(judgements: Sequence[Judgement]) -> list[dict[str, object]]:
    return [
        {"stage": it.stage, "hook": it.hook, "digest": it.digest, "action": it.action, "failed": it.failed}
        for it in judgements
    ]


def _reasons(judgements: Sequence[Judgement]) -> dict[str, list[str]]:
    """They may repeat what was said, so they can be forgotten."""
    reasons = [judged.reason for judged in judgements]
    return {"reasons": reasons} if any(reasons) else {}


def _json(value: Mapping[str, object]) -> str:
    return canonical(value).decode("utf-8", "replace")


def _short(text: str) -> str:
    raw = text.encode("utf-8", "surrogatepass")
    return text if len(raw) <= LONGEST else f"SHA-256 {hashlib.sha256(raw).hexdigest()} of {len(raw)} bytes"
