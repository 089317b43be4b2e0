"""An answer on its way to the screen: what goes above, what stands below, and where layout fails, all of it."""

from __future__ import annotations

import pytest

from hookgate.channels.terminal.display import rendering
from hookgate.channels.terminal.display.answer import Answer


class Written:
    """Both a live screen and one that is not."""

    def __init__(self, *, live: bool) -> None:
        self.live = self.shows = live
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def show(self, text: str) -> None:
        raise AssertionError(text)

    def clear(self) -> None:
        raise AssertionError


def test_what_is_finished_goes_above_and_the_rest_stands_below() -> None:
    screen = Written(live=True)
    answer = Answer(screen, lambda: 40, rendered=True)
    seen: list[tuple[str, list[str]]] = []
    for piece in ("*one*\ntw", "o\n\n- thr", "ee\n- four\n"):
        answer.add(piece)
        seen.append((screen.text, answer.rest))
    one = "\x1b[3mone\x1b[0m\ntwo\n"
    three = f"{one}\n\x1b[1m • \x1b[0mthree\n"
    assert seen == [("", ["*one*", "tw"]), (one, ["- thr"]), (three, ["- four"])]
    answer.end()
    assert (screen.text, answer.rest, answer.is_open) == (f"{three}\x1b[1m • \x1b[0mfour\n", [], False)


def test_what_is_still_written_breaks_between_words_as_it_will_when_it_is_finished() -> None:
    text = (
        "Considerable words stand beside each other, 漢字も一緒に, so a row ends with one of them. "
        + "x" * 50
        + " end"
    )
    screen = Written(live=True)
    answer = Answer(screen, lambda: 24, rendered=True)
    for char in text:
        answer.add(char)
    rest = answer.rest
    answer.end()
    assert rest == screen.text.splitlines()
    answer.add("```\n" + "code " * 10)
    assert answer.rest == ["```", "code " * 10]


@pytest.mark.parametrize(
    ("live", "pieces"),
    [(True, ["", "*one*\n", "*one*\n", "*one*\ntwo\n"]), (False, ["*on", "*one*\nt", "*one*\ntwo", "*one*\ntwo\n"])],
)
def test_without_layout_it_goes_line_by_line_or_as_it_comes(live: bool, pieces: list[str]) -> None:
    screen = Written(live=live)
    answer = Answer(screen, lambda: 40, rendered=False)
    seen: list[str] = []
    for piece in ("*on", "e*\nt", "wo"):
        answer.add(piece)
        seen.append(screen.text)
    answer.end()
    assert [*seen, screen.text] == pieces


@pytest.mark.parametrize("live", [True, False])
def test_a_line_end_that_is_cut_in_two_is_a_line_end_and_a_lone_half_is_seen(live: bool) -> None:
    screen = Written(live=live)
    answer = Answer(screen, lambda: 40, rendered=False)
    for piece in ("one\r", "\ntwo\r", "", "\n\r", "three\r"):
        answer.add(piece)
    answer.end()
    assert screen.text == "one\ntwo\n\\x0dthree\\x0d\n"


def test_what_cannot_be_laid_out_stands_there_as_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_block: object, _columns: int) -> list[str]:
        raise RecursionError

    monkeypatch.setattr(rendering, "rendered", fails)
    screen = Written(live=True)
    answer = Answer(screen, lambda: 40, rendered=True)
    answer.add("```sh\n\x1b[2Jls\n```\n**after**")
    answer.end()
    assert screen.text == "```sh\n\\x1b[2Jls\n```\n**after**\n"
