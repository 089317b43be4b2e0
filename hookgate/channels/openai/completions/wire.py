"""A request for a chat completion as clients send it: what it has to be. Reads no socket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from hookgate.channels.openai.errors import bad_request
from hookgate.channels.openai.wire import (
    MOST_STOPS,
    Function,
    Messages,
    Parts,
    Tools,
    WireModel,
    check_size,
    validated,
)


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
    content: str | Parts[Part] | None = None
    tool_calls: Tools[Call] | None = None
    tool_call_id: str | None = None


class FunctionTool(WireModel):
    type: Literal["function"]
    function: Function


class StreamOptions(WireModel):
    include_usage: bool | None = None


class CompletionRequest(WireModel):
    model: str
    messages: Messages[ChatMessage]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: Tools[FunctionTool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    functions: Any = None
    n: int | None = None
    logprobs: bool | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    stop: str | Annotated[list[str], Field(max_length=MOST_STOPS, fail_fast=True)] | None = None
    seed: int | None = None
    response_format: dict[str, Any] | None = None
    reasoning_effort: str | None = None
    user: str | None = None
    metadata: dict[str, Any] | None = None
    session_id: str | None = None
    conversation: str | dict[str, Any] | None = None


def read_completion_request(body: Mapping[str, Any]) -> CompletionRequest:
    """Raises ApiError."""
    check_size(body, "messages")
    request = validated(CompletionRequest, body)
    if request.n not in (None, 1):
        raise bad_request("only one choice is made here: n has to be 1", "n")
    if request.logprobs:
        raise bad_request("there are no logprobs here", "logprobs")
    if request.functions is not None:
        raise bad_request("functions are given as tools: [{type: function, function: ...}]", "functions")
    return request
