"""Results, calls and requests as anybody but the tool itself may see them. Knows no secret; the redactor does."""

from __future__ import annotations

from typing import cast

from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.interfaces import Redactor, Replacing
from hookgate.protocol.values import Fault, JsonObject, ToolCall, ToolResult
from hookgate.protocol.values.effects import redacted_effect


def redacted(redactor: Redactor, result: ToolResult) -> ToolResult:
    """The same object where nothing in it is secret."""
    for_llm, for_user = redactor.text(result.for_llm), result.for_user and redactor.text(result.for_user)
    data = redactor.value(result.data) if result.data is not None else None
    # Most results are a text and nothing else, and every call has one.
    plain = result.error is None and not (result.effects or result.media or result.artifact_tags)
    if plain and data is result.data and (for_llm, for_user) == (result.for_llm, result.for_user):
        return result
    after = replace(
        result,
        for_llm=for_llm,
        for_user=for_user,
        data=data,
        error=_fault(redactor, result.error),
        effects=tuple(redacted_effect(redactor.text, effect) for effect in result.effects),
        media=tuple(url if url.startswith("data:") else redactor.text(url) for url in result.media),
        artifact_tags=tuple(redactor.text(tag) for tag in result.artifact_tags),
    )
    return result if after == result else after


def _fault(redactor: Redactor, fault: Fault | None) -> Fault | None:
    return replace(fault, op=redactor.text(fault.op), reason=redactor.text(fault.reason)) if fault else None


def presentable(replacing: Replacing, call: ToolCall) -> ToolCall:
    """The call without secrets in its name and arguments; the same object where there are none."""
    name, arguments = replacing.text(call.name), replacing.value(call.arguments)
    if name == call.name and (arguments is call.arguments or arguments == call.arguments):
        return call
    return replace(call, name=name, arguments=cast("JsonObject", arguments))


def presentable_request(replacing: Replacing, request: ApprovalRequest) -> ApprovalRequest:
    """The request as it is shown first, with the true one in it; the same object where there is nothing to hide."""
    shown = replace(
        request,
        call=presentable(replacing, request.call),
        title=replacing.text(request.title),
        text=replacing.text(request.text),
        always=replacing.text(request.always),
    )
    return request if shown == request else replace(shown, unredacted=request)
