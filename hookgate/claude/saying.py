"""What a command says: its exit status and what it has printed, as one value. Pure.

Where Claude Code goes on although a command has failed, this raises: the hook's failure policy decides then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, cast

from hookgate.claude.running import Ran
from hookgate.protocol.codec import decode, encode, repeated_member
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.values import Json

BLOCKS = 2
SHOWN_CHARS = 500
Decision = Literal["pass", "ask", "block", "stop"]
_PERMISSIONS: Mapping[str, Decision] = {
    "allow": "pass",
    "approve": "pass",
    "deny": "block",
    "block": "block",
    "ask": "ask",
}
_DECIDES = re.compile(r"""["'](permissionDecision|decision)\\?["']\s*:""")
"""In plain text: somebody wanted to decide, and is not understood."""


class CommandFailed(Exception):
    """It gave no usable answer; the text names it and says why."""


@dataclass(frozen=True)
class HookOutput:
    """`context`: what the model is to read besides; `updated`: the whole input as it is to be; `output`: what the
    model is to read instead of the result; `remarks`: what has no effect here, a line each."""

    decision: Decision = "pass"
    reason: str = ""
    context: str = ""
    updated: Mapping[str, Json] | None = None
    output: str | None = None
    remarks: tuple[str, ...] = ()


def read(command: str, ran: Ran, timeout_s: float, *, prints_context: bool = False) -> HookOutput:
    """`prints_context`: plain text on stdout is for the model. Raises CommandFailed."""
    name = repr(command[:80])
    if ran.status is None:
        raise CommandFailed(f"{name} gave no answer within {timeout_s:g} s")
    if ran.status == BLOCKS:
        return HookOutput("block", ran.stderr.strip() or f"{name} blocks it, without a reason")
    if ran.status:
        words = ran.stderr.strip().replace("\n", " ")[:SHOWN_CHARS]
        ending = f"ended with status {ran.status}" if ran.status > 0 else f"was ended by signal {-ran.status}"
        raise CommandFailed(f"{name} {ending}{': ' + words if words else ''}")
    if ran.lost:
        raise CommandFailed(f"{name} {ran.lost}")
    text = ran.stdout.lstrip("\ufeff").strip()
    if not text.startswith("{"):
        if _DECIDES.search(text):
            raise CommandFailed(f"{name} printed a decision among what is no JSON object")
        return HookOutput(context=text if prints_context else "")
    try:
        members = decode(text)
    except BadMessage as error:
        raise CommandFailed(f"{name} printed what begins as JSON and is none: {error}") from None
    if (repeated := repeated_member(text.encode(), members)) is not None:
        raise CommandFailed(f"{name} printed an object with the member {repeated[:80]!r} twice")
    return _members(name, cast("dict[str, Any]", members))


def _members(name: str, members: dict[str, Any]) -> HookOutput:
    specific: object = members.get("hookSpecificOutput") or {}
    if not isinstance(specific, dict):
        raise CommandFailed(f"{name} gives a hookSpecificOutput that is no object")
    inner = cast("dict[str, Any]", specific)
    remarks = [f"systemMessage: {members['systemMessage']}"] if members.get("systemMessage") else []
    if members.get("continue") is False:
        return HookOutput("stop", _text(members, "stopReason") or f"{name} stops here", remarks=tuple(remarks))
    if members.get("permissionDecision") is not None:
        raise CommandFailed(f"{name} gives a permissionDecision outside of hookSpecificOutput")
    # Some write every member, and null where they have nothing to say.
    word = members.get("decision") if inner.get("permissionDecision") is None else inner["permissionDecision"]
    if word is not None and not (isinstance(word, str) and word in _PERMISSIONS):
        raise CommandFailed(f"{name} decides {str(word)[:80]!r}, which means nothing here")
    reason = _text(inner, "permissionDecisionReason") or _text(members, "reason")
    updated = inner.get("updatedInput")
    if updated is not None and not isinstance(updated, dict):
        raise CommandFailed(f"{name} gives an updatedInput that is no object")
    output = inner.get("updatedToolOutput", inner.get("updatedMCPToolOutput"))
    return HookOutput(
        _PERMISSIONS[word] if word is not None else "pass",
        reason or (f"{name} gives no reason" if word in ("deny", "block") else ""),
        _text(inner, "additionalContext"),
        cast("dict[str, Json] | None", updated),
        None if output is None else _as_text(output),
        tuple(remarks),
    )


def _as_text(output: object) -> str:
    return output if isinstance(output, str) else encode(output).decode()


def _text(members: Mapping[str, Any], name: str) -> str:
    value = members.get(name)
    return value.strip() if isinstance(value, str) else ""


_ORDER: tuple[Decision, ...] = ("stop", "block", "ask", "pass")


def together(said: list[HookOutput]) -> HookOutput:
    """Of several commands: the strictest decides, with its reason; two that change the input do not agree unless they
    change it alike. Raises CommandFailed."""
    strictest = _ORDER[min((_ORDER.index(it.decision) for it in said), default=len(_ORDER) - 1)]
    reasons = dict.fromkeys(it.reason for it in said if it.decision == strictest and it.reason)
    updates = [it.updated for it in said if it.updated is not None]
    if any(it != updates[0] for it in updates):
        raise CommandFailed("two commands change the same call, and not alike")
    return HookOutput(
        strictest,
        "; ".join(reasons),
        "\n\n".join(it.context for it in said if it.context),
        updates[0] if updates else None,
        next((it.output for it in reversed(said) if it.output is not None), None),
        tuple(remark for it in said for remark in it.remarks),
    )
