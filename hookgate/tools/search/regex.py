"""Patterns, of lines and of paths, as the regular expressions that decide them.

The engine is Rust's, which pydantic brings along: the syntax is ripgrep's own, and a match takes a time that is
linear in the text, whatever the pattern. Reads no file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from hookgate.tools.search.query import BadPattern

Test: TypeAlias = Callable[[str], bool]

_TOKEN = re.compile(
    r"(?:^|(?<=/))(?P<deep>\*\*(?:/|$))|(?P<star>\*+)|(?P<one>\?)|(?P<set>\[[!^]?\]?[^\]]*\])"
    r"|(?P<open>\{)|(?P<comma>,)|(?P<close>\})|\\(?P<escaped>.)|(?P<plain>.)",
    re.DOTALL,
)
_RANGE = re.compile(r"\\?(.)(?:-\\?(.))?", re.DOTALL)
_MAGIC = frozenset("*?[{\\")


def compiled(pattern: str) -> Test:
    """Whether a text has a match somewhere. Raises BadPattern."""
    from pydantic_core import SchemaError, SchemaValidator

    try:
        return SchemaValidator({"type": "str", "pattern": pattern, "regex_engine": "rust-regex"}).isinstance_python
    except SchemaError as error:
        raise BadPattern(_reason(str(error))) from None


def _reason(message: str) -> str:
    last = message.strip().splitlines()[-1]
    return re.sub(r"^.*?[eE]rror: ", "", last).strip()


def escaped(text: str) -> str:
    """A regular expression that matches this text alone."""
    return "".join(char if char.isalnum() or ord(char) > 127 else f"\\x{{{ord(char):x}}}" for char in text)


def matchable(path: str) -> str:
    """The path as the engine takes it: bytes of a name that are no UTF-8 count as one character each."""
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def of_glob(glob: str, *, anywhere: bool = False) -> str:
    """The expression for whole paths. `anywhere`: they may begin in any folder. Raises BadPattern."""
    depth, pieces = 0, [r"(?s)\A(?:.*/)?" if anywhere else r"(?s)\A"]
    for token in _TOKEN.finditer(glob):
        kind, text = token.lastgroup, token[token.lastgroup or 0]
        pieces.append(_piece(kind, text, inside=depth > 0))
        depth += (kind == "open") - (kind == "close" and depth > 0)
    if depth:
        raise BadPattern("unclosed {")
    return "".join(pieces) + r"\z"


def _piece(kind: str | None, text: str, *, inside: bool) -> str:
    match kind:
        case "deep":
            return "(?:.*/)?" if text.endswith("/") else ".+"
        case "star":
            return "[^/]*"
        case "one":
            return "[^/]"
        case "set":
            return _set(text[1:-1])
        case "open":
            return "(?:"
        case "comma" if inside:
            return "|"
        case "close" if inside:
            return ")"
        case "plain" if text == "[":
            raise BadPattern("unclosed [")
        case _:
            return escaped(text)


def _set(body: str) -> str:
    negated = body[:1] in ("!", "^")
    spans = _RANGE.findall(body[1:] if negated else body)
    ranges = "".join(f"{escaped(low)}-{escaped(high)}" if high else escaped(low) for low, high in spans)
    # A set never matches a slash, not even one that says what it leaves out.
    return f"[^/{ranges}]" if negated else f"[{ranges}]"


def fixed_folders(glob: str) -> str:
    """The folders that every path of the glob begins with, each with its slash."""
    fixed = ""
    for part in glob.split("/")[:-1]:
        if _MAGIC & set(part):
            break
        fixed += f"{part}/"
    return fixed
