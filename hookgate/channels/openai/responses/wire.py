"""A request for a response as clients send it, after Open Responses: what it has to be. Reads no socket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from hookgate.channels.openai.errors import bad_request
from hookgate.channels.openai.wire import NAME, Function, Messages, Parts, Tools, WireModel, check_size, validated


class InputPart(WireModel):
    type: str
    text: str | None = None
    image_url: str | None = None


class Item(WireModel):
    """Of any type: which members it needs is said by that."""

    type: str = "message"
    id: str | None = None
    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: str | Parts[InputPart] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    output: str | Parts[InputPart] | None = None
    error: Any = None


class ResponseTool(Function):
    type: Literal["function"]
    name: Annotated[str, Field(pattern=NAME)]


class Reasoning(WireModel):
    effort: str | None = None


class TextFormat(WireModel):
    format: dict[str, Any] | None = None


class ResponseRequest(WireModel):
    model: str
    input: str | Messages[Item]
    instructions: str | None = None
    previous_response_id: str | None = None
    stream: bool | None = None
    store: bool | None = None
    background: bool | None = None
    tools: Tools[ResponseTool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    reasoning: Reasoning | None = None
    text: TextFormat | None = None
    metadata: dict[str, Any] | None = None


def read_response_request(body: Mapping[str, Any]) -> ResponseRequest:
    """Raises ApiError."""
    check_size(body, "input")
    request = validated(ResponseRequest, body)
    if request.background:
        raise bad_request("nothing is answered in the background here: leave it out, or stream", "background")
    return request
