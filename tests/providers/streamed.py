"""What a provider has handed on while a reply came, taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hookgate.protocol.values.delta import CallPiece, Delta


def written(heard: Sequence[Delta]) -> list[tuple[str, str, str]]:
    """The calls that were told piece by piece, as (id, name, arguments): each begun, added to and ended once."""
    open_: dict[str, CallPiece] = {}
    told: dict[str, CallPiece] = {}
    for piece in heard:
        if isinstance(piece, CallPiece):
            assert piece.id in open_ or piece.id not in told
            before = open_.pop(piece.id, CallPiece(piece.id, piece.name))
            told[piece.id] = replace(piece, arguments=before.arguments + piece.arguments)
            if not piece.ended:
                open_[piece.id] = told[piece.id]
    assert not open_
    return [(call.id, call.name, call.arguments) for call in told.values()]


def words(heard: Sequence[Delta]) -> list[str]:
    return [piece for piece in heard if isinstance(piece, str)]
