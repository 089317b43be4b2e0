"""HTML to text: what a person sees, in linear time whatever the page."""

from __future__ import annotations

import pytest

from hookgate.tools.web.page import read_page
from tests.cost import linear


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a</p><script>if (a < b) x()</script><style>p {}</style><p>b", "a\n\nb"),
        ("a <b>bold</b> <i>word</i>", "a bold word"),
        ("<ul><li>one<li>two</ul>", "- one\n- two"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a b"),
        ("a<!-- <p>hidden</p> -->b", "ab"),
        ("1 < 2 &amp;&lt;&#39;", "1 < 2 &<'"),
        ("<SCRIPT>x</ScRiPt >after", "after"),
        ("a\n  b\n\n\nc", "a b c"),
        ("<a href='x'>link</a", "link"),
        ("<p>cut <!-- off", "cut"),
        ("&lt;script&gt;alert(1)&lt;/script&gt;", "<script>alert(1)</script>"),
        ("x\0y<br>z", "xy\nz"),
    ],
)
def test_a_page_reads_as_a_person_sees_it(html: str, text: str) -> None:
    assert read_page(html).text == text


@pytest.mark.parametrize(
    "piece",
    [
        "<a ",
        "<!--",
        "<![CDATA[",
        "<script>",
        "</a",
        "&#",
        "&amp",
        "<?",
        "<",
        "<a href='",
        "<title>",
        "<li>",
        "\n ",
        "<br>\n",
    ],
)
def test_no_page_takes_more_than_linear_time(piece: str) -> None:
    with linear():
        read_page(piece * (1_000_000 // len(piece)))
