"""Markdown becomes HTML that is safe to show: no HTML of its own, no script, no picture from elsewhere, at a cost
that grows with its length alone.

Knows no page and no clock but its own cost, about 2 ms a KB: a long text is for a thread. What this stands on is
imported for the first text.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Final, cast

from hookgate.channels.highlighting import STYLES, Highlighting

if TYPE_CHECKING:
    import nh3
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

MAX_CHARS = 200_000
"""A longer text is shown as it was written."""
MAX_LINKED_WORD = 2000
"""What finds links is quadratic within a word."""
MIN_PAUSE_S, PAUSE_PER_COST = 0.05, 10.0
MAX_STEP = 2_000
"""Characters of a text that is being written that one step adds, however many have come."""
MAX_OPEN, MAX_OPEN_CODE = 4_000, 40_000
"""Of a block that is still open: each step renders it again, code ten times as fast as the rest."""
MAX_HEAD = 500
"""Of the lines that a part of a table or of code begins with again."""
OWN_IMAGE: Final = re.compile(r"/media/[0-9a-f]{64}")
_LINE_ENDS = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
"""Fewer than Python knows: only what Markdown counts as lines."""
_WORD = re.compile(r"[\w+#.-]{1,30}")
_ALIGNED = {"text-align:left": "left", "text-align:center": "center", "text-align:right": "right"}
_TAGS: Final = frozenset(
    [
        *("a", "blockquote", "br", "code", "em", "hr", "img", "li", "ol", "p", "pre", "s", "span", "strong", "ul"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "table", "tbody", "td", "th", "thead", "tr"),
    ]
)
_ATTRIBUTES = {
    "a": {"href", "title"},
    "img": {"src", "alt", "title"},
    "ol": {"start"},
    "pre": {"data-language"},
}


def to_html(text: str) -> str:
    if len(text) > MAX_CHARS:
        return f"<pre>{escape(text)}</pre>"
    md, env = _parser_for(text), {"highlighting": Highlighting()}
    return _safe(md.renderer.render(md.parse(text, env), md.options, env))


class StreamedMarkdown:
    """Text that is still being written: a block that has closed is rendered once, the open one each time.

    What a step costs is bounded: a block that becomes too long is closed in parts, which `to_html` puts together at
    the end. A link that is defined further down, and colours of code that is still open, come with it, too."""

    __slots__ = ("_closed", "_coming", "_env", "_open", "pause_s")

    def __init__(self) -> None:
        self._closed, self._open, self._coming = "", "", ""
        self._env: EnvType = {}
        self.pause_s = MIN_PAUSE_S
        """From the last `render` to the next: the dearer it was, the longer."""

    def add(self, text: str) -> None:
        self._coming += text

    @property
    def behind(self) -> bool:
        """Whether there is more than the last step took."""
        return bool(self._coming)

    def render(self) -> tuple[str, str]:
        """HTML of the closed blocks, which only grows, and of the open one, which is another each time."""
        started = time.thread_time()
        self._open += self._coming[:MAX_STEP]
        self._coming = self._coming[MAX_STEP:]
        tokens = self._parsed()
        last = max((at for at, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0), default=0)
        base = 0
        if last and (lines := tokens[last].map):
            base = lines[0]
            self._close(tokens[:last], "".join(_LINE_ENDS.split(self._open)[base:]))
            tokens = tokens[last:]
        if tokens and (parts := _parted(self._open, tokens, base)):
            self._open, tail = parts
            self._close(self._parsed(), tail)
            tokens = self._parsed()
        shown = self._rendered(tokens, Highlighting(budget_s=0))
        self.pause_s = max(MIN_PAUSE_S, PAUSE_PER_COST * (time.thread_time() - started))
        return self._closed, shown

    def _parsed(self) -> list[Token]:
        return _parser_for(self._open).parse(self._open, self._env)

    def _close(self, tokens: Sequence[Token], left: str) -> None:
        self._closed += self._rendered(tokens, Highlighting())
        self._open = left

    def _rendered(self, tokens: Sequence[Token], highlighting: Highlighting) -> str:
        md = _parser_for("")
        self._env["highlighting"] = highlighting
        return _safe(md.renderer.render(tokens, md.options, self._env))


def _parted(text: str, tokens: Sequence[Token], base: int) -> tuple[str, str] | None:
    """An open block that is too long, as two: what is closed by now, and what goes on, as a block of its own. Between
    the last two points of a list, else lines, else words. `base`: the number of its first line in the tokens."""
    is_code = tokens[0].type in ("fence", "code_block")
    if len(text) <= (MAX_OPEN_CODE if is_code else MAX_OPEN):
        return None
    starts = [0]
    for line in (lines := _LINE_ENDS.split(text)):
        starts.append(starts[-1] + len(line))
    points = [it.map[0] - base for it in tokens if it.type == "list_item_open" and it.level == 1 and it.map]
    tried = (*(starts[it] for it in points[-1:]), starts[len(lines) - 1], text.rfind(" ") + 1, len(text))
    at = next(it for it in tried if it and len(text) - it <= MAX_OPEN // 2)
    repeated = {"fence": 1, "table_open": 2}.get(tokens[0].type, 0)
    head = "".join(lines[:repeated])
    return text[:at], (head if len(head) <= MAX_HEAD else "") + text[at:]


class _Parsers(threading.local):
    """One for each thread: what finds links keeps where it is in itself."""

    parser: MarkdownIt | None = None


_parsers = _Parsers()


def _parser_for(text: str) -> MarkdownIt:
    if _parsers.parser is None:
        from markdown_it import MarkdownIt

        md = MarkdownIt("commonmark", {"linkify": True, "html": False})
        md.enable(["table", "strikethrough", "linkify"])
        if md.linkify:
            # `README.md` is a file, not a host in Moldova.
            md.linkify.set({"fuzzy_link": False, "fuzzy_email": False})  # pyright: ignore[reportUnknownMemberType]
        md.core.ruler.push("harmless", _harmless)
        md.add_render_rule("fence", _code)
        md.add_render_rule("code_block", _code)
        _parsers.parser = md
    _parsers.parser.options["linkify"] = max(map(len, text.split()), default=0) <= MAX_LINKED_WORD
    return _parsers.parser


def _harmless(state: StateCore) -> None:
    """Pictures from elsewhere become links, alignment becomes a class."""
    for token in state.tokens:
        if token.type == "inline" and token.children:
            token.children = list(_without_pictures(token.children))
        elif aligned := _ALIGNED.get(str(token.attrs.pop("style", ""))):
            token.attrs["class"] = aligned


def _without_pictures(tokens: Sequence[Token]) -> Iterator[Token]:
    from markdown_it.token import Token

    links = 0
    for token in tokens:
        links += token.nesting if token.type in ("link_open", "link_close") else 0
        source = str(token.attrs.get("src", ""))
        if token.type != "image" or OWN_IMAGE.fullmatch(source):
            yield token
            continue
        text = Token("text", "", 0, content=token.content or source)
        if links:
            yield text
        else:
            yield Token("link_open", "a", 1, attrs={"href": source})
            yield text
            yield Token("link_close", "a", -1)


def _code(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:
    del renderer, options
    token, highlighting = tokens[at], cast("Highlighting", env["highlighting"])
    language = found.group() if (found := _WORD.match(token.info.strip())) else ""
    shown = highlighting.html(token.content, language.lower()) or escape(token.content)
    label = f' data-language="{escape(language)}"' if language else ""
    return f"<pre{label}><code>{shown}</code></pre>\n"


def _safe(html: str) -> str:
    """Only for what the renderer made: nested deeply, what others wrote would be dear to clean."""
    return _cleaner().clean(html)


@cache
def _cleaner() -> nh3.Cleaner:
    import nh3

    return nh3.Cleaner(
        tags=set(_TAGS),
        attributes=_ATTRIBUTES,
        attribute_filter=_own_pictures,
        allowed_classes={"span": set(STYLES), "td": set(_ALIGNED.values()), "th": set(_ALIGNED.values())},
        set_tag_attribute_values={"a": {"target": "_blank"}, "pre": {"tabindex": "0"}},
        link_rel="noopener noreferrer nofollow",
        url_schemes={"http", "https", "mailto"},
        url_relative=_own_address,
    )


def _own_pictures(tag: str, name: str, value: str) -> str | None:
    return value if tag != "img" or name != "src" else _own_address(value)


def _own_address(url: str) -> str | None:
    return url if OWN_IMAGE.fullmatch(url) else None
