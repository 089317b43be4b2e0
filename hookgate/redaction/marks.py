"""What stands where a secret stood: `[REDACTED:ab12]`, the digits a keyed hash, so that equal stays visible."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b

from hookgate.redaction.found import Json

MARKER = re.compile(r"\[REDACTED:[0-9a-f]{4}\]")
PREFIX = "[REDACTED:"
_MAX_MADE = 256


def holds_marker(value: Json) -> bool:
    """Whether a secret was replaced somewhere in it: such arguments are no longer what somebody meant."""
    # It may be nested deeper than functions can be.
    left: list[Json] = [value]
    while left:
        match left.pop():
            case str(text) if PREFIX in text and MARKER.search(text) is not None:
                return True
            case Mapping() as members:
                left += [*members.keys(), *members.values()]
            case list() | tuple() as items:
                left += items
            case _:
                pass
    return False


class Marks:
    """`salt`: at most 64 bytes; whoever does not know it cannot try out guesses against the digits."""

    def __init__(self, salt: bytes) -> None:
        self._salt = salt
        self._made: dict[str, str] = {}

    def hidden(self, secret: str) -> str:
        """The replacement; of what is a replacement already, and of nothing, the same."""
        if not secret or MARKER.fullmatch(secret):
            return secret
        made = self._made.get(secret)
        if made is None:
            if len(self._made) >= _MAX_MADE:
                self._made.clear()
            made = self._made[secret] = self._new(secret)
        return made

    def _new(self, secret: str) -> str:
        digest = blake2b(secret.encode("utf-8", "surrogatepass"), digest_size=2, key=self._salt)
        return f"{PREFIX}{digest.hexdigest()}]"
