"""Which keys say that their value is a secret, and the shapes in which text writes such a key. Knows no values."""

from __future__ import annotations

import re
from collections.abc import Iterable

CONTAINED = (
    *("password", "passwd", "secret", "apikey", "accesskey", "privatekey"),
    *("authorization", "cookie", "credential", "passphrase", "accountkey"),
)
"""A key is telling when it holds one of these, compared without case, `-` and `_`; or when it ends in `token`."""

# What pages through a list is no secret; `max_tokens` and `token_count` do not end in `token` anyway.
_HARMLESS = ("pagetoken",)
# What only says where a secret is, or that there is none.
_ELSEWHERE = ("passwordless", "authorizationendpoint", "authorizationurl", "authorizationuri")
_NAMES_IT = ("file", "path", "stdin")
# `pass` alone is what tests do.
_SHORT = tuple(f"{whose}pass" for whose in ("db", "user", "smtp", "mysql", "admin", "root", "redis", "ftp", "mail"))
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+", re.ASCII)
_MAX_KNOWN = 1024
_FLAT = str.maketrans("", "", "-_")
_SPELLED = (
    *("pass[-_]?word", "pass[-_]?wd", "secret", "api[-_]?key", "access[-_]?key", "private[-_]?key"),
    *("authorization", "cookie", "credential", r"token(?![\w-])"),
    *("pass[-_]?phrase", "account[-_]?key", rf"(?:{'|'.join(it[:-4] for it in _SHORT)})[-_]?pass(?![\w-])"),
)


class Keys:
    """`more`: further words that make a key telling."""

    def __init__(self, more: Iterable[str] = ()) -> None:
        given = [word for word in more if flat(word)]
        self._given = tuple(map(flat, given))
        self.words = "|".join([*_SPELLED, *(_spelled(word) for word in given)])
        """A pattern for a telling word inside a key; `telling` has the last word."""
        self.needles = tuple(_parts(word)[0].lower() for word in given)
        """What a text in lower case holds at least where one of the further words stands in it."""
        self._known: dict[str, bool] = {}

    def telling(self, key: str) -> bool:
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = self._known[key] = self._judged(key)
        return known

    def _judged(self, key: str) -> bool:
        name = flat(key)
        if any(word in name for word in self._given):
            return True
        if name.endswith(_NAMES_IT):
            return False
        for elsewhere in _ELSEWHERE:
            name = name.replace(elsewhere, " ")
        if any(word in name for word in CONTAINED):
            return True
        return name.endswith(("token", *_SHORT)) and not name.endswith(_HARMLESS)


def harmless_end(key: str) -> bool:
    """Whether it names the file with the secret, or where that is asked for."""
    return flat(key).endswith(_NAMES_IT)


def names_variable(key: str, value: str) -> bool:
    """Whether it says in which variable of the environment the secret is, as `api_key_env = "SOME_API_KEY"` does."""
    return flat(key).endswith("env") and _VARIABLE.fullmatch(value) is not None


def flat(key: str) -> str:
    return key.translate(_FLAT).lower()


def _spelled(word: str) -> str:
    return "[-_]*".join(map(re.escape, _parts(word)))


def _parts(word: str) -> list[str]:
    return [part for part in re.split("[-_]+", word) if part]
