"""What a hook under check is asked: golden questions and events, and what to look for where it echoes them. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast

from hookgate.protocol.chat import Chat, ChatMessage, Inbound
from hookgate.protocol.codec import encode
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import LlmRequest, LlmResponse, ToolExecEnd, ToolExecStart, TurnEnd, TurnStart
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import (
    Finished,
    Json,
    LLMReply,
    LLMRequest,
    Message,
    ProposedCall,
    Step,
    ToolCall,
    ToolResult,
    ToolSpec,
)

MODEL = "scripted/check"
STEP = Step("main", "turn-1", Inbound(Chat("terminal", "check", "tester"), "ls"), model=MODEL)
PARAMETERS: Mapping[str, Json] = {
    "type": "object",
    "properties": {"command": {"type": "string"}},
    "required": ["command"],
}
BASH = ToolSpec("bash", "Run a shell command.", PARAMETERS)

NUMBER_NAME = "check_number"
NUMBER = 2**53 - 1
"""The largest integer that every JSON reader keeps, also one that reads all numbers as doubles."""
_OPENS, _CLOSES = "[check ", " check]"
ODD_TEXT = f'{_OPENS}Grüße 日本語 😀 e\u0301 "quoted" back\\slash tab\t</b> next\nline{_CLOSES}'
SEPARATED = "[\u2028] [\u2029] [\u0085]"
"""What some readers of lines take for the end of one, and JSON lets stand in a string as it is."""
_MANGLED = ("\ufffd", "Ã¼", "Gr??", "Gr?\u00dfe", "\\u00fc")


def question(stage: Stage, text: str = "ls") -> Question:
    """One stage call about a harmless `bash` call; `text` is the command, the message or the result."""
    arguments: dict[str, Json] = {"command": text, NUMBER_NAME: NUMBER}
    match stage:
        case Stage.ON_MESSAGE:
            return Question(stage, STEP, ChatMessage(text, message_id="message_1"))
        case Stage.BEFORE_SEND:
            return Question(stage, STEP, ChatMessage(text, kind="answer", in_reply_to="message_1"))
        case Stage.BEFORE_LLM:
            options: dict[str, Json] = {"temperature": 0.7, NUMBER_NAME: NUMBER}
            return Question(stage, STEP, LLMRequest(MODEL, (Message("user", text),), (BASH,), options))
        case Stage.AFTER_LLM:
            proposed = ProposedCall("call_1", BASH.name, encode(arguments).decode())
            return Question(stage, STEP, LLMReply(MODEL, text, (proposed,), "tool_calls"))
        case Stage.BEFORE_TOOL | Stage.APPROVE_TOOL:
            return Question(stage, STEP, ToolCall("call_1", BASH.name, arguments))
        case Stage.AFTER_TOOL:
            call = ToolCall("call_1", BASH.name, {"command": "ls", NUMBER_NAME: NUMBER})
            return Question(stage, STEP, Finished(call, ToolResult(text), 15_000_000))


def owned_call(spec: ToolSpec) -> Question:
    """What hookgate asks when the model calls a tool that the hook brought."""
    arguments = sample(spec.parameters)
    call = ToolCall("call_1", spec.name, arguments if isinstance(arguments, Mapping) else {})
    return Question(Stage.BEFORE_TOOL, STEP, call)


def events(count: int) -> Iterator[Event]:
    payloads = (
        TurnStart("ls", 0),
        LlmRequest(MODEL, 1, 1, 4096, 0.7),
        LlmResponse(0, 1, False),
        ToolExecStart(BASH.name, {"command": "ls"}, "call_1"),
        ToolExecEnd(BASH.name, 15_000_000, 5, 0, False, False, "call_1"),
        TurnEnd("completed", 1, 15_000_000, 5),
    )
    for number in range(1, count + 1):
        yield Event(payloads[number % len(payloads)], STEP, number, 1_750_000_000_000_000_000 + number)


def sample(schema: Json) -> Json:
    """A small value that most readers of this JSON Schema accept: required members only, references not followed."""
    match schema:
        case {"const": value} | {"default": value} | {"enum": [value, *_]} | {"examples": [value, *_]}:
            return value
        case {"anyOf": [first, *_]} | {"oneOf": [first, *_]}:
            return sample(first)
        case {"type": [kind, *_]}:
            return sample({**schema, "type": kind})
        case {"type": "object"} | {"properties": {}}:
            return _sample_object(schema)
        case {"type": "array"}:
            least = schema.get("minItems")
            return [sample(schema.get("items"))] * (least if isinstance(least, int) else 0)
        case {"type": "integer" | "number"}:
            return next((v for name in ("minimum", "maximum") if (v := schema.get(name)) is not None), 1)
        case {"type": "boolean"}:
            return False
        case {"type": "null"}:
            return None
        case _:
            return "check"


def _sample_object(schema: Mapping[str, Json]) -> Json:
    properties, required = schema.get("properties"), schema.get("required")
    known: Mapping[str, Json] = properties if isinstance(properties, Mapping) else {}
    names = required if isinstance(required, list) else []
    return {name: sample(known.get(name)) for name in names if isinstance(name, str)}


# --- echoes -------------------------------------------------------------------------------------------------


def changed_texts(result: object) -> list[str]:
    """Strings in a hook's answer that hold the odd text from end to end, but not as it was sent."""
    quoted = (encode(ODD_TEXT).decode(), json.dumps(ODD_TEXT))
    spellings = (ODD_TEXT, *(text[1:-1] for text in quoted))
    whole = (text for _, text in _leaves(result) if isinstance(text, str) and _OPENS in text and _CLOSES in text)
    return [text for text in whole if not any(spelling in text for spelling in spellings)]


def is_mangled(text: str) -> bool:
    """Whether characters were lost or read in the wrong encoding, rather than changed on purpose."""
    return any(sign in text for sign in _MANGLED)


def changed_numbers(result: object) -> list[object]:
    """What came back under the number's name and is not that integer."""
    named = (value for name, value in _leaves(result) if name == NUMBER_NAME)
    return [value for value in named if type(value) is not int or value != NUMBER]


def _leaves(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Every scalar of a JSON value, with the name of the member it stands in."""
    match value:
        case dict():
            for key, inner in cast("dict[str, object]", value).items():
                yield from _leaves(inner, key)
        case list():
            for inner in cast("list[object]", value):
                yield from _leaves(inner, name)
        case _:
            yield name, value
