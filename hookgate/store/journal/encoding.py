"""The protocol's values as JSON in rows, and back. Knows no table.

A member that an older hookgate did not write has its usual value; one that only a newer one knows is a StoreTooNew
by the row's format, so members may be added without a new format, and nothing else may change.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

from hookgate.protocol.catalog import StoreCorrupt, StoreTooNew
from hookgate.protocol.chat import Inbound, Outbound
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.answers import Answer, Modify
from hookgate.protocol.members import plain, reader
from hookgate.store.journal.schema import FORMAT

T = TypeVar("T")


def encoded(value: object) -> bytes:
    # A chat waits for these, and nothing in them is tagged.
    return encode(value if isinstance(value, (Inbound, Outbound)) else plain(value))


def decoded(kind: type[T], format_: int, text: bytes) -> T:
    """Raises StoreTooNew and StoreCorrupt, without the file's name."""
    return cast("T", _read(kind, format_, text))


def decoded_answer(format_: int, text: bytes) -> Answer:
    answer = cast("Answer", _read(Answer, format_, text))
    if isinstance(answer, Modify):
        # Of a message: lists in it are texts, as hooks give them.
        changes = {
            name: tuple(cast("list[str]", it)) if isinstance(it, list) else it for name, it in answer.changes.items()
        }
        return Modify(changes)
    return answer


def _read(hint: Any, format_: int, text: bytes) -> object:  # noqa: ANN401 - a type, or a union of them
    if format_ > FORMAT:
        raise StoreTooNew(f"holds rows of format {format_}, made by a newer hookgate; this one knows {FORMAT}")
    try:
        return reader(hint)(decode(text))
    except (BadMessage, KeyError, TypeError, ValueError) as error:
        raise StoreCorrupt(f"holds a row that cannot be read: {error}") from None
