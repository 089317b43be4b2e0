"""What one gateway tells another of a chat, as values and as JSON: pieces of answers, messages, events."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, cast

from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import INSIDE
from hookgate.protocol.events.payload import Payload
from hookgate.protocol.events.payloads import PAYLOADS, TurnEnd, TurnStart
from hookgate.protocol.members import plain, reader
from hookgate.protocol.values import Step


@dataclass(frozen=True, slots=True)
class Streamed:
    """A piece of an answer; `ended`: another paragraph comes; `void`: what came so far is no answer."""

    chat: Chat
    text: str
    what: Literal["piece", "ended", "void"] = "piece"


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that is in its chat; `key`: its row."""

    outbound: Outbound
    key: str


Item = Streamed | Sent | Event


def begins(item: Item) -> bool:
    """Whether a turn of the chat itself does."""
    return _of_turn(item, TurnStart)


def ends(item: Item) -> bool:
    return _of_turn(item, TurnEnd)


def _of_turn(item: Item, kind: type[Payload]) -> bool:
    if not isinstance(item, Event) or item.step is None:
        return False
    return isinstance(item.payload, kind) and not item.step.parent_turn_id


def joined(items: list[Item]) -> list[Item]:
    """With pieces that follow each other in one."""
    found: list[Item] = []
    pieces: list[str] = []
    for item in items:
        last = found[-1] if found else None
        if isinstance(item, Streamed) and item.what == "piece":
            pieces.append(item.text)
            if not (isinstance(last, Streamed) and last.what == "piece" and last.chat == item.chat):
                found.append(item)
                pieces = [item.text]
            continue
        _close(found, pieces)
        pieces = []
        found.append(item)
    _close(found, pieces)
    return found


def _close(found: list[Item], pieces: list[str]) -> None:
    if pieces and isinstance(last := found[-1], Streamed):
        found[-1] = replace(last, text="".join(pieces))


# --- as JSON ------------------------------------------------------------------------------------------------


def packed(items: list[Item]) -> str:
    return encode([_packed(it) for it in joined(items)]).decode()


def _packed(item: Item) -> list[object]:
    match item:
        case Streamed():
            return ["streamed", plain(item)]
        case Sent():
            return ["sent", plain(item)]
        case Event():
            step = None if item.step is None else plain(item.step)
            return ["event", item.kind, plain(item.payload), step, item.number, item.time_ns]


def unpacked(text: str) -> list[Item]:
    """What only a newer hookgate knows is left out. Raises ValueError, KeyError and TypeError."""
    found = (_unpacked(it) for it in decode(text))
    return [it for it in found if it is not None]


def _unpacked(told: list[Any]) -> Item | None:
    match told:
        case ["streamed", members]:
            return cast("Streamed", reader(Streamed)(members))
        case ["sent", members]:
            return cast("Sent", reader(Sent)(members))
        case ["event", str(kind), members, step, int(number), int(time_ns)] if kind in _kinds():
            return Event(reader(_kinds()[kind])(members), _step(step), number, time_ns)
        case _:
            return None


@cache
def _kinds() -> Mapping[str, type[Payload]]:
    return {it.kind: it for it in (*PAYLOADS, *INSIDE)}


def _step(members: dict[str, Any] | None) -> Step | None:
    if members is None:
        return None
    own = {"inbound": reader(Inbound)(members["inbound"]), "roles": tuple(members["roles"])}
    return Step(**cast("dict[str, Any]", {**members, **own}))
