"""Bytes to JSON values and back. Knows no message of any protocol.

Decoding keeps integers of any size exact and refuses NaN and Infinity; encoding never fails on what decoding
gave.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from math import inf
from typing import Any, Literal, NoReturn, cast

import orjson
from pydantic_core import from_json

from hookgate.protocol.errors import BadMessage


class Encoded:
    """A part of a value that is JSON already; `encode` takes it over as it stands.

    No dataclass: those orjson encodes by their fields, without asking.
    """

    __slots__ = ("text",)

    def __init__(self, text: bytes) -> None:
        self.text = text


def decode(text: bytes | str) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """One JSON value. Raises BadMessage with the parser's reason. Lone surrogates become U+FFFD."""
    try:
        value = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        if b"\\u" in (text if isinstance(text, bytes) else text.encode("utf-8", "replace")):
            value = _decode_with_surrogates(text)
        else:
            raise BadMessage(str(error)) from None
    # Both parsers read 1e999 as infinity, which encoding would turn into null.
    if not _is_finite(text, value):
        raise BadMessage("a number is too large")
    return value


def encode(value: object) -> bytes:
    """Compact UTF-8, also of integers over 64 bits and lone surrogates, which orjson refuses. Dataclasses are objects
    of their fields."""
    try:
        return orjson.dumps(value, default=_spliced)
    except TypeError:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=True, default=_unfolded).encode()


def indented(value: object) -> bytes:
    """As `encode`, for people to read; a value that only `encode` takes, as that has it."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2)
    except TypeError:
        return encode(value)


def _spliced(part: object) -> orjson.Fragment:
    return orjson.Fragment(_encoded(part).text)


def _unfolded(part: object) -> object:
    if is_dataclass(part) and not isinstance(part, type):
        return {field.name: getattr(part, field.name) for field in fields(part)}
    return json.loads(_encoded(part).text)


def _encoded(part: object) -> Encoded:
    if isinstance(part, Encoded):
        return part
    raise TypeError(f"{type(part).__name__} is not JSON")


def repeated_member(text: bytes, value: object) -> str | None:
    """A name that stands twice in one object of `text`, of which `value`, read from it, has kept the last alone.

    A colon outside strings belongs to a member, and encoding writes those inside as they are: where both have as
    many, no member is missing.
    """
    if b"\\u003" not in text and text.count(b":") == encode(value).count(b":"):
        return None
    try:
        json.loads(text, object_pairs_hook=_unrepeated)
    except _RepeatedError as error:
        return str(error)
    return None


class _RepeatedError(Exception):
    pass


def _unrepeated(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for name, value in pairs:
        if name in members:
            raise _RepeatedError(name)
        members[name] = value
    return members


def canonical(value: object) -> bytes:
    """The one spelling of a JSON value that digests are made from: sorted keys, no blanks."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")


def _decode_with_surrogates(text: bytes | str) -> Any:  # noqa: ANN401
    try:
        return _mended(json.loads(text, parse_constant=_refuse_constant))
    except (ValueError, RecursionError) as error:
        raise BadMessage(str(error)) from None


def _is_finite(text: bytes | str, value: object) -> bool:
    try:
        # Quick, and it refuses a number that is too large. It also rounds integers and refuses more than that.
        orjson.loads(text)
        return True
    except ValueError:
        pass
    waiting = [value]
    while waiting:
        item = waiting.pop()
        # Most of what there is, so it is looked for first.
        if isinstance(item, str):
            continue
        if isinstance(item, dict):
            waiting.extend(cast("dict[str, object]", item).values())
        elif isinstance(item, list):
            waiting.extend(cast("list[object]", item))
        elif isinstance(item, float) and item in (inf, -inf):
            return False
    return True


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _mended(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mended(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {_mended(k): _mended(v) for k, v in cast("dict[str, object]", value).items()}
    return value


def rfc3339(at: float, timespec: Literal["milliseconds", "microseconds"] = "milliseconds") -> str:
    """Seconds of the wall clock, as JSON has a time, in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec=timespec).replace("+00:00", "Z")
