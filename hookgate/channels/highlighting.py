"""Code taken apart into kinds of words, within a budget of time, and as HTML with a class for each; knows no colours.

Lexers are quadratic on some texts, between two words and within one: what does not fit into the budget or has a very
long line is not highlighted at all.
"""

from __future__ import annotations

import time
from functools import cache
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pygments.lexer import Lexer

BUDGET_S, MAX_LINE = 0.05, 1000
LEXERS: Final = {
    "BashLexer": ("bash", "sh", "shell", "zsh"),
    "BashSessionLexer": ("console",),
    "CLexer": ("c",),
    "CSharpLexer": ("c#", "csharp"),
    "CppLexer": ("c++", "cpp"),
    "CssLexer": ("css",),
    "DiffLexer": ("diff", "patch"),
    "DockerLexer": ("docker", "dockerfile"),
    "GoLexer": ("go",),
    "HtmlLexer": ("html",),
    "JavaLexer": ("java",),
    "JavascriptLexer": ("javascript", "js"),
    "JsonLexer": ("json",),
    "KotlinLexer": ("kotlin",),
    "LuaLexer": ("lua",),
    "MakefileLexer": ("make", "makefile"),
    "PhpLexer": ("php",),
    "PowerShellLexer": ("powershell",),
    "PythonLexer": ("python", "py", "python3"),
    "RubyLexer": ("ruby", "rb"),
    "RustLexer": ("rust", "rs"),
    "SqlLexer": ("sql",),
    "SwiftLexer": ("swift",),
    "TOMLLexer": ("toml",),
    "TypeScriptLexer": ("typescript", "ts"),
    "XmlLexer": ("xml",),
    "YamlLexer": ("yaml", "yml"),
}
"""Lexers and what they are called; Pygments would read the whole installation for a name that it does not know."""
_LANGUAGES: Final = {alias: lexer for lexer, aliases in LEXERS.items() for alias in aliases}
_KINDS: Final = {
    "Keyword": "k",
    "Name.Function": "f",
    "Name.Class": "f",
    "Name.Tag": "k",
    "Name.Attribute": "f",
    "Name.Builtin": "b",
    "Name.Decorator": "b",
    "Literal.String": "s",
    "Literal.Number": "n",
    "Comment": "c",
    "Generic.Deleted": "d",
    "Generic.Inserted": "i",
    "Generic.Prompt": "c",
    "Generic.Heading": "c",
    "Generic.Subheading": "c",
}
STYLES: Final = frozenset(_KINDS.values())


class Highlighting:
    """The budget of one text, for all its code together, in seconds of this thread's CPU."""

    __slots__ = ("_left_s",)

    def __init__(self, budget_s: float = BUDGET_S) -> None:
        self._left_s = budget_s

    def html(self, code: str, language: str) -> str | None:
        """None where there are no words."""
        words = self.words(code, language)
        return None if words is None else "".join(_spans(words))

    def words(self, code: str, language: str) -> list[tuple[str, str]] | None:
        """Each with its kind, empty for what has none. None where the language is unknown, a line too long or the
        budget spent."""
        if self._left_s <= 0 or language not in _LANGUAGES or max(map(len, code.split("\n"))) > MAX_LINE:
            return None
        lexer = _lexer(_LANGUAGES[language])
        began = time.thread_time()
        pieces: list[tuple[str, str]] = []
        for _, kind, text in lexer.get_tokens_unprocessed(code):
            pieces.append((_style(kind), text))
            if time.thread_time() - began > self._left_s:
                self._left_s = 0.0
                return None
        self._left_s -= time.thread_time() - began
        return [
            (style, "".join(text for _, text in run)) for style, run in groupby(pieces, key=lambda piece: piece[0])
        ]


def _spans(words: list[tuple[str, str]]) -> Iterator[str]:
    for style, text in words:
        yield f'<span class="{style}">{escape(text)}</span>' if style else escape(text)


@cache
def _style(kind: tuple[str, ...]) -> str:
    """The longest name that has one counts."""
    names = [".".join(kind[:length]) for length in range(len(kind), 0, -1)]
    return next((_KINDS[name] for name in names if name in _KINDS), "")


@cache
def _lexer(name: str) -> Lexer:
    from pygments import lexers

    return getattr(lexers, name)()
