"""Arguments of a call while the model writes them: the same JSON text without secrets, as far as it can be told yet.

Reads JSON only as closely as that takes: which key a string stands under, and where it ends.
"""

from __future__ import annotations

import json
import re

from hookgate.loop.streaming.withheld import WithheldText
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.interfaces import Redactor

MAX_DEPTH = 64
"""Arguments that nest deeper are refused when they are read."""

_BETWEEN = re.compile(r"[\s\d+\-.,:eEtrufalsn\[\]{}]*+")
_MARKS = re.compile(r"[{}\[\],]")
_HEX = "[0-9a-fA-F]"
_PAIR = rf"\\u[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}"
_CHARACTERS = re.compile(rf'(?:[^"\\]++|\\["\\/bfnrt]|\\u(?![dD][89a-fA-F]){_HEX}{{4}}|{_PAIR}|(?!))*+')
_LONGEST_ESCAPE = 12


@dataclass(slots=True)
class _Level:
    """An open object or array. `secret`: the key, if any, that makes a secret of every string in it."""

    is_object: bool
    secret: str
    at_key: bool
    key: str = ""


class Written:
    """Where what comes is no JSON, nothing more of it is told: the call itself will say what became of it."""

    def __init__(self, redactor: Redactor) -> None:
        self.untouched = True
        self._redactor = redactor
        self._levels: list[_Level] = []
        self._telling: dict[str, bool] = {}
        self._cut = ""
        self._string: WithheldText | None = None
        self._broken = False

    def take(self, piece: str) -> str:
        """What can be told now that this piece has come."""
        self.untouched = False
        text, self._cut = self._cut + piece, ""
        told: list[str] = []
        at = 0
        while at < len(text) and not self._broken:
            at = self._between(text, at, told) if self._string is None else self._within(text, at, told)
        return "".join(told)

    # --- between strings ---

    def _between(self, text: str, at: int, told: list[str]) -> int:
        plain = _BETWEEN.match(text, at)
        end = plain.end() if plain else at
        for mark in _MARKS.finditer(text, at, end):
            self._mark(mark.group())
            if self._broken:
                return end
        told.append(text[at:end])
        if text[end : end + 1] != '"':
            self._broken = end < len(text)
            return end
        self._string = WithheldText(self._redactor.held_from)
        told.append('"')
        return end + 1

    def _mark(self, mark: str) -> None:
        match mark:
            case "{" | "[":
                self._levels.append(_Level(mark == "{", self._secret(), mark == "{"))
                self._broken = self._broken or len(self._levels) > MAX_DEPTH
            case "," if self._levels:
                self._levels[-1].at_key = self._levels[-1].is_object
            case "}" | "]" if self._levels:
                self._levels.pop()
            case _:
                self._broken = True

    def _secret(self) -> str:
        """The key that makes a secret of what comes next; empty where none does."""
        level = self._levels[-1] if self._levels else None
        if level is None or level.secret or not level.is_object:
            return level.secret if level else ""
        if level.key not in self._telling:
            probe = {level.key: "?"}
            self._telling[level.key] = self._redactor.value(probe) != probe
        return level.key if self._telling[level.key] else ""

    # --- within a string ---

    def _within(self, text: str, at: int, told: list[str]) -> int:
        """Up to the closing quote, or as far as the string has come."""
        waiting, whole = self._string, _CHARACTERS.match(text, at)
        assert waiting is not None  # noqa: S101 - the caller asks only inside a string
        end = whole.end() if whole else at
        waiting.add(_characters(text[at:end]))
        if text[end : end + 1] == '"':
            told.append(f'{_escaped(self._last(waiting))}"')
            self._string = None
            return end + 1
        if not self._at_key and not self._secret():
            told.append(_escaped(self._redactor.text(waiting.safe(waiting.size))))
        # An escape that is cut, or half of a character that is written as two, waits for the rest.
        self._cut = text[end:]
        self._broken = len(self._cut) >= _LONGEST_ESCAPE or self._cut[:1] not in ("", "\\")
        return len(text)

    @property
    def _at_key(self) -> bool:
        return bool(self._levels) and self._levels[-1].at_key

    def _last(self, waiting: WithheldText) -> str:
        """What is left of a string that is whole now. Under a telling key nothing of it has been told yet."""
        rest, secret = waiting.all(), self._secret()
        if self._at_key:
            self._levels[-1].at_key, self._levels[-1].key = False, rest
            return self._redactor.text(rest)
        hidden = self._redactor.value({secret: rest}) if secret else None
        return str(next(iter(hidden.values()))) if isinstance(hidden, dict) else self._redactor.text(rest)


def _characters(written: str) -> str:
    """With U+FFFD for what no UTF-8 can hold."""
    return json.loads(f'"{written}"', strict=False).encode("utf-8", "replace").decode()


def _escaped(text: str) -> str:
    return encode(text).decode()[1:-1] if text else ""
