"""The tool `web_fetch`: the text of one page on the public internet. Changes nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import trio

from hookgate.protocol.dataclasses import replace
from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.protocol.values.effects import NetEffect
from hookgate.tools import arguments
from hookgate.tools.errors import ToolError
from hookgate.tools.failures import failed
from hookgate.tools.schema.objects import takes
from hookgate.tools.text import uncut

if TYPE_CHECKING:
    from hookgate.tools.web.fetch import Answer, OnHop
    from hookgate.tools.web.page import Page

DEFAULT_CHARS = 20_000
MAX_CHARS = 50_000

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([a-zA-Z0-9_:.-]{1,40})", re.IGNORECASE)
_TEXTUAL = re.compile(
    r"text/|application/(?:[\w.-]+\+)?(?:json|xml|yaml|x-yaml|javascript|x-ndjson|toml)\b|[\w/.-]+\+(?:json|xml)"
)

SPEC = ToolSpec(
    name="web_fetch",
    description=(
        "Fetch a page of the public internet over http or https: its final address, title and text; JSON and "
        "plain text come as they are."
    ),
    parameters=takes(
        "url",
        url={"type": "string", "description": "The address, with http:// or https://."},
        max_chars={
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_CHARS,
            "description": f"How much of the text to return. Default {DEFAULT_CHARS}.",
        },
    ),
    mutates=False,
    affects_workspace=False,
)


class WebFetch:
    """`allow_private` is for tests and for operators who serve pages to themselves."""

    def __init__(self, allow_private: bool = False) -> None:
        self.spec = SPEC
        self._allow_private = allow_private

    async def execute(self, call: ToolCall) -> ToolResult:
        hops: list[NetEffect] = []
        try:
            text = await self._text(call, hops.append)
        except ToolError as error:
            # What it asked before it failed, it has asked all the same.
            return replace(failed(call.name, error), effects=tuple(hops))
        return ToolResult(text, effects=tuple(hops))

    async def _text(self, call: ToolCall, on_hop: OnHop) -> str:
        from hookgate.tools.web.fetch import fetch

        answer = await fetch(arguments.required(call, "url"), self._allow_private, on_hop)
        page = await trio.to_thread.run_sync(_page, answer, abandon_on_cancel=True)
        return _text(answer, page, arguments.whole(call, "max_chars", DEFAULT_CHARS))


def _page(answer: Answer) -> Page:
    from hookgate.tools.web.page import Page, read_page

    kind = answer.content_type.split(";")[0].strip().lower()
    if b"\0" in answer.body[:8192] or not (kind == "" or _TEXTUAL.match(kind) or kind == "application/xhtml+xml"):
        raise ToolError("validation", "web_fetch", f"{answer.url} is {kind or 'binary'}; only text can be read")
    text = answer.body.decode(_charset(answer), "replace")
    if kind in ("text/html", "application/xhtml+xml") or (not kind and "<html" in text[:1024].lower()):
        return read_page(text)
    return Page("", text)


def _charset(answer: Answer) -> str:
    """What the header says, else what the page says of itself, else UTF-8; an unknown name is UTF-8 too."""
    found = _CHARSET.search(answer.content_type) or _CHARSET.search(answer.body[:2048].decode("latin-1"))
    name = found[1] if found else "utf-8"
    try:
        b" ".decode(name, "replace")
    except (LookupError, ValueError):
        return "utf-8"
    return name


def _text(answer: Answer, page: Page, max_chars: int) -> str:
    title = f"Title: {page.title[:300]}\n" if page.title else ""
    head = f"{answer.status} {answer.phrase}".strip()
    return f"{head}\nURL: {answer.url}\n{title}\n{_cut(answer, page.text, max_chars)}"


def _cut(answer: Answer, text: str, max_chars: int) -> str:
    if len(text) > max_chars:
        return f"{uncut(text[:max_chars])}\n... [cut at {max_chars} of {len(text)} characters]"
    if answer.truncated:
        return f"{text}\n... [the page is larger than what was read]"
    return text or "(no text)"
