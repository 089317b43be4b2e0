"""The member `enabled` in the text of a manifest, changed without touching any other character. Pure."""

from __future__ import annotations

import json
import re

from hookgate.protocol.dataclasses import dataclass

MEMBER = "enabled"
_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class _Member:
    """Where it stands: `before` is where the blanks before its key begin."""

    name: str
    before: int
    key: int
    key_end: int
    value: int
    end: int


def switched(text: str, *, enabled: bool) -> str:
    """The same JSON object with `enabled` set; where there is none it becomes the last member, written as that is."""
    word = "true" if enabled else "false"
    members = _members(text)
    mine = [member for member in members if member.name == MEMBER]
    if not mine:
        return _with_another(text, members[-1], word)
    # Of members with one name readers differ in which counts.
    for member in reversed(mine):
        text = text[: member.value] + word + text[member.end :]
    return text


def _with_another(text: str, last: _Member, word: str) -> str:
    blanks, colon = text[last.before : last.key], text[last.key_end : last.value]
    return f'{text[: last.end]},{blanks}"{MEMBER}"{colon}{word}{text[last.end :]}'


def _members(text: str) -> list[_Member]:
    """Of an object that is known to be one with members."""
    members: list[_Member] = []
    at = text.index("{")
    while text[at] != "}":
        before = at + 1
        key = _blanks(text, before)
        name, key_end = _DECODER.raw_decode(text, key)
        value = _blanks(text, text.index(":", key_end) + 1)
        _, end = _DECODER.raw_decode(text, value)
        members.append(_Member(name, before, key, key_end, value, end))
        at = _blanks(text, end)
    return members


def _blanks(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at
