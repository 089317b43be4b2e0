"""An approval request as a message with buttons, and what became of it. Pure.

The data of a button is the request's id, which is random, and what pressing it says: who may say so is asked of the
gateway, never of the button.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hookgate.channels import outcome
from hookgate.channels.platforms.units import units
from hookgate.channels.printable import named, visible
from hookgate.protocol.approval import GRANTS, ApprovalRequest, Decision, Grant, RequestState
from hookgate.protocol.codec import encode
from hookgate.protocol.journal.values import Standing

MOST = 3500
"""Units of what others have written, where a platform takes 4096 with our own words."""
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


def card(request: ApprovalRequest, became: str = "", most: int = MOST) -> Card:
    """`most`: units of what others have written."""
    whose = f", the extension {named(request.extension)} makes it" if request.extension else ""
    lines = [f"A call of {named(request.call.name)}{whose}; {named(request.asked_by)} asks."]
    if request.text:
        lines.append(_cut(visible(request.text), most // 4, request.id))
    if request.always:
        lines.append(f"Always would be for {_cut(visible(request.always), most // 8, request.id)}")
    title = _cut(visible(request.title), most // 8, request.id)
    return Card(title, tuple(lines), tuple(_arguments(request, most)), became)


def _arguments(request: ApprovalRequest, most: int) -> Iterator[tuple[str, str]]:
    """In the room that there is, the short ones whole."""
    arguments = request.call.arguments
    if len(arguments) > MOST_ARGUMENTS:
        arguments = {f"all {len(arguments)} arguments": arguments}
    texts = [(named(name), visible(_text(value))) for name, value in arguments.items()]
    room, shares = most // 2, [0] * len(texts)
    by_length = sorted(range(len(texts)), key=lambda it: len(texts[it][1]))
    for rank, n in enumerate(by_length):
        shares[n] = room // (len(texts) - rank)
        room -= min(units(texts[n][1]), shares[n])
    for share, (name, text) in zip(shares, texts, strict=True):
        yield name, _cut(text, share, request.id) or '""'


def _text(value: object) -> str:
    return value if isinstance(value, str) else encode(value).decode("utf-8", "replace")


def _cut(text: str, most: int, request: str) -> str:
    if units(text) <= most:
        return text
    head, tail = text[: most // 3], text[-(most // 6) :]
    left = len(text) - len(head) - len(tail)
    return f"{head}\n[... {left:,} of {len(text):,} characters more: /pending {request[:8]} shows all ...]\n{tail}"


def became(standing: Standing) -> str:
    """One line; empty while it waits and nobody has said anything."""
    line = outcome.became(standing)
    return line if standing.state == "open" else f"{MARKS.get(standing.state, '❌')} {line}"
