"""The spellings: what announces a call in a text, what closes it, and what is only an example. Only patterns."""

from __future__ import annotations

import re

TAGS = ("tool_call", "tool_calls", "assistant_tool_calls", "function_call")

OPENERS = (*(f"<{tag}>" for tag in TAGS), "<|tool_call>", "<|python_tag|>", "[TOOL_CALLS]")
"""What a stream is held back for; compared without case."""

_EXPLICIT = rf"""
    <(?P<tag>{"|".join(TAGS)})>
    |<\|tool_call>\s*+call:\s*+(?P<gemma>[\w.-]++)\s*+(?=\{{)
    |(?P<python><\|python_tag\|>)
    |(?P<mistral>\[TOOL_CALLS\])
"""
EXPLICIT = re.compile(_EXPLICIT, re.VERBOSE | re.IGNORECASE)

_OBJECT = r"""\{(?=[ \t\r\n,]*+["'}]|[ \t\r\n]*+[\w$-]++[ \t\r\n]*+:)"""
VALUE = re.compile(rf"\s*+(?:{_OBJECT}|\[)")
"""How a text begins that may be one JSON value."""

_PROTOCOL = r"""\{[ \t\r\n]*+(?P<quote>["']?)tool_calls(?P=quote)[ \t\r\n]*+:[ \t\r\n]*+\["""
PROTOCOL = re.compile(_PROTOCOL)

# The look ahead spares most characters the alternatives.
_MARK = rf"""
    (?=[<`~\[{{ \t])(?:
    (?P<think><think>)
    |(?P<thought></think>)
    |(?P<explicit>{_EXPLICIT})
    |(?P<fence>`{{3,}}+|^[ \t]*+~{{3,}}+)
    |(?P<code>`[^`\n]++`|``(?:[^`\n]++|`(?!`)|(?!))++``)
    |(?P<ticks>`++)
"""
_FLAGS = re.VERBOSE | re.IGNORECASE | re.MULTILINE
MARK = re.compile(rf"{_MARK}|(?P<object>{_OBJECT})|(?P<array>\[(?=[ \t\r\n]*+[\[{{])))", _FLAGS)
FLAT_MARK = re.compile(rf"{_MARK}|(?P<object>(?={_PROTOCOL})\{{))", _FLAGS)
"""The same for a text in which a bracket never closes: no bracket begins anything, unless it says what."""

THOUGHT = re.compile("</think>", re.IGNORECASE)
BODY = re.compile(r"\s*+(?P<fence>`{3}[ \t]*+\w*+[ \t]*+\n\s*+|(?!))?+(?=[{\[])")
"""What may stand between an opener and its body; a fence there belongs to the opener."""

CLOSERS = re.compile(r"(?:\s*+[}\]])*+")
FENCE = re.compile(r"(?P<run>`{3,}+|[ \t]*+~{3,}+)(?P<info>[^`\n]*+)\n")
LINE_OF_CODE = re.compile(r"(`{3,}+)[^`\n]++\1(?!`)")
ANOTHER = re.compile(r"\s*+(?P<semicolon>;?+)\s*+(?=\{)")
FENCE_END = re.compile(r"\s*+`{3,}+[ \t]*+")

COUNTING = frozenset({"", "json", "tool_call"})
"""The languages of a fence whose value may be a call."""


def skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Past what the pattern matches there."""
    match = pattern.match(text, position)
    return match.end() if match else position


def closing(opener: re.Match[str]) -> re.Pattern[str] | None:
    """What ends a fragment of this opener's kind; None where nothing does."""
    if opener["tag"]:
        return re.compile(rf"</{opener['tag']}>", re.IGNORECASE)
    if opener["gemma"]:
        return re.compile(r"<tool_call\|>", re.IGNORECASE)
    return None
