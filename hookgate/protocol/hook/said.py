"""An answer as JSON, in the words of the page, whoever gave it and in whichever of its spellings: for records, and
for comparing two answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from hookgate.protocol.hook.answers import (
    Abort,
    Answer,
    Ask,
    Deny,
    Drop,
    Failed,
    Modify,
    Refuse,
    ReplyWith,
    Respond,
)
from hookgate.protocol.hook.wire import (
    WIRE_NAMES,
    message_members,
    proposed_members,
    result_members,
    tool_members,
)
from hookgate.protocol.values import Fault, Message, ProposedCall, ToolSpec


def answer_members(answer: Answer) -> dict[str, object]:
    """`action`, and what belongs to it: `reason`, `changes`, `result`, `reply`, `tell`, `ask`."""
    return {"action": answer.action, **_rest(answer)}


def _rest(answer: Answer) -> dict[str, object]:
    match answer:
        case Modify(changes=changes):
            return {"changes": changed_members(changes)}
        case Respond(result=result, call=call):
            return {"result": result_members(result), **({"call": changed_members(call)} if call else {})}
        case ReplyWith(text=text, media=media):
            return {"reply": {"text": text, "media": media}}
        case Ask():
            return {"ask": {name: value for name, value in asdict(answer).items() if value}}
        case Drop(reason=reason, tell=tell):
            return {"reason": reason} if tell is None else {"reason": reason, "tell": tell}
        case Deny(reason=reason) | Abort(reason=reason) | Refuse(reason=reason) | Failed(reason=reason):
            return {"reason": reason}
        case _:
            return {}


def changed_members(changes: Mapping[str, Any]) -> dict[str, object]:
    """What a `modify` names, in the order of the names."""
    return {WIRE_NAMES.get(name, name): _member(changes[name]) for name in sorted(changes)}


def _member(value: object) -> object:
    match value:
        case tuple():
            return [_member(item) for item in cast("tuple[object, ...]", value)]
        case Message():
            return message_members(value)
        case ToolSpec():
            return tool_members(value)
        case ProposedCall():
            return proposed_members(value)
        case Fault():
            return {name: it for name, it in asdict(value).items() if it}
        case _:
            return value
