"""A stage call read back from its params: the question that a recorded line is, asked as it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from hookgate.protocol.chat import Chat, ChatMessage, Inbound
from hookgate.protocol.codec import encode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.changes import read_result
from hookgate.protocol.hook.kinds import kind_of
from hookgate.protocol.hook.stages import MESSAGE_STAGES, Question, Stage, Subject
from hookgate.protocol.hook.wire import parse_messages, parse_proposed, parse_tools, strings, text
from hookgate.protocol.values import Finished, LLMReply, LLMRequest, Step, ToolCall

Members = Mapping[str, Any]


def read_question(stage: Stage, params: Members) -> Question:
    """A hook is asked with these very params, members that hookgate does not know included; `deadline_ms` is the
    new call's own. Raises BadMessage where what the stage is about is not there."""
    question = Question(stage, _step(params), _subject(stage, params))
    asked = {name: value for name, value in params.items() if name != "deadline_ms"}
    question.encoded.append((encode(asked)[:-1],))
    return question


def _step(params: Members) -> Step:
    meta, context = _object(params, "meta"), _object(params, "context")
    inbound = _object(context, "inbound")
    known = {**inbound, **{name: params[name] for name in ("channel", "chat_id") if name in params}}
    said = {name: text(known, name, "context.inbound", "") for name in _OF_CHAT}
    chat = Chat(*(said[name] for name in _WHERE))
    iteration = meta.get("Iteration", 0)
    return Step(
        text(meta, "AgentID", "meta", ""),
        text(meta, "TurnID", "meta", ""),
        Inbound(chat, "", message_id=said["message_id"]),
        iteration if isinstance(iteration, int) else 0,
        text(meta, "ParentTurnID", "meta", ""),
        text(params, "model", "params", ""),
        extension=text(context, "extension", "context", ""),
        resumed=context.get("resumed") is True,
        kind=said["kind"],
        roles=strings(inbound.get("roles"), "context.inbound.roles"),
    )


_WHERE = ("channel", "chat_id", "sender_id", "chat_type", "topic_id", "account")
_OF_CHAT = (*_WHERE, "message_id", "kind")


def _subject(stage: Stage, params: Members) -> Subject:
    match stage:
        case _ if stage in MESSAGE_STAGES:
            return _message(_object(params, "message", needed=True), params)
        case Stage.BEFORE_LLM:
            return LLMRequest(
                text(params, "model", "params"),
                parse_messages(params.get("messages"), "params.messages"),
                parse_tools(params.get("tools") or [], "params.tools"),
                _object(params, "options"),
                params.get("graceful_terminal") is True,
            )
        case Stage.AFTER_LLM:
            return _reply(text(params, "model", "params", ""), _object(params, "response", needed=True))
        case Stage.AFTER_TOOL:
            _object(params, "result", needed=True)
            duration = params.get("duration", 0)
            result = read_result({"result": params["result"]})[0]
            return Finished(_call(params), result, duration if isinstance(duration, int) else 0)
        case _:
            return _call(params)


def _message(message: Members, params: Members) -> ChatMessage:
    kind = cast("Literal['message']", text(message, "kind", "message", "message"))
    media = strings(message.get("media"), "message.media")
    ids = text(message, "message_id", "message", ""), text(params, "in_reply_to", "params", "")
    return ChatMessage(text(message, "text", "message"), media, kind, *ids)


def _reply(model: str, response: Members) -> LLMReply:
    return LLMReply(
        model,
        text(response, "content", "response", ""),
        parse_proposed(response.get("tool_calls"), "response.tool_calls"),
        text(response, "finish_reason", "response", ""),
        reasoning=text(response, "reasoning_content", "response", ""),
    )


def _call(params: Members) -> ToolCall:
    arguments = _object(params, "arguments", needed=True)
    return ToolCall(text(params, "tool_call_id", "params", ""), text(params, "tool", "params"), arguments)


def _object(members: Members, name: str, *, needed: bool = False) -> dict[str, Any]:
    value = members.get(name)
    if value is None and not needed:
        return {}
    if not isinstance(value, dict):
        raise BadMessage(f"{name} must be an object, not {kind_of(value)}")
    return cast("dict[str, Any]", value)
