"""The objects inside a hook's answer: what `modify`, `respond` and an approval carry, checked member by member."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, ConfigDict, Field

from hookgate.protocol.dataclasses import replace
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.answers import NO_OUTPUT, ReplyWith
from hookgate.protocol.hook.kinds import kind_of, near_miss
from hookgate.protocol.hook.patches import Patch, Texts, checked
from hookgate.protocol.hook.stages import MESSAGE_STAGES, Stage
from hookgate.protocol.hook.wire import parse_messages, parse_proposed, parse_tools
from hookgate.protocol.values import Fault, FaultKind, ToolResult
from hookgate.protocol.values.effects import read_effects

OBJECTS: Mapping[Stage, str] = {
    Stage.ON_MESSAGE: "message",
    Stage.BEFORE_LLM: "request",
    Stage.AFTER_LLM: "response",
    Stage.BEFORE_TOOL: "call",
    Stage.AFTER_TOOL: "result",
    Stage.BEFORE_SEND: "message",
}


def _empty_object_for_null(value: object) -> object:
    return {} if value is None else value


class CallPatch(Patch):
    name: str | None = Field(None, alias="tool", min_length=1)
    arguments: Annotated[dict[str, Any], BeforeValidator(_empty_object_for_null)] = Field(
        default_factory=dict[str, Any]
    )


class MessagePatch(Patch):
    text: str | None = None
    media: Texts | None = None


class RequestPatch(Patch):
    model: str | None = Field(None, min_length=1)
    options: dict[str, Any] | None = None
    messages: Any = None
    tools: Any = None


class ReplyPatch(Patch):
    content: str | None = None
    finish_reason: str | None = None
    reasoning: str | None = Field(None, alias="reasoning_content")
    tool_calls: Any = None


class FaultPatch(Patch):
    kind: FaultKind = "unknown"
    op: str = ""
    reason: str = ""
    denied_by: str = ""
    retry_after_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class ResultPatch(Patch):
    for_llm: str | None = None
    for_user: str | None = None
    silent: bool | None = None
    is_error: bool | None = None
    is_async: bool | None = Field(None, alias="async")
    media: Texts | None = None
    artifact_tags: Texts | None = None
    response_handled: bool | None = None
    error: FaultPatch | None = None
    data: Any = None


def read_changes(stage: Stage, members: dict[str, Any]) -> Mapping[str, Any]:
    """The fields that a `modify` names, with their new values. Raises BadMessage."""
    name = OBJECTS[stage]
    given = members.get(name)
    if given is None:
        raise BadMessage(f"modify without {name!r}")
    if not isinstance(given, dict):
        raise BadMessage(f"{name} must be an object, not {kind_of(given)}")
    patch = cast("dict[str, Any]", given)
    match stage:
        case _ if stage in MESSAGE_STAGES:
            return _message_changes(patch, name)
        case Stage.BEFORE_LLM:
            return _request_changes(patch)
        case Stage.AFTER_LLM:
            return _reply_changes(_unnested(patch, "response", ReplyPatch))
        case Stage.BEFORE_TOOL:
            return _call_changes(patch)
        case _:
            return _result_changes(_unnested(patch, "result", ResultPatch))


def _message_changes(patch: dict[str, Any], name: str) -> dict[str, Any]:
    _refuse_strange(patch, name, MessagePatch)
    return checked(MessagePatch, patch, name).changes()


def _request_changes(patch: dict[str, Any]) -> dict[str, Any]:
    _refuse_strange(patch, "request", RequestPatch)
    changes = checked(RequestPatch, patch, "request").changes()
    if "messages" in changes:
        changes["messages"] = parse_messages(changes["messages"], "request.messages")
    if "tools" in changes:
        changes["tools"] = parse_tools(changes["tools"], "request.tools")
    return changes


def _call_changes(patch: dict[str, Any]) -> dict[str, Any]:
    _refuse_strange(patch, "call", CallPatch)
    return checked(CallPatch, patch, "call").changes()


def _reply_changes(patch: dict[str, Any]) -> dict[str, Any]:
    changes = checked(ReplyPatch, patch, "response").changes()
    if "tool_calls" in patch:
        changes["tool_calls"] = parse_proposed(patch["tool_calls"], "response.tool_calls")
    return changes


def _result_changes(patch: dict[str, Any]) -> dict[str, Any]:
    changes = checked(ResultPatch, patch, "result").changes()
    if "error" in changes:
        fault: FaultPatch = changes["error"]
        changes["error"] = Fault(fault.kind, fault.op, fault.reason, fault.denied_by, fault.retry_after_s)
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
        raise BadMessage(f"{name} names no member of a {name}, but {near_miss(next(iter(patch)), known)}")


def read_result(members: dict[str, Any]) -> tuple[ToolResult, tuple[str, ...]]:
    """The result of a `respond`, and what was wrong with effects that it claims, which are then dropped.

    What it leaves out has its usual value. Raises BadMessage.
    """
    given = members.get("result")
    if not isinstance(given, dict):
        raise BadMessage("respond without 'result'")
    patch = cast("dict[str, Any]", given)
    flat = _unnested(patch, "result", ResultPatch) if patch else patch
    effects, problems = read_effects(flat.get("effects"))
    return replace(ToolResult(NO_OUTPUT, effects=effects), **_result_changes(flat)), problems


def read_reply(members: dict[str, Any]) -> ReplyWith:
    """Raises BadMessage where the reply says nothing."""
    given = members.get("reply")
    if not isinstance(given, dict):
        raise BadMessage("respond without 'reply'")
    said = _message_changes(cast("dict[str, Any]", given), "reply")
    if not said.get("text") and not said.get("media"):
        raise BadMessage("reply has neither text nor media")
    return ReplyWith(said.get("text", ""), said.get("media", ()))


def read_call(members: dict[str, Any]) -> Mapping[str, Any]:
    """What a `respond` says was called, where it says so. Raises BadMessage."""
    call: object = members.get("call")
    if call is None:
        return {}
    if not isinstance(call, dict):
        raise BadMessage(f"call must be an object, not {kind_of(call)}")
    return _call_changes(cast("dict[str, Any]", call))


class AskPatch(Patch):
    """A member that is not known may have said who alone decides: it is a failure."""

    model_config = ConfigDict(extra="forbid")
    title: str | None = None
    text: str | None = None
    approvers: Texts | None = None
    ttl_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    required: Annotated[int, Field(ge=1, le=100)] | None = None
    self_approval: bool | None = None


class ApprovalPatch(Patch):
    approved: bool | None = None
    reason: str | None = None
    ask: AskPatch | None = None


def read_approval(members: dict[str, Any]) -> ApprovalPatch:
    """Raises BadMessage, also where `approved` is not a JSON boolean."""
    return checked(ApprovalPatch, members, "result")
