"""Secrets that are known by their shape in a text: header lines, key blocks, `key=value`, well-known token forms.

Every pattern is linear: a run of characters is entered at one place only, and repeats are possessive.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from hookgate.redaction import commands
from hookgate.redaction.found import CODE, Found, Hide, drawn, within
from hookgate.redaction.keys import Keys, harmless_end, names_variable
from hookgate.redaction.marks import MARKER
from hookgate.redaction.tokens import DISCORD, DRAWN, TOKENS

MIN_CHARS = 8
_MIN_FLAG_CHARS = 4

KEY_NEEDLES = ("pass", "secret", "key", "auth", "cookie", "credential", "token")
HEADER = r"(?:(?P<double>\")|(?P<single>')|(?<!\w))(?P<name>(?:proxy-)?authorization:|(?:set-)?cookie:)"
PEM_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PEM_END = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
FLAG = r"(?<![\w-])--(?=[\w-]*?pass[-_]?w(?:or)?d)[\w-]++"
_QUOTED = r"""(?:"(?P<double>(?:[^"\\\n]|\\.){MIN,}+)|'(?P<single>(?:[^'\\\n]|\\.){MIN,}+))"""
# The value of a key inside a JSON string inside JSON: its quotes are escaped as often as the key's.
_ESCAPED = r"""(?P<escape>\\{1,8}+["'])(?P<escaped>(?:(?!(?P=escape))[^\n]|(?!)){MIN,}+)"""
# A closing bracket belongs to the value only where the value goes on behind it.
_BARE_CHAR = rf"""(?:{MARKER.pattern}|[^\s"'`,;&\])}}\\]|\\(?!["'])|[\])}}](?=\w)|(?!))"""
SCHEME = r"(?:(?:bearer|basic|digest|negotiate|token)[ \t]++|(?!))?+"
_BARE = rf"(?P<bare>(?![\[({{<](?!REDACTED:)){SCHEME}{_BARE_CHAR}{{{MIN_CHARS},}}+)"
_WORDS = re.compile(r"(?![a-z]{20})[A-Za-z]?+[a-z]*+(?:[./-]++[A-Za-z]?+[a-z]*+|(?!))*+", re.ASCII)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Shape:
    """`needles`: in lower case, one of them is in every text that holds the shape; that is dear to look for. Where
    there would be too many, `needle` is a pattern of them."""

    needles: tuple[str, ...]
    regex: str
    replaced: Callable[[Found, Hide], str]
    flags: int = re.IGNORECASE
    needle: str = ""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when a text may hold it: most runs see few of the shapes."""
        return re.compile(self.regex, self.flags | re.ASCII)

    def may_be_in(self, low: str) -> bool:
        return any(needle in low for needle in self.needles) or (
            self.needle != "" and re.search(self.needle, low, re.ASCII) is not None
        )

    def apply(self, text: str, hide: Hide) -> str:
        return self.pattern.sub(lambda found: self.replaced(found, hide), text)


class Needles:
    """Of many shapes: whether any of them may be in a text, which most texts answer with no at one look for each."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        self._wordless = tuple(re.compile(shape.needle, re.ASCII) for shape in shapes if not shape.needles)
        given = dict.fromkeys(needle for shape in shapes for needle in shape.needles)
        # Looking for what another one holds finds that too.
        self._fewest = tuple(it for it in given if not any(other != it and other in it for other in given))

    def may_be_in(self, low: str) -> bool:
        return any(map(low.__contains__, self._fewest)) or any(it.search(low) for it in self._wordless)


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
        Shape(("pwd=", "sig="), r"(?<![\w-])(?P<key>pwd|sig)=(?P<value>[!#-%*+\--:=?-_a-~]{8,}+)", _short),
        Shape(("://",), r"://(?P<value>[^\s/?#\"'<>]+)@", _userinfo),
        Shape(("bearer",), r"(?<!\w)bearer[ \t]++(?P<value>[\w.~+/=-]{12,}+)", _bearer),
        *tokens(),
        # Last, for it takes lines: none of the others may still find a command in what it hides.
        Shape(commands.NEEDLES, commands.LINE, commands.hidden, 0),
    )


def tokens() -> tuple[Shape, ...]:
    """Those that need nothing round them, and take letters, digits and single signs of a word alone."""
    return (
        *(Shape(needles, pattern, _drawn, 0) for needles, pattern in DRAWN),
        *(Shape(needles, pattern, _whole, 0) for needles, pattern in TOKENS),
        Shape((), DISCORD[0], _whole, 0, DISCORD[1]),
    )


# In quotes, as an argument of a shell command stands, the line ends with them.
_HEADER_VALUE = (
    r"""(?(double)(?:[^"\\\r\n]++|\\(?!\\{0,8}")|(?!))*+"""
    r"""|(?(single)(?:[^'\\\r\n]++|\\(?!\\{0,8}')|(?!))*+|[^\r\n]*+))"""
)
PEM = rf"{PEM_BEGIN}(?:[^-]++|-(?!{_PEM_END[1:]})|(?!))*+(?:{_PEM_END}|(?!))?+"


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


def _whole(found: Found, hide: Hide) -> str:
    return hide(found.group())


def _drawn(found: Found, hide: Hide) -> str:
    return hide(found.group()) if drawn(found.group()) else found.group()


def _short(found: Found, hide: Hide) -> str:
    """A signature is drawn by lot; the other `pwd` is the folder one is in."""
    value = found["value"]
    folder = value.startswith(("/", "~", "$", ".", "%"))
    none = folder if found["key"].lower() == "pwd" else not drawn(value)
    return found.group() if none or CODE.match(value) else _value(found, hide)


def _bearer(found: Found, hide: Hide) -> str:
    """Not a word of prose, `bearer authentication` say."""
    return found.group() if _WORDS.fullmatch(found["value"]) else _value(found, hide)


def _value(found: Found, hide: Hide) -> str:
    return within(found, "value", hide(found["value"]))


def _header(found: Found, hide: Hide) -> str:
    value = found["value"]
    kept = value.rstrip()
    return within(found, "value", hide(kept) + value[len(kept) :])


def _userinfo(found: Found, hide: Hide) -> str:
    """A lone short name is who one is, `git` say, and opens nothing; what is largely no text is of a picture, say,
    which has the signs around it somewhere by chance."""
    value = found["value"]
    noise = sum(it == "\ufffd" or not it.isprintable() for it in value)
    harmless = (":" not in value and len(value) < MIN_CHARS) or noise > len(value) / 4
    return found.group() if harmless else _value(found, hide)


def _flag(found: Found, hide: Hide) -> str:
    group = found.lastgroup or "bare"
    value = found[group]
    if harmless_end(found.group().split("=")[0].split()[0]):
        return found.group()
    if group == "bare" and len(value) < _MIN_FLAG_CHARS and "=" not in found.group()[: -len(value)]:
        return found.group()
    return within(found, group, hide(value))


class _Keyed:
    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def __call__(self, found: Found, hide: Hide) -> str:
        group = next(name for name in ("double", "single", "escaped", "bare") if found[name] is not None)
        value = found[group]
        if not self._keys.telling(found["key"]) or names_variable(found["key"], value):
            return found.group()
        if group == "bare" and _no_secret(found, value):
            return found.group()
        return within(found, group, hide(value))


def _no_secret(found: Found, value: str) -> bool:
    if "==" in found["separator"] or CODE.match(value):
        return True
    # A path to a path, as a mount is written: /etc/passwd:/etc/passwd.
    if value.startswith("/") and found["separator"] == ":" and found.string.endswith("/", 0, found.start()):
        return True
    return found["close"] is not None and _NUMBER.fullmatch(value) is not None
