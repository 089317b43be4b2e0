"""Secrets that are known by their shape in a text: header lines, key blocks, `key=value`, well-known token forms.

Every pattern is linear: a run of characters is entered at one place only, and repeats are possessive.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from hookgate.redaction.keys import Keys
from hookgate.redaction.marks import MARKER

Hide = Callable[[str], str]
Found = re.Match[str]

MIN_CHARS = 8
_MIN_FLAG_CHARS = 4

KEY_NEEDLES = ("pass", "secret", "key", "auth", "cookie", "credential", "token")
HEADER = r"(?:(?P<double>\")|(?P<single>')|(?<!\w))(?P<name>(?:proxy-)?authorization:|(?:set-)?cookie:)"
PEM_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PEM_END = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
FLAG = r"(?<![\w-])--(?=[\w-]*?pass[-_]?w(?:or)?d)[\w-]++"
_QUOTED = r"""(?:"(?P<double>(?:[^"\\\n]|\\.){MIN,}+)|'(?P<single>(?:[^'\\\n]|\\.){MIN,}+))"""
# The value of a key inside a JSON string inside JSON: its quotes are escaped as often as the key's.
_ESCAPED = r"""(?P<escape>\\{1,8}+["'])(?P<escaped>(?:(?!(?P=escape))[^\n]){MIN,}+)"""
# A closing bracket belongs to the value only where the value goes on behind it.
_BARE_CHAR = rf"""(?:{MARKER.pattern}|[^\s"'`,;&\])}}\\]|\\(?!["'])|[\])}}](?=\w))"""
SCHEME = r"(?:(?:bearer|basic|digest|negotiate|token)[ \t]++)?+"
_BARE = rf"(?P<bare>(?![\[({{<](?!REDACTED:)){SCHEME}{_BARE_CHAR}{{{MIN_CHARS},}}+)"

# Expressions, not values: a call or a subscript, an attribute of something well known, a reference to a variable.
_CODE = re.compile(
    r"[a-z_][\w.]*[(\[](?!REDACTED:)"
    r"|(?:self|this|cls|os|sys|process|settings|config|args|request|env)\.[\w.]+\Z"
    r"|\$\(|\$\{?(?-i:[A-Z_][A-Z0-9_]*)\Z",
    re.ASCII | re.IGNORECASE,
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Shape:
    """`needles`: in lower case, one of them is in every text that holds the shape; that is dear to look for."""

    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    replaced: Callable[[Found, Hide], str]

    def may_be_in(self, low: str) -> bool:
        return any(needle in low for needle in self.needles)

    def apply(self, text: str, hide: Hide) -> str:
        return self.pattern.sub(lambda found: self.replaced(found, hide), text)


def shapes(keys: Keys) -> tuple[Shape, ...]:
    """In the order in which they are looked for: the whole header line first, else its scheme alone is taken."""
    return (
        Shape(("authorization:", "cookie:"), _compiled(rf"{HEADER}[ \t]*+(?P<value>{_HEADER_VALUE})"), _header),
        Shape(("private key",), _compiled(rf"(?P<value>{PEM})", 0), _value),
        Shape((*KEY_NEEDLES, *keys.needles), _compiled(_keyed(keys.words)), _Keyed(keys)),
        Shape(
            ("pass",),
            _compiled(rf"{FLAG}(?:=|[ \t]{{1,3}})(?:{_least(_QUOTED, 1)}|(?P<bare>[^\s\"'-][^\s\"']*+))"),
            _flag,
        ),
        Shape(("://",), _compiled(r"://(?P<value>[^\s/?#\"'<>]+)@"), _userinfo),
        Shape(("bearer",), _compiled(r"(?<!\w)bearer[ \t]++(?P<value>[\w.~+/=-]{12,}+)"), _value),
        *(Shape(needles, _compiled(pattern, 0), _whole) for needles, pattern in _TOKENS),
    )


# In quotes, as an argument of a shell command stands, the line ends with them.
_HEADER_VALUE = (
    r"""(?(double)(?:[^"\\\r\n]++|\\(?!\\{0,8}"))*+|(?(single)(?:[^'\\\r\n]++|\\(?!\\{0,8}'))*+|[^\r\n]*+))"""
)
PEM = rf"{PEM_BEGIN}(?:[^-]++|-(?!{_PEM_END[1:]}))*+(?:{_PEM_END})?+"
_TOKENS = (
    (("akia", "asia"), r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{20,}+"),
    (("github_pat_",), r"(?<![A-Za-z0-9])github_pat_[A-Za-z0-9_]{20,}+"),
    (("sk-",), r"(?<![A-Za-z0-9])sk-[\w-]{17,}+"),
    (("xox",), r"(?<![A-Za-z0-9])xox[abprs]-[A-Za-z0-9-]{8,}+"),
    (("aiza",), r"(?<![\w-])AIza[\w-]{35,}+"),
    (("eyj",), r"(?<![\w-])eyJ[\w-]++\.[\w-]++\.[\w-]*+"),
)


def _compiled(pattern: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile(pattern, flags | re.ASCII)


def key_pattern(words: str) -> str:
    """A word that holds a telling one, with the quote that may close it."""
    return rf"(?<![\w-])(?=[\w-]*?(?:{words}))(?P<key>[\w-]++)(?P<close>\\{{0,8}}[\"'`])?+\]?+"


SEPARATOR = r"[ \t]*+(?P<separator>=>|:=|={1,3}|:(?!:))[ \t]*+"


def _keyed(words: str) -> str:
    quoted = _least(f"{_QUOTED}|{_ESCAPED}", MIN_CHARS)
    return rf"{key_pattern(words)}{SEPARATOR}(?:{quoted}|{_BARE})"


def _least(pattern: str, chars: int) -> str:
    return pattern.replace("MIN", str(chars))


# --- what stands for a match ------------------------------------------------------------------------------------


def _within(found: Found, group: str, new: str) -> str:
    """The match with one of its groups replaced."""
    whole, start = found.group(), found.start()
    first, last = found.span(group)
    return f"{whole[: first - start]}{new}{whole[last - start :]}"


def _whole(found: Found, hide: Hide) -> str:
    return hide(found.group())


def _value(found: Found, hide: Hide) -> str:
    return _within(found, "value", hide(found["value"]))


def _header(found: Found, hide: Hide) -> str:
    value = found["value"]
    kept = value.rstrip()
    return _within(found, "value", hide(kept) + value[len(kept) :])


def _userinfo(found: Found, hide: Hide) -> str:
    """A lone short name is who one is, `git` say, and opens nothing."""
    value = found["value"]
    return found.group() if ":" not in value and len(value) < MIN_CHARS else _value(found, hide)


def _flag(found: Found, hide: Hide) -> str:
    group = found.lastgroup or "bare"
    value = found[group]
    if group == "bare" and len(value) < _MIN_FLAG_CHARS and "=" not in found.group()[: -len(value)]:
        return found.group()
    return _within(found, group, hide(value))


class _Keyed:
    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def __call__(self, found: Found, hide: Hide) -> str:
        group = next(name for name in ("double", "single", "escaped", "bare") if found[name] is not None)
        value = found[group]
        if not self._keys.telling(found["key"]):
            return found.group()
        if group == "bare" and _no_secret(found, value):
            return found.group()
        return _within(found, group, hide(value))


def _no_secret(found: Found, value: str) -> bool:
    if "==" in found["separator"] or _CODE.match(value):
        return True
    return found["close"] is not None and _NUMBER.fullmatch(value) is not None
