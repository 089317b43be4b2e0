"""What a hook may answer at each stage, and how its JSON is read.

Every rule about shapes comes from the seed page and design section 5; what an answer leads to is decided in
`hooks/decision.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, cast

from pydantic import BeforeValidator, Field

from hookgate.protocol.errors import BadMessage
from hookgate.protocol.patches import Patch, Texts, checked, kind_of
from hookgate.protocol.stages import Stage
from hookgate.protocol.values import Fault, FaultKind, ToolResult
from hookgate.protocol.wire import parse_messages, parse_proposed, parse_tools, text

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
    """`call` changes what the record says was called; nothing else."""

    action: ClassVar[str] = "respond"
    result: ToolResult
    call: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Deny:
    """`bare`: the model is told the reason alone, without the denial prefix."""

    action: ClassVar[str] = "deny_tool"
    reason: str
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Abort:
    reason: str
    hard: bool = False

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
    """A person must decide."""

    action: ClassVar[str] = "ask"
    title: str = ""
    text: str = ""
    approvers: tuple[str, ...] = ()
    ttl_s: float | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The hook gave no usable answer; its failure policy decides what that means."""

    action: ClassVar[str] = "failed"
    reason: str


Answer = Continue | Modify | Respond | Deny | Abort | Approve | Refuse | Ask | Failed

CONTINUE = Continue()

_ACTIONS: Mapping[Stage, tuple[str, ...]] = {
    Stage.BEFORE_LLM: ("continue", "modify", "abort_turn", "hard_abort"),
    Stage.AFTER_LLM: ("continue", "modify", "abort_turn", "hard_abort"),
    Stage.BEFORE_TOOL: ("continue", "modify", "respond", "deny_tool", "abort_turn", "hard_abort"),
    Stage.AFTER_TOOL: ("continue", "modify", "abort_turn", "hard_abort"),
}
_OBJECT: Mapping[Stage, str] = {
    Stage.BEFORE_LLM: "request",
    Stage.AFTER_LLM: "response",
    Stage.BEFORE_TOOL: "call",
    Stage.AFTER_TOOL: "result",
}
_CONTINUES = {"action": "continue"}
_KNOWN: frozenset[str] = frozenset({"action", "reason", "request", "response", "call", "result"})


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
            return Modify(_parse_changes(stage, members))
        case "respond" if stage is Stage.BEFORE_TOOL:
            return _parse_respond(members)
        case "deny_tool" if stage is Stage.BEFORE_TOOL:
            return Deny(_reason(members))
        case "abort_turn" | "hard_abort" as action:
            return Abort(_reason(members), hard=action == "hard_abort")
        case str(action):
            raise BadMessage(f"action {action[:80]!r} is not one of {', '.join(_ACTIONS[stage])} at {stage}")
        case other:
            raise BadMessage(f"action must be a string, not {kind_of(other)}")


def _parse_continue(members: dict[str, Any]) -> Continue:
    unknown = [name for name in members if name not in _KNOWN]
    if unknown and not members.get("action"):
        raise BadMessage(f"no action, but the unknown member {_near_miss(unknown[0], _KNOWN)}")
    ignored = tuple(name for name in members if name not in ("action", "reason"))
    return Continue(ignored) if ignored else CONTINUE


def _near_miss(name: str, known: Set[str]) -> str:
    lower = name.lower()
    return f"{name!r} (did you mean {lower!r}?)" if lower in known and lower != name else repr(name[:80])


def _reason(members: dict[str, Any]) -> str:
    return text(members, "reason", "result", "")


# --- the objects of modify and respond ----------------------------------------------------------------------


def _empty_object_for_null(value: object) -> object:
    return {} if value is None else value


class _CallPatch(Patch):
    name: str | None = Field(None, alias="tool", min_length=1)
    arguments: Annotated[dict[str, Any], BeforeValidator(_empty_object_for_null)] = Field(
        default_factory=dict[str, Any]
    )


class _RequestPatch(Patch):
    model: str | None = Field(None, min_length=1)
    options: dict[str, Any] | None = None
    messages: Any = None
    tools: Any = None


class _ReplyPatch(Patch):
    content: str | None = None
    finish_reason: str | None = None
    reasoning: str | None = Field(None, alias="reasoning_content")
    tool_calls: Any = None


class _Fault(Patch):
    kind: FaultKind = "unknown"
    op: str = ""
    reason: str = ""
    denied_by: str = ""


class _ResultPatch(Patch):
    for_llm: str | None = None
    for_user: str | None = None
    silent: bool | None = None
    is_error: bool | None = None
    is_async: bool | None = Field(None, alias="async")
    media: Texts | None = None
    artifact_tags: Texts | None = None
    response_handled: bool | None = None
    error: _Fault | None = None


def _parse_changes(stage: Stage, members: dict[str, Any]) -> Mapping[str, Any]:
    name = _OBJECT[stage]
    given = members.get(name)
    if given is None:
        raise BadMessage(f"modify without {name!r}")
    if not isinstance(given, dict):
        raise BadMessage(f"{name} must be an object, not {kind_of(given)}")
    patch = cast("dict[str, Any]", given)
    match stage:
        case Stage.BEFORE_LLM:
            return _request_changes(patch)
        case Stage.AFTER_LLM:
            return _reply_changes(_unnested(patch, "response", _ReplyPatch))
        case Stage.BEFORE_TOOL:
            return _call_changes(patch)
        case _:
            return _result_changes(_unnested(patch, "result", _ResultPatch))


def _request_changes(patch: dict[str, Any]) -> dict[str, Any]:
    _refuse_strange(patch, "request", _RequestPatch)
    changes = checked(_RequestPatch, patch, "request").changes()
    if "messages" in changes:
        changes["messages"] = parse_messages(changes["messages"], "request.messages")
    if "tools" in changes:
        changes["tools"] = parse_tools(changes["tools"], "request.tools")
    return changes


def _call_changes(patch: dict[str, Any]) -> dict[str, Any]:
    _refuse_strange(patch, "call", _CallPatch)
    return checked(_CallPatch, patch, "call").changes()


def _reply_changes(patch: dict[str, Any]) -> dict[str, Any]:
    changes = checked(_ReplyPatch, patch, "response").changes()
    if "tool_calls" in patch:
        changes["tool_calls"] = parse_proposed(patch["tool_calls"], "response.tool_calls")
    return changes


def _result_changes(patch: dict[str, Any]) -> dict[str, Any]:
    changes = checked(_ResultPatch, patch, "result").changes()
    if "error" in changes:
        fault: _Fault = changes["error"]
        changes["error"] = Fault(fault.kind, fault.op, fault.reason, fault.denied_by)
    if "for_llm" in changes:
        changes["for_llm"] = changes["for_llm"] or NO_OUTPUT
    return changes


def _unnested(patch: dict[str, Any], name: str, model: type[Patch]) -> dict[str, Any]:
    """The page's reader writes the object flat, picoclaw's own code nests it under its own name; both are taken."""
    inner = patch.get(name)
    if isinstance(inner, dict):
        return cast("dict[str, Any]", inner)
    if not patch:
        raise BadMessage(f"{name} is empty")
    _refuse_strange(patch, name, model)
    return patch


def _refuse_strange(patch: dict[str, Any], name: str, model: type[Patch]) -> None:
    """An object of unknown members alone is a spelling mistake; a guard's edit must not be lost without a word."""
    known = {field.alias or key for key, field in model.model_fields.items()}
    if patch and not known & patch.keys():
        raise BadMessage(f"{name} names no member of a {name}, but {_near_miss(next(iter(patch)), known)}")


def _parse_respond(members: dict[str, Any]) -> Respond:
    given = members.get("result")
    if not isinstance(given, dict):
        raise BadMessage("respond without 'result'")
    patch = cast("dict[str, Any]", given)
    result = replace(
        ToolResult(NO_OUTPUT), **_result_changes(_unnested(patch, "result", _ResultPatch) if patch else patch)
    )
    call: object = members.get("call")
    if call is None:
        return Respond(result)
    if not isinstance(call, dict):
        raise BadMessage(f"call must be an object, not {kind_of(call)}")
    return Respond(result, _call_changes(cast("dict[str, Any]", call)))


# --- approvals ----------------------------------------------------------------------------------------------


class _Ask(Patch):
    title: str | None = None
    text: str | None = None
    approvers: Texts | None = None
    ttl_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


_APPROVAL: frozenset[str] = frozenset({"approved", "reason", "ask"})


class _Approval(Patch):
    approved: bool | None = None
    reason: str | None = None
    ask: _Ask | None = None


def _parse_approval(members: dict[str, Any]) -> Answer:
    """An empty result refuses; `approved` counts only as the JSON value true; refuse beats ask beats approve."""
    unknown = next((name for name in members if name not in _APPROVAL), None)
    if unknown is not None and not {"approved", "ask"} & members.keys():
        raise BadMessage(f"neither 'approved' nor 'ask', but the unknown member {_near_miss(unknown, _APPROVAL)}")
    approval = checked(_Approval, members, "result")
    if approval.approved is False or (approval.approved is None and approval.ask is None):
        return Refuse(approval.reason or "")
    if approval.ask is not None:
        ask = approval.ask
        return Ask(ask.title or "", ask.text or "", ask.approvers or (), ask.ttl_s)
    return Approve()
