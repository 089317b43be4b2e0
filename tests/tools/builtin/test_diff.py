"""Edits of any text agree with the plain way of doing them, and the rows tell the truth."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from hookgate.tools.builtin.diff import Span, applied, lf, rows

texts = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", "\r", "ä"]), max_size=40).map("".join)


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, list[Span]]:
    original = draw(texts)
    size = len(lf(original))
    points = sorted(draw(st.lists(st.integers(0, size), max_size=6)))
    pairs = list(zip(points[::2], points[1::2], strict=False))
    spans = [Span(start, end, draw(st.text(alphabet="xy\n", max_size=5))) for start, end in pairs]
    assume(spans and all(lf(original)[span.start : span.end] != span.new for span in spans))
    return original, spans


def plainly(text: str, spans: list[Span]) -> str:
    for span in reversed(spans):
        text = text[: span.start] + span.new + text[span.end :]
    return text


@given(edited())
def test_applying_to_the_original_is_applying_to_its_lf_form(case: tuple[str, list[Span]]) -> None:
    original, spans = case
    # A CR of the original before a LF of the new text would read as one line break.
    assert lf(applied(original, spans)).replace("\r", "") == plainly(lf(original), spans).replace("\r", "")


@given(edited())
def test_the_rows_stand_in_the_text_before_and_after(case: tuple[str, list[Span]]) -> None:
    text, spans = lf(case[0]), case[1]
    shown = rows(text, spans)
    before, after = text.split("\n"), plainly(text, spans).split("\n")
    for hunk in ("\n" + shown).split("\n..."):
        lines = hunk.split("\n")[1:]
        assert stands_in([row[1:] for row in lines if row[0] in " -"], before)
        assert stands_in([row[1:] for row in lines if row[0] in " +"], after)
    marks = [row[0] for row in shown.split("\n")]
    assert marks.count("+") - marks.count("-") == len(after) - len(before)


def stands_in(part: list[str], whole: list[str]) -> bool:
    return any(whole[i : i + len(part)] == part for i in range(len(whole) - len(part) + 1))
