"""What shapes ask of a match: what its values are not, and the match with one of them replaced. Knows no shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

Json: TypeAlias = "Mapping[str, Json] | list[Json] | tuple[Json, ...] | str | int | float | bool | None"
Hide = Callable[[str], str]
Found = re.Match[str]

# Expressions, not values: a call or a subscript, an attribute of something well known, a reference to a variable.
CODE = re.compile(
    r"[a-z_][\w.]*[(\[](?!REDACTED:)"
    r"|(?:self|this|cls|os|sys|process|settings|config|args|request|env)\.[\w.]+\Z"
    r"|\$\(|\$\{?(?-i:[A-Z_][A-Z0-9_]*)\Z",
    re.ASCII | re.IGNORECASE,
)

_RUN = re.compile(r"[A-Za-z0-9]{16,}", re.ASCII)
_LONGEST_WORD = 19


def drawn(text: str) -> bool:
    """Whether it looks drawn by lot, not made of words: by a digit and both cases, or by a long run of characters."""
    if any(len(run) > _LONGEST_WORD or not run.isalpha() for run in _RUN.findall(text)):
        return True
    return any(it.isdigit() for it in text) and text not in (text.lower(), text.upper())


def within(found: Found, group: str, new: str) -> str:
    """The match with one of its groups replaced."""
    whole, start = found.group(), found.start()
    first, last = found.span(group)
    return f"{whole[: first - start]}{new}{whole[last - start :]}"
