"""What a request for a response says, in the words of the transcript. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hookgate.channels.openai.errors import bad_request
from hookgate.channels.openai.request_messages import BETWEEN, RequestMessages
from hookgate.channels.openai.responses.wire import InputPart, Item, ResponseRequest
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.values import Json, Message, ProposedCall

LEFT_OUT = frozenset({"reasoning"})
"""Items that clients send back as they got them, and that say nothing here."""


def read_input(request: ResponseRequest) -> RequestMessages:
    """Raises ApiError."""
    system = [request.instructions] if request.instructions else []
    if isinstance(request.input, str):
        if not request.input.strip():
            raise bad_request("nothing is said", "input")
        return RequestMessages(BETWEEN.join(system), (Message("user", request.input),))
    messages = list[Message]()
    for number, item in enumerate(request.input):
        where = f"input[{number}]"
        match item.type:
            case "message":
                said = _message(item, where)
                if said.role == "system":
                    system.append(said.content)
                else:
                    messages.append(said)
            case "function_call":
                _add_call(messages, item, where)
            case "function_call_output":
                text, media = _content(item.output, f"{where}.output")
                messages.append(
                    Message("tool", text, tool_call_id=_needed(item.call_id, f"{where}.call_id"), media=media)
                )
            case "mcp_call":
                _add_own_call(messages, item, number)
            case other if other not in LEFT_OUT:
                raise bad_request(f"an item of the type {other!r} is not taken here", f"{where}.type")
            case _:
                pass
    if not messages or messages[-1].role == "assistant" or request.input[-1].type == "mcp_call":
        raise bad_request("the last item has to be a user's message, or what a function gave", "input")
    return RequestMessages(BETWEEN.join(system), tuple(messages))


def _message(item: Item, where: str) -> Message:
    text, media = _content(item.content, f"{where}.content")
    if item.role is None or item.content is None:
        raise bad_request(
            "a message has a role and a content", f"{where}.{'role' if item.role is None else 'content'}"
        )
    if item.role == "user" and not (text.strip() or media):
        raise bad_request("a user's message has to have a content", f"{where}.content")
    role = "system" if item.role in ("system", "developer") else "user" if item.role == "user" else "assistant"
    return Message(role, text, media=media)


def _add_call(messages: list[Message], item: Item, where: str) -> None:
    """Calls of one reply stand together, behind what it says."""
    call = ProposedCall(
        *(_needed(item.call_id, f"{where}.call_id"), _needed(item.name, f"{where}.name")), item.arguments or "{}"
    )
    if messages and messages[-1].role == "assistant":
        messages[-1] = replace(messages[-1], tool_calls=(*messages[-1].tool_calls, call))
    else:
        messages.append(Message("assistant", "", (call,)))


def _add_own_call(messages: list[Message], item: Item, number: int) -> None:
    """What one of our tools did, as the client was shown it."""
    call_id = item.id or f"mcp_{number}"
    named = {"call_id": call_id, "name": _needed(item.name, f"input[{number}].name")}
    _add_call(messages, item.model_copy(update=named), f"input[{number}]")
    text, media = _content(item.output, f"input[{number}].output")
    messages.append(Message("tool", text or _error(item.error), tool_call_id=call_id, media=media, is_error=not text))


def _error(error: object) -> str:
    return error if isinstance(error, str) and error else "No result."


def _needed(value: str | None, where: str) -> str:
    if not value:
        raise bad_request("it is missing", where)
    return value


def _content(content: str | Sequence[InputPart] | None, where: str) -> tuple[str, tuple[str, ...]]:
    if content is None or isinstance(content, str):
        return content or "", ()
    texts, media = list[str](), list[str]()
    for number, part in enumerate(content):
        if part.type in ("input_text", "output_text", "text", "refusal") and part.text is not None:
            texts.append(part.text)
        elif part.type == "input_image" and part.image_url is not None:
            if not part.image_url.startswith(("data:", "https://")):
                raise bad_request("a picture comes as a data: or https: address", f"{where}[{number}].image_url")
            media.append(part.image_url)
        else:
            raise bad_request(f"a part of the type {part.type!r} is not taken here", f"{where}[{number}].type")
    return "\n".join(texts), tuple(media)


def response_options(request: ResponseRequest) -> dict[str, Json]:
    """In the words of chat completions."""
    choice, text = request.tool_choice, request.text.format if request.text is not None else None
    if isinstance(choice, dict) and choice.get("type") == "function":
        choice = {"type": "function", "function": {"name": choice.get("name")}}
    if text is not None and text.get("type") == "json_schema":
        text = {"type": "json_schema", "json_schema": {name: it for name, it in text.items() if name != "type"}}
    options: dict[str, Json] = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        "max_tokens": request.max_output_tokens,
        "parallel_tool_calls": request.parallel_tool_calls,
        "tool_choice": choice,
        "response_format": text,
        "reasoning_effort": request.reasoning.effort if request.reasoning is not None else None,
    }
    return {name: value for name, value in options.items() if value is not None}
