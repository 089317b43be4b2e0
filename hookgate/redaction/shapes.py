"""Secrets that are known by their shape in a text: header lines, key blocks, `key=value`, well-known token forms.

Every pattern is linear: a run of characters is entered at one place only, and repeats are possessive.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from hookgate.redaction.keys import Keys
from hookgate.redaction.marks import MARKER
from hookgate.redaction.tokens import TOKENS

Hide = Callable[[str], str]
Found = re.Match[str]

MIN_CHARS = 8
_MIN_FLAG_CHARS = 4

KEY_NEEDLES = ("pass", "secret", "key", "auth", "cookie", "credential", "token")
HEADER = r"(?:(?P<double>\")|(?P<single>')|(?<!\w))(?P<name>(?:proxy-)?authorization:|(?:set-)?cookie:)"
PEM_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PEM_END = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
FLAG = r"(?<![\w-])--(?=[\w-]*?pass[-_]?w(?:or)?d)[\w-]++"
LOGIN = r"(?<![\w-])(?:-[uU]|-s[uU]|-sS[uU]|--(?:proxy-)?user)"
LOGIN_NEEDLES = ("-u ", "-u\t", "-su ", "-ssu ", "-user ", "-user=", "-user\t")
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
    regex: str
    replaced: Callable[[Found, Hide], str]
    flags: int = re.IGNORECASE

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when a text may hold it: most runs see few of the shapes."""
        return re.compile(self.regex, self.flags | re.ASCII)

    def may_be_in(self, low: str) -> bool:
        return any(needle in low for needle in self.needles)

    def apply(self, text: str, hide: Hide) -> str:
        return self.pattern.sub(lambda found: self.replaced(found, hide), text)


def shapes(keys: Keys) -> tuple[Shape, ...]:
    """In the order in which they are looked for: the whole header line first, else its scheme alone is taken."""
    return (
        Shape(("authorization:", "cookie:"), rf"{HEADER}[ \t]*+(?P<value>{_HEADER_VALUE})", _header),
        Shape(("private key",), rf"(?P<value>{PEM})", _value, 0),
        Shape((*KEY_NEEDLES, *keys.needles), _keyed(keys.words), _Keyed(keys)),
        Shape(
            ("pass",),
            rf"{FLAG}(?:=|[ \t]{{1,3}})(?:{_least(_QUOTED, 1)}|(?P<bare>[^\s\"'-][^\s\"']*+))",
            _flag,
        ),
        Shape(LOGIN_NEEDLES, rf"{LOGIN}(?:=|[ \t]{{1,3}}){_LOGIN_VALUE}", _login, 0),
        Shape(("://",), r"://(?P<value>[^\s/?#\"'<>]+)@", _userinfo),
        Shape(("bearer",), r"(?<!\w)bearer[ \t]++(?P<value>[\w.~+/=-]{12,}+)", _value),
        *(Shape(needles, pattern, _whole, 0) for needles, pattern in TOKENS),
    )


# In quotes, as an argument of a shell command stands, the line ends with them.
_HEADER_VALUE = (
    r"""(?(double)(?:[^"\\\r\n]++|\\(?!\\{0,8}"))*+|(?(single)(?:[^'\\\r\n]++|\\(?!\\{0,8}'))*+|[^\r\n]*+))"""
)
# The same in curl and its like: a name, a colon, a password; what begins like a URL is another option's.
_LOGIN_VALUE = (
    r"""(?:"(?P<double_user>[^"\s:]{1,64}+):(?P<double>(?:[^"\\\n]|\\.){4,}+)"""
    r"""|'(?P<single_user>[^'\s:]{1,64}+):(?P<single>[^'\n]{4,}+)"""
    r"""|(?P<bare_user>[\w.@$][\w.@%+$-]{0,63}+):(?P<bare>(?!//)[^\s"'`;&|<>]{4,}+))"""
)
PEM = rf"{PEM_BEGIN}(?:[^-]++|-(?!{_PEM_END[1:]}))*+(?:{_PEM_END})?+"


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


def _login(found: Found, hide: Hide) -> str:
    """A user and group in numbers, or of one name, is no password; nor is a variable of the shell."""
    group = next(name for name in ("double", "single", "bare") if found[name] is not None)
    user, value = found[f"{group}_user"], found[group]
    if value == user or (user.isdigit() and value.isdigit()) or _CODE.match(value):
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
