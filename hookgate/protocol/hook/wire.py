"""Values as the JSON members that hooks and models see, and the small readers of the same shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from hookgate.protocol.chat import ChatMessage
from hookgate.protocol.codec import encode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.values import (
    Decode,
    LLMReply,
    Message,
    ProposedCall,
    Step,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)
from hookgate.protocol.values.effects import effect_members

if TYPE_CHECKING:
    from hookgate.protocol.hook import shapes

ROLES = ("system", "user", "assistant", "tool")

WIRE_NAMES: Mapping[str, str] = {"name": "tool", "is_async": "async", "reasoning": "reasoning_content"}
"""Fields whose JSON member is spelled otherwise; `may_modify` and events use the member."""


def meta_members(step: Step, source: str) -> shapes.Meta:
    """`meta` as on the seed page; `Iteration` counts model calls of the turn from 0."""
    return {
        "AgentID": step.agent,
        "TurnID": step.turn_id,
        "ParentTurnID": step.parent_turn_id,
        "SessionKey": step.session_key,
        "Iteration": step.iteration,
        "TracePath": "runTurn",
        "Source": source,
    }


def encoded_meta(step: Step, source: str) -> bytes:
    """`meta_members` in JSON: but for the source the same wherever in the step."""
    known = step.encoded
    if "meta" not in known:
        known["meta"] = encode(meta_members(step, "")).removesuffix(b'""}')
    return b'%b"%b"}' % (known["meta"], source.encode())


def inbound_members(step: Step) -> shapes.Inbound:
    """Who said what this turn answers, and where; empty members are left out."""
    chat = step.chat
    members: shapes.Inbound = {
        "channel": chat.channel,
        "kind": step.kind,
        "chat_id": chat.chat_id,
        "chat_type": chat.chat_type,
        "topic_id": chat.thread,
        "sender_id": chat.sender,
        "account": chat.account,
        "roles": step.roles,
        "message_id": step.inbound.message_id,
    }
    return cast("shapes.Inbound", {name: value for name, value in members.items() if value})


def context_members(step: Step, call: ToolCall | None = None) -> shapes.Context:
    """`context`; `origin` and `decode` only where a call was not native, or not strict JSON."""
    members: shapes.Context = {"inbound": inbound_members(step)}
    if call is not None and call.origin != "native":
        members["origin"] = call.origin
    if step.purpose != "turn":
        members["purpose"] = step.purpose
    if step.resumed:
        members["resumed"] = True
    if step.extension:
        members["extension"] = step.extension
    decode = decode_members(call.decode) if call is not None else None
    if decode is not None:
        members["decode"] = decode
    return members


def decode_members(decode: Decode) -> shapes.Decode | None:
    """None where the arguments were JSON as they came."""
    if decode == Decode():
        return None
    return {"steps": decode.steps, "truncated": decode.truncated, "guessed": decode.guessed}


def chat_message_members(message: ChatMessage) -> shapes.ChatMessage:
    """`message_id` only where the channel gave it one."""
    members: shapes.ChatMessage = {"text": message.text, "media": message.media, "kind": message.kind}
    if message.message_id:
        members["message_id"] = message.message_id
    return members


def message_members(message: Message) -> shapes.Message:
    members: shapes.Message = {"role": message.role, "content": message.content}
    if message.media:
        members["media"] = message.media
    if message.reasoning:
        members["reasoning_content"] = message.reasoning
    if message.tool_calls:
        members["tool_calls"] = [proposed_members(call) for call in message.tool_calls]
    if message.tool_call_id:
        members["tool_call_id"] = message.tool_call_id
    if message.is_error:
        members["is_error"] = True
    return members


def proposed_members(call: ProposedCall) -> shapes.ProposedCall:
    function: shapes.ProposedFunction = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def tool_members(spec: ToolSpec) -> shapes.Tool:
    function: shapes.ToolFunction = {
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
    }
    return {"type": "function", "function": function}


def reply_members(reply: LLMReply) -> shapes.Reply:
    members: shapes.Reply = {
        "role": "assistant",
        "content": reply.content,
        "tool_calls": [proposed_members(call) for call in reply.tool_calls],
    }
    if reply.finish_reason:
        members["finish_reason"] = reply.finish_reason
    if reply.reasoning:
        members["reasoning_content"] = reply.reasoning
    if reply.usage:
        members["usage"] = usage_members(reply.usage)
    return members


def usage_members(usage: Usage) -> shapes.Usage:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }


def result_members(result: ToolResult) -> shapes.ToolResult:
    """The page's eight members, always; `error`, `data`, `effects` and `cached` where there are any."""
    members: shapes.ToolResult = {
        "for_llm": result.for_llm,
        "for_user": result.for_user,
        "silent": result.silent,
        "is_error": result.is_error,
        "async": result.is_async,
        "media": result.media,
        "artifact_tags": result.artifact_tags,
        "response_handled": result.response_handled,
    }
    if result.error is not None:
        error: shapes.Fault = {"kind": result.error.kind, "op": result.error.op, "reason": result.error.reason}
        if result.error.denied_by:
            error["denied_by"] = result.error.denied_by
        if result.error.retry_after_s is not None:
            error["retry_after_s"] = result.error.retry_after_s
        members["error"] = error
    if result.data is not None:
        members["data"] = result.data
    if result.effects:
        members["effects"] = [effect_members(effect) for effect in result.effects]
    if result.cached:
        members["cached"] = True
    return members


def parse_messages(value: object, where: str) -> tuple[Message, ...]:
    return tuple(_message(item, f"{where}[{i}]") for i, item in enumerate(objects(value, where)))


def parse_tools(value: object, where: str) -> tuple[ToolSpec, ...]:
    """Specs as a hook wrote them; whose they are is decided by who reads them."""
    return tuple(_tool(item, f"{where}[{i}]") for i, item in enumerate(objects(value, where)))


def parse_proposed(value: object, where: str) -> tuple[ProposedCall, ...]:
    if value is None:
        return ()
    return tuple(_proposed(item, f"{where}[{i}]") for i, item in enumerate(objects(value, where)))


def objects(value: object, where: str) -> list[Mapping[str, Any]]:
    if not isinstance(value, list):
        raise BadMessage(f"{where} must be an array")
    for i, item in enumerate(cast("list[object]", value)):
        if not isinstance(item, dict):
            raise BadMessage(f"{where}[{i}] must be an object")
    return cast("list[Mapping[str, Any]]", value)


def text(members: Mapping[str, Any], name: str, where: str, default: str | None = None) -> str:
    value = members.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise BadMessage(f"{where}.{name} must be a string")
    return value


def flag(members: Mapping[str, Any], name: str, where: str) -> bool | None:
    value = members.get(name)
    if value is not None and not isinstance(value, bool):
        raise BadMessage(f"{where}.{name} must be true or false")
    return value


def _message(members: Mapping[str, Any], where: str) -> Message:
    role = text(members, "role", where)
    if role not in ROLES:
        raise BadMessage(f"{where}.role must be one of {', '.join(ROLES)}")
    content, pictures = _content(members.get("content"), where)
    return Message(
        role=role,  # type: ignore[arg-type] - checked just above
        content=content,
        tool_calls=parse_proposed(members.get("tool_calls"), f"{where}.tool_calls"),
        tool_call_id=text(members, "tool_call_id", where, ""),
        media=(*strings(members.get("media"), f"{where}.media"), *pictures),
        reasoning=text(members, "reasoning_content", where, ""),
        is_error=flag(members, "is_error", where) is True,
    )


def _content(value: object, where: str) -> tuple[str, tuple[str, ...]]:
    """A string, null, or the list of parts that some chat APIs write."""
    if value is None:
        return "", ()
    if isinstance(value, str):
        return value, ()
    parts = objects(value, f"{where}.content")
    texts = [str(part.get("text", "")) for part in parts if part.get("type") == "text"]
    pictures = [str(part["image_url"].get("url", "")) for part in parts if isinstance(part.get("image_url"), dict)]
    return "\n".join(texts), tuple(pictures)


def strings(value: object, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[object]", value)):
        raise BadMessage(f"{where} must be an array of strings")
    return tuple(cast("list[str]", value))


def _function(members: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    function = members.get("function")
    if not isinstance(function, dict):
        raise BadMessage(f"{where}.function must be an object")
    return cast("Mapping[str, Any]", function)


def _tool(members: Mapping[str, Any], where: str) -> ToolSpec:
    function = _function(members, where)
    parameters = function.get("parameters")
    if parameters is not None and not isinstance(parameters, dict):
        raise BadMessage(f"{where}.function.parameters must be an object")
    name = text(function, "name", f"{where}.function")
    if not name:
        raise BadMessage(f"{where}.function.name must not be empty")
    return ToolSpec(
        name=name,
        description=text(function, "description", f"{where}.function", ""),
        parameters=cast("Mapping[str, Any]", parameters) or {"type": "object"},
        provider="",
    )


def _proposed(members: Mapping[str, Any], where: str) -> ProposedCall:
    function = _function(members, where)
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = encode(arguments or {}).decode()
    name = text(function, "name", f"{where}.function")
    return ProposedCall(text(members, "id", where, ""), name, arguments)
