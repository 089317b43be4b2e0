"""What a hook may answer at each stage, and which answer its JSON is.

Every rule about shapes is in `docs/hook-json-protocol.md`. The objects inside an answer are read in
`changes.py`; what an answer leads to is decided in `hooks/decision.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, cast

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.kinds import kind_of, near_miss
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.hook.wire import text
from hookgate.protocol.values import FaultKind, ToolResult

NO_OUTPUT = "(no output)"


@dataclass(frozen=True, slots=True)
class Continue:
    """`ignored` names members that came beside the action and have no effect."""

    action: ClassVar[str] = "continue"
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Modify:
    """`changes` maps fields of the stage's value to their new values; a field that is not named stays."""

    action: ClassVar[str] = "modify"
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Respond:
    """`call` changes what the record says was called; nothing else. `dropped`: claimed effects that do not count."""

    action: ClassVar[str] = "respond"
    result: ToolResult
    call: Mapping[str, Any] = field(default_factory=dict[str, Any])
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplyWith:
    """What the chat is answered at on_message; no model is asked."""

    action: ClassVar[str] = "respond"
    text: str
    media: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drop:
    """The message goes no further. `tell`: what the chat reads of it; None: who dropped it, and why; "": nothing."""

    action: ClassVar[str] = "drop"
    reason: str = ""
    tell: str | None = None


@dataclass(frozen=True, slots=True)
class Deny:
    """`bare`: the model is told the reason alone, without the denial prefix. `kind` is what the result says it is;
    on the wire every denial is `permission`."""

    action: ClassVar[str] = "deny_tool"
    reason: str
    bare: bool = False
    kind: FaultKind = "permission"


@dataclass(frozen=True, slots=True)
class Abort:
    """`failed`: it did not say so itself, its failure policy does."""

    reason: str
    hard: bool = False
    failed: bool = False

    @property
    def action(self) -> str:
        return "hard_abort" if self.hard else "abort_turn"


@dataclass(frozen=True, slots=True)
class Approve:
    action: ClassVar[str] = "approve"


@dataclass(frozen=True, slots=True)
class Refuse:
    action: ClassVar[str] = "refuse"
    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A person must decide, or so many. `self_approval` None: whoever the turn answers may, where one is enough."""

    action: ClassVar[str] = "ask"
    title: str = ""
    text: str = ""
    approvers: tuple[str, ...] = ()
    ttl_s: float | None = None
    required: int = 1
    self_approval: bool | None = None

    @property
    def may_self_approve(self) -> bool:
        return self.required == 1 if self.self_approval is None else self.self_approval


@dataclass(frozen=True, slots=True)
class Failed:
    """The hook gave no usable answer; its failure policy decides what that means. `closes`: it wanted a change, or
    guards and is not there yet, so nothing passes as it was, whatever the policy."""

    action: ClassVar[str] = "failed"
    reason: str
    closes: bool = False


Answer = Continue | Modify | Respond | ReplyWith | Drop | Deny | Abort | Approve | Refuse | Ask | Failed

CONTINUE = Continue()

ACTIONS: Mapping[Stage, tuple[str, ...]] = {
    Stage.ON_MESSAGE: ("continue", "modify", "respond", "drop", "abort_turn", "hard_abort"),
    Stage.BEFORE_LLM: ("continue", "modify", "abort_turn", "hard_abort"),
    Stage.AFTER_LLM: ("continue", "modify", "abort_turn", "hard_abort"),
    Stage.BEFORE_TOOL: ("continue", "modify", "respond", "deny_tool", "abort_turn", "hard_abort"),
    Stage.AFTER_TOOL: ("continue", "modify", "abort_turn", "hard_abort"),
    Stage.BEFORE_SEND: ("continue", "modify", "drop"),
}


def actions_at(stage: Stage) -> tuple[str, ...]:
    """Those that an answer may name there; at approve_tool there are none."""
    return ACTIONS.get(stage, ())


_CONTINUES = {"action": "continue"}
_APPROVAL: frozenset[str] = frozenset({"approved", "reason", "ask"})
_KNOWN: frozenset[str] = frozenset(
    {"action", "reason", "message", "reply", "tell", "request", "response", "call", "result"}
)


def parse_answer(stage: Stage, result: object) -> Answer:
    """What a hook's `result` says. Raises BadMessage where it says nothing that the protocol knows."""
    if result is None:
        result = {}
    if result == _CONTINUES and stage is not Stage.APPROVE_TOOL:
        return CONTINUE
    if not isinstance(result, dict):
        raise BadMessage(f"result must be an object, not {kind_of(result)}")
    members = cast("dict[str, Any]", result)
    if stage is Stage.APPROVE_TOOL:
        return _parse_approval(members)
    return _parse_action(stage, members)


def _parse_action(stage: Stage, members: dict[str, Any]) -> Answer:
    match members.get("action", ""):
        case "" | "continue" | None:
            return _parse_continue(members)
        case "modify":
            return _parse_modify(stage, members)
        case str(action) if action not in ACTIONS[stage]:
            raise BadMessage(
                f"action {_meant(action, ACTIONS[stage])} is not one of {', '.join(ACTIONS[stage])} at {stage}"
            )
        case "respond":
            return _parse_respond(members) if stage is Stage.BEFORE_TOOL else _parse_reply(members)
        case "drop":
            return Drop(_reason(members), None if members.get("tell") is None else text(members, "tell", "result"))
        case "deny_tool":
            return Deny(_reason(members))
        case "abort_turn" | "hard_abort" as action:
            return Abort(_reason(members), hard=action == "hard_abort")
        case other:
            raise BadMessage(f"action must be a string, not {kind_of(other)}")


def _meant(action: str, known: tuple[str, ...]) -> str:
    """The action as it was written, with the one that was probably meant."""
    found = next((name for name in known if name.startswith(action.lower())), "")
    return f"{action!r} (did you mean {found!r}?)" if found else repr(action[:80])


def _parse_continue(members: dict[str, Any]) -> Continue:
    unknown = [name for name in members if name not in _KNOWN]
    if unknown and not members.get("action"):
        raise BadMessage(f"no action, but the unknown member {near_miss(unknown[0], _KNOWN)}")
    ignored = tuple(name for name, it in members.items() if name not in ("action", "reason") and it is not None)
    if ignored and not members.get("action"):
        raise BadMessage(f"no action, but the member {ignored[0]!r} of one")
    return Continue(ignored) if ignored else CONTINUE


def _reason(members: dict[str, Any]) -> str:
    return text(members, "reason", "result", "")


# --- answers with an object in them: their readers are imported when the first such answer comes --------------


def _parse_modify(stage: Stage, members: dict[str, Any]) -> Modify:
    from hookgate.protocol.hook.changes import read_changes

    return Modify(read_changes(stage, members))


def _parse_respond(members: dict[str, Any]) -> Respond:
    from hookgate.protocol.hook.changes import read_call, read_result

    result, dropped = read_result(members)
    return Respond(result, read_call(members), dropped)


def _parse_reply(members: dict[str, Any]) -> ReplyWith:
    from hookgate.protocol.hook.changes import read_reply

    return read_reply(members)


def _parse_approval(members: dict[str, Any]) -> Answer:
    """An empty result refuses; only the JSON value true approves; refuse beats ask beats approve."""
    from hookgate.protocol.hook.changes import read_approval

    unknown = next((name for name in members if name not in _APPROVAL), None)
    if unknown is not None and not {"approved", "ask"} & members.keys():
        raise BadMessage(f"neither 'approved' nor 'ask', but the unknown member {near_miss(unknown, _APPROVAL)}")
    approval = read_approval(members)
    if approval.approved is False or (approval.approved is None and approval.ask is None):
        return Refuse(approval.reason or "")
    if approval.ask is not None:
        ask = approval.ask
        said = (ask.title or "", ask.text or "", ask.approvers or (), ask.ttl_s)
        return Ask(*said, ask.required or 1, ask.self_approval)
    return Approve()
