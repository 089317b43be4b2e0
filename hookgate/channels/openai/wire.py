"""What both of OpenAI's ways to ask have in common on the wire, and how what is wrong with a request is named.

Members that nobody knows here are left alone; a wrong type is refused with the member's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hookgate.channels.openai.errors import bad_request

NAME = r"^[A-Za-z0-9_-]{1,64}$"
MOST_MESSAGES, MOST_PARTS, MOST_TOOLS, MOST_STOPS = 4096, 256, 128, 16
MOST_IN_ALL = 16_384
"""Parts and calls of all messages: while they are validated nothing else is done here."""
Item = TypeVar("Item")
Parts = Annotated[list[Item], Field(max_length=MOST_PARTS, fail_fast=True)]
"""Of one message; what is wrong with the first that is wrong is all that is looked for."""
Tools = Annotated[list[Item], Field(max_length=MOST_TOOLS, fail_fast=True)]
Messages = Annotated[list[Item], Field(min_length=1, max_length=MOST_MESSAGES, fail_fast=True)]
DONE = b"data: [DONE]\n\n"
"""The end of a stream."""
Wire = TypeVar("Wire", bound=BaseModel)


class WireModel(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class Function(WireModel):
    name: Annotated[str, Field(pattern=NAME)]
    description: str | None = None
    parameters: dict[str, Any] | None = None


def check_size(body: Mapping[str, Any], name: str) -> None:
    """Raises ApiError."""
    given, count = cast("object", body.get(name)), 0
    for it in cast("list[object]", given)[:MOST_MESSAGES] if isinstance(given, list) else ():
        if isinstance(it, dict):
            members = cast("dict[str, object]", it)
            values = (members.get("content"), members.get("output"), members.get("tool_calls"))
            count += sum(len(cast("list[object]", value)) for value in values if isinstance(value, list))
    if count > MOST_IN_ALL:
        raise bad_request(f"more than {MOST_IN_ALL} parts and calls", name)


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
