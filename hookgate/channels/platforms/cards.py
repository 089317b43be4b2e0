"""An approval request as a message with buttons, and what became of it. Pure.

The data of a button is the request's id, which is random, and what pressing it says: who may say so is asked of the
gateway, never of the button.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from hookgate.channels import outcome
from hookgate.channels.platforms.units import units
from hookgate.channels.printable import MAX_NAME_CHARS, named, visible
from hookgate.protocol.approval import GRANTS, ApprovalRequest, Decision, Grant, RequestState
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.journal.decisions import Standing

MOST = 3500
"""Units of what others have written, where a platform takes 4096 with our own words."""
LESS = (2500, 1500, 900, 400)
"""Where that, with what it takes to show it as it is, is more than a platform takes."""
LEAST = 240
UNCUT = 1 << 40
MOST_ARGUMENTS = 12
DENY = "no"
MARKS: Mapping[RequestState, str] = {"approved": "✅", "spent": "✅", "expired": "⌛"}
WORDS: dict[Grant, str] = {
    "once": "Allow",
    "session": "Allow in this chat",
    "1h": "Allow for 1 h",
    "always": "Always",
}
_DATA = re.compile(rf"a:([0-9A-Za-z_-]{{1,48}}):({'|'.join((*GRANTS, DENY))})")


Keyboard = Sequence[Sequence[tuple[str, str]]]
"""Rows of buttons, each its text and its data."""


def keyboard(request: ApprovalRequest) -> Keyboard:
    further = [(WORDS[grant], _data(request.id, grant)) for grant in request.grants if grant != "once"]
    rows = [[(WORDS["once"], _data(request.id, "once")), ("Deny", _data(request.id, DENY))], further]
    return [row for row in rows if row]


def _data(request: str, says: str) -> str:
    return f"a:{request}:{says}"


def pressed(data: str, by: str) -> tuple[str, Decision] | None:
    """The request and what is said of it; None where it is no button of a card."""
    found = _DATA.fullmatch(data)
    if found is None:
        return None
    grant = GRANTS.get(found[2])
    refused = Decision(False, by)
    return found[1], refused if grant is None else Decision(True, by, grant=grant)


@dataclass(frozen=True, slots=True)
class Card:
    """What stands on it, each piece for its own place; what is too long is its head and its tail, its length, and how
    to read all of it. `lines`: whose call it is, what it means. `arguments`: by name."""

    title: str
    lines: tuple[str, ...]
    arguments: tuple[tuple[str, str], ...]
    outcome: str = ""

    @property
    def text(self) -> str:
        arguments = (f"{name}:\n{value}" for name, value in self.arguments)
        return "\n\n".join(filter(None, (self.title, "\n".join(self.lines), *arguments, self.outcome)))


def fitting(request: ApprovalRequest, became: str, fits: Callable[[Card], bool]) -> Card:
    """The one that shows the most of those that fit. On each every argument has its name, or it says how many there
    are and how to read them."""
    cards = (card(request, became, most) for most in (MOST, *LESS))
    return next(filter(fits, cards), None) or _counted(request, became)


def is_whole(shown: Card, request: ApprovalRequest) -> bool:
    """Whether nothing is left out of what it shows, names included."""
    names = (request.call.name, request.asked_by, request.extension, *request.call.arguments)
    whole = card(request, shown.outcome, UNCUT)
    return shown == whole and all(len(it) <= MAX_NAME_CHARS for it in names)


def _counted(request: ApprovalRequest, became: str) -> Card:
    """Short, whatever others have written."""
    least, number = card(request, became, LEAST), len(request.call.arguments)
    told = f"Its arguments ({number}) are too long to show here: /pending {request.id[:8]} shows all."
    return replace(least, lines=(*least.lines, told), arguments=())


def card(request: ApprovalRequest, became: str = "", most: int = MOST) -> Card:
    """`most`: units of what others have written."""
    whose = f", the extension {_named(request.extension, most // 8)} makes it" if request.extension else ""
    call, asked_by = _named(request.call.name, most // 8), _named(request.asked_by, most // 8)
    lines = [f"A call of {call}{whose}; {asked_by} asks."]
    if request.text:
        lines.append(_cut(visible(request.text), most // 4, request.id))
    if request.always:
        lines.append(f"Always would be for {_cut(visible(request.always), most // 8, request.id)}")
    title = _cut(visible(request.title), most // 8, request.id)
    outcome = became if len(became) <= most // 2 else f"{became[: most // 2]}..."
    return Card(title, tuple(lines), tuple(_arguments(request, most // 2)), outcome)


def _arguments(request: ApprovalRequest, room: int) -> Iterator[tuple[str, str]]:
    """In this room, names and what they stand for, the short ones whole."""
    arguments = request.call.arguments
    if len(arguments) > MOST_ARGUMENTS:
        yield f"all {len(arguments)} arguments", _cut(visible(_text(arguments)), room, request.id)
        return
    shares = _shares([units(named(name)) for name in arguments], room // 2)
    names = [_named(name, share) for name, share in zip(arguments, shares, strict=True)]
    texts = [visible(_text(value)) for value in arguments.values()]
    shares = _shares([units(text) for text in texts], room - sum(map(units, names)))
    for name, share, text in zip(names, shares, texts, strict=True):
        yield name, _cut(text, share, request.id) or '""'


def _shares(sizes: Sequence[int], room: int) -> Sequence[int]:
    """Of the room for each: what it takes, or as much as all others that take more."""
    shares = [0] * len(sizes)
    for rank, n in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        shares[n] = max(room, 0) // (len(sizes) - rank)
        room -= min(sizes[n], shares[n])
    return shares


def _named(name: str, most: int) -> str:
    shown = named(name)
    return shown if units(shown) <= most else f"{shown[:most]}...({len(name)}_characters)"


def _text(value: object) -> str:
    return value if isinstance(value, str) else encode(value).decode("utf-8", "replace")


def _cut(text: str, most: int, request: str) -> str:
    if units(text) <= most:
        return text
    head, tail = text[: most // 3], text[len(text) - most // 6 :]
    left = len(text) - len(head) - len(tail)
    return f"{head}\n[... {left:,} of {len(text):,} characters more: /pending {request[:8]} shows all ...]\n{tail}"


def became(standing: Standing) -> str:
    """One line; empty while it waits and nobody has said anything."""
    line = outcome.became(standing)
    return line if standing.state == "open" else f"{MARKS.get(standing.state, '❌')} {line}"
