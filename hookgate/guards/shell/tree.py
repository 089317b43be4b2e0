"""A command line as a syntax tree, within bounds; and a word of it as the text that the command gets.

The parser is loaded with the first command line.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from hookgate.protocol.dataclasses import dataclass

if TYPE_CHECKING:
    from tree_sitter import Language, Node

MAX_BYTES = 32 * 1024
"""A system takes 128 KiB for one argument; a quarter of that is no command line that somebody means to run."""
MAX_OPERATORS = 1000
"""Where a line is wrong the parser's time and memory grow with their square."""

_OPERATOR = re.compile(r"[|&<>(){}\[$`]")
_PLACEHOLDER = "_"
_DYNAMIC = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"}
)
_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\([\n"\\$`])')
_PATTERN = re.compile(r"[*?\[]|\{[^}]*,")


@dataclass(frozen=True, slots=True)
class Word:
    """`text` with a placeholder for each part that only the shell knows; `whole`: it is nothing but such a part;
    `node`: the kind of a part that stands alone."""

    text: str
    dynamic: bool = False
    whole: bool = False
    node: str = ""

    @property
    def base(self) -> str:
        """The name of a command without its folder."""
        return posixpath.basename(self.text)


def too_much(line: str) -> str | None:
    """What keeps a line from being parsed at all."""
    if len(line.encode("utf-8", "replace")) > MAX_BYTES:
        return f"it has more than {MAX_BYTES // 1024} KiB"
    if "\0" in line:
        return "it holds a NUL character"
    if len(_OPERATOR.findall(line)) > MAX_OPERATORS:
        return f"it has more than {MAX_OPERATORS} operators"
    return None


def parsed(line: str) -> Node | None:
    """The root of the tree; None for what is no shell."""
    from tree_sitter import Parser

    # A parser each: they are cheap, and two threads must not share one.
    root = Parser(_language()).parse(line.encode("utf-8", "replace")).root_node
    return None if root.has_error else root


@cache
def _language() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def word(node: Node) -> Word:
    """What the shell makes of a word, as far as can be told."""
    parts = list(_parts(node))
    text = "".join(part for part, _ in parts)
    dynamic = any(unknown for _, unknown in parts)
    alone = _alone(node)
    return Word(text, dynamic, dynamic and alone in _DYNAMIC, alone if dynamic else "")


def _alone(node: Node) -> str:
    """The kind of the only thing in it, quotes aside."""
    while node.type in ("command_name", "string") and len(node.named_children) == 1:
        inner = node.named_children[0]
        if node.type == "string" and (inner.start_byte, inner.end_byte) != (node.start_byte + 1, node.end_byte - 1):
            break
        node = inner
    return node.type


def _parts(node: Node) -> Iterator[tuple[str, bool]]:
    text = (node.text or b"").decode("utf-8", "replace")
    match node.type:
        case "command_name" | "concatenation":
            for child in node.children:
                yield from _parts(child)
        case "word" | "number" | "regex" | "extglob_pattern":
            # A pattern is a name only once the shell has looked at the files.
            yield _ESCAPED.sub(_unescaped, text), _PATTERN.search(_ESCAPED.sub("", text)) is not None
        case "raw_string":
            yield text[1:-1], False
        case "string" | "translated_string":
            yield from _quoted(node)
        case "ansi_c_string":
            yield _ansi(text[2:-1])
        case kind if kind in _DYNAMIC:
            yield _PLACEHOLDER, True
        case _:
            yield text, not text.isprintable() or node.is_named


def _quoted(node: Node) -> Iterator[tuple[str, bool]]:
    """The text between the quotes, with a placeholder for every expansion in it."""
    source = node.text or b""
    at = source.index(b'"') + 1
    for child in node.named_children:
        if child.type in _DYNAMIC:
            first, last = child.start_byte - node.start_byte, child.end_byte - node.start_byte
            yield _plain(source[at:first]), False
            yield _PLACEHOLDER, True
            at = last
    yield _plain(source[at:-1]), False


def _plain(source: bytes) -> str:
    return _ESCAPED_IN_QUOTES.sub(_unescaped, source.decode("utf-8", "replace"))


def _unescaped(found: re.Match[str]) -> str:
    return "" if found[1] == "\n" else found[1]


def _ansi(text: str) -> tuple[str, bool]:
    try:
        return text.encode("latin-1", "backslashreplace").decode("unicode_escape"), False
    except UnicodeDecodeError:
        return text, True
