"""Text in the looser notations that models know (Python, JavaScript, JSON5), rewritten as JSON in one pass.

Only the words are judged here, each by itself; their order is left to the JSON parser. A character that belongs
to no known word refuses the whole text.
"""

from __future__ import annotations

import re

from hookgate.tools.repair.bounds import too_deep
from hookgate.tools.repair.read import read_json
from hookgate.tools.repair.values import Reading

_JSON_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++|(?!))?+(?:[eE][-+]?[0-9]++|(?!))?+(?![\w.+$-])"
_KEY_FOLLOWS = r"(?=[ \t\r\n]*+:)"
_TOKEN = re.compile(
    rf"""
    (?P<json>(?:[ \t\r\n{{}}\[\],:]++|"(?:[^"\\]++|\\.)*+"|{_JSON_NUMBER}
        |(?:true|false|null)(?![\w$-])(?!{_KEY_FOLLOWS})|(?!))++)
    |(?P<string>'(?:[^'\\]++|\\.)*+')
    |(?P<comment>//[^\r\n]*+|/\*(?:[^*]++|\*(?!/)|(?!))*+\*/)
    |(?P<number>[-+]?(?:0[xX][0-9a-fA-F]{{1,256}}+|(?:0|[1-9][0-9]*+)?+(?:\.[0-9]*+)?+(?:[eE][-+]?[0-9]++|(?!))?+)
        (?![\w.+$-])(?<=[0-9a-fA-F.]))
    |(?P<word>[^\W\d][\w$-]*+|\$[\w$-]*+)
    |(?P<unknown>.)
    """,
    re.DOTALL | re.VERBOSE,
)
_LITERALS = {"True": "true", "False": "false", "None": "null"}
_BAD_ESCAPE = re.compile(r"""(?<!\\)(?:\\\\)*+\\[^'"\\/bfnrtu]""")
_COLON = re.compile(_KEY_FOLLOWS)


def read_relaxed(text: str) -> Reading | None:
    """The value of a text that is wholly written in JSON and the looser forms; None where it is not."""
    rewritten = as_json(text)
    if rewritten is None or too_deep(rewritten):
        return None
    reading = read_json(rewritten)
    return Reading(reading.value, (*reading.steps, "relaxed")) if reading else None


def as_json(text: str) -> str | None:
    """The same words as JSON writes them, in the same order; None where one of them has no one meaning."""
    written: list[str] = []
    for token in _TOKEN.finditer(text):
        word = token[0] if token.lastgroup == "json" else _rewritten(token)
        if word is None:
            return None
        written.append(word)
    return "".join(written)


def _rewritten(token: re.Match[str]) -> str | None:
    match token.lastgroup:
        case "string":
            return _string(token[0][1:-1])
        case "comment":
            # A blank, or the words on both sides would become one.
            return " "
        case "number":
            return _number(token[0])
        case "word":
            return _word(token)
        case _:
            return None


def _word(token: re.Match[str]) -> str | None:
    if _COLON.match(token.string, token.end()):
        return f'"{token[0]}"'
    return _LITERALS.get(token[0])


def _string(inside: str) -> str | None:
    if "\\" not in inside and '"' not in inside:
        return f'"{inside}"'
    if _BAD_ESCAPE.search(inside):
        return None
    # Split at escaped backslashes, so that every other backslash escapes what follows it.
    pieces = inside.split("\\\\")
    quoted = (piece.replace("\\'", "'").replace('\\"', '"').replace('"', '\\"') for piece in pieces)
    return '"' + "\\\\".join(quoted) + '"'


def _number(text: str) -> str | None:
    sign = "-" if text.startswith("-") else ""
    digits = text.lstrip("+-").lower()
    if digits.startswith("0x"):
        return f"{sign}{int(digits, 16)}"
    whole, dot, rest = digits.partition(".")
    if not dot:
        return sign + digits
    if not whole and not rest[:1].isdigit():
        return None
    fraction = rest if rest[:1].isdigit() else "0" + rest
    return f"{sign}{whole or '0'}.{fraction}"
