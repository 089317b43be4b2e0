"""A request for a chat completion as clients send it: what it has to be, and what is wrong with one. Reads no socket.

Members that nobody knows here are left alone; a wrong type is refused with the member's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hookgate.channels.openai.errors import bad_request

NAME = r"^[A-Za-z0-9_-]{1,64}$"
MOST_MESSAGES, MOST_TOOLS = 4096, 128
Wire = TypeVar("Wire", bound=BaseModel)


class WireModel(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class ImageUrl(WireModel):
    url: str


class Part(WireModel):
    type: str
    text: str | None = None
    image_url: ImageUrl | None = None


class CalledFunction(WireModel):
    name: str
    arguments: str


class Call(WireModel):
    id: str
    function: CalledFunction


class ChatMessage(WireModel):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[Part] | None = None
    tool_calls: list[Call] | None = None
    tool_call_id: str | None = None


class Function(WireModel):
    name: Annotated[str, Field(pattern=NAME)]
    description: str | None = None
    parameters: dict[str, Any] | None = None


class FunctionTool(WireModel):
    type: Literal["function"]
    function: Function


class StreamOptions(WireModel):
    include_usage: bool | None = None


class CompletionRequest(WireModel):
    model: str
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MOST_MESSAGES)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: Annotated[list[FunctionTool], Field(max_length=MOST_TOOLS)] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    functions: list[Any] | None = None
    n: int | None = None
    logprobs: bool | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    response_format: dict[str, Any] | None = None
    reasoning_effort: str | None = None
    user: str | None = None
    metadata: dict[str, Any] | None = None
    session_id: str | None = None
    conversation: str | dict[str, Any] | None = None


def read_completion_request(body: Mapping[str, Any]) -> CompletionRequest:
    """Raises ApiError."""
    request = validated(CompletionRequest, body)
    if request.n not in (None, 1):
        raise bad_request("only one choice is made here: n has to be 1", "n")
    if request.logprobs:
        raise bad_request("there are no logprobs here", "logprobs")
    if request.functions is not None:
        raise bad_request("functions are given as tools: [{type: function, function: ...}]", "functions")
    return request


def validated(kind: type[Wire], body: Mapping[str, Any]) -> Wire:
    """Raises ApiError, which names the member."""
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        # Of a member that may have several types each is tried: the one that came furthest says what is wrong.
        found = max(error.errors(include_url=False, include_input=False), key=lambda it: len(_path(it["loc"], body)))
        raise bad_request(f"{found['msg']}", _named(_path(found["loc"], body))) from None


def _path(where: Sequence[int | str], body: object) -> tuple[int | str, ...]:
    """As far as it leads into the body, and the member that is missing there; the rest names types."""
    path, value = list[int | str](), body
    for step in where:
        if isinstance(value, Mapping) and isinstance(step, str):
            members = cast("Mapping[str, object]", value)
            if step not in members and step in _TYPES:
                break
            path.append(step)
            value = members.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(items := cast("list[object]", value)):
            path.append(step)
            value = items[step]
        else:
            break
    return tuple(path)


_TYPES = {"str", "int", "float", "bool", "dict[str,any]"}


def _named(path: Sequence[int | str]) -> str:
    """`messages[0].content`."""
    return "".join(f"[{it}]" if isinstance(it, int) else f".{it}" for it in path).removeprefix(".")
