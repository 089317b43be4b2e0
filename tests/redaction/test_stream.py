"""A text that is still coming: what may be shown of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.redaction import Redactor
from tests.redaction.corpus import PLAIN, SECRETS, texts

REDACTOR = Redactor(SECRETS, salt=b"salt")


def shown(text: str) -> str:
    return text[: REDACTOR.held_from(text)]


@given(texts, texts)
def test_whatever_comes_the_whole_begins_with_what_was_shown(begun: str, rest: str) -> None:
    whole = REDACTOR.text(begun + rest)
    assert whole.startswith(REDACTOR.text(shown(begun)))


@given(st.lists(texts, max_size=6))
def test_pieces_that_are_redacted_one_by_one_hold_no_known_value(pieces: list[str]) -> None:
    text, at, out = "", 0, ""
    for piece in pieces:
        text += piece
        held = REDACTOR.held_from(text)
        if held > at:
            out, at = out + REDACTOR.text(text[at:held]), held
    out += REDACTOR.text(text[at:])
    assert not any(secret in out for secret in SECRETS)


@pytest.mark.parametrize(
    ("begun", "expected"),
    [
        ("all is well ", "all is well "),
        ("all is wel", "all is "),
        ("a line\n", "a line\n"),
        ("日本語のテキスト", "日本語のテキスト"),
        ("the key is hunter2-hun", "the key is "),
        ("say pa ss wör", "say "),
        ("see: line one\nline", "see: "),
        ("see: line one\nline three", "see: line one\nline "),
        ("password", ""),
        ("the password ", "the "),
        ("the password =", "the "),
        ("the password = abc", "the "),
        ('a "token": "abc def', 'a "'),
        ('a "token": "abc def gh" b c', 'a "token": "abc def gh" b '),
        ("a Authorization: Bearer abc def", "a "),
        ("Authorization: Bearer abc\nb ", "Authorization: Bearer abc\nb "),
        ("use Bearer ", "use "),
        ("run it with --password ", "run it with "),
        ("-----BEGIN PRIVATE KEY-----\nMII\nMII\n", ""),
        ("a\n-----BEGIN RSA PRI", "a\n"),
        ("[link](http://x) and ", "[link](http://x) and "),
        ('{"token": "x", ', ""),
        ('[{"a": 1}', ""),
        ("[1] a footnote ", "[1] a footnote "),
    ],
)
def test_text_is_held_from_where_a_secret_may_be_unfinished(begun: str, expected: str) -> None:
    assert shown(begun) == expected


@pytest.mark.parametrize("text", [text for text in PLAIN if not text.startswith("{")])
def test_a_text_that_ends_with_a_line_is_shown_whole(text: str) -> None:
    assert shown(text) == text


@pytest.mark.parametrize(
    "secret", ["zX9-plainvalue-17z", "correct horse my_secret_staple", "one line\nmy_secret_line"]
)
def test_a_text_that_is_cut_right_behind_a_secret_keeps_it_whole(secret: str) -> None:
    redactor = Redactor([secret, f"{secret[-1]}nother-value"], salt=b"salt")
    text = f"it is {secret}"
    assert redactor.cut_from(text) == len(text)
    assert redactor.cut_from(text[:-1]) < len(text) - 2


@pytest.mark.parametrize("name", ["password", "Tokens", "api_key:", '"secret":"', "`token`", "key"])
def test_a_text_that_is_cut_behind_a_telling_name_keeps_it(name: str) -> None:
    text = f"it is the {name}"
    assert Redactor([], salt=b"salt").cut_from(text) == len(text)


@pytest.mark.parametrize("half", ["api_key=hell", "AKIA", "password:x", "sk-token", "passwordx="])
def test_a_text_that_is_cut_behind_what_may_be_half_a_value_loses_it(half: str) -> None:
    assert Redactor([], salt=b"salt").cut_from(f"it is {half}") == len("it is ")


def test_every_chunking_of_a_secret_is_held() -> None:
    for secret in SECRETS:
        text = f"it is {secret}"
        for at in range(len("it is ") + 1, len(text)):
            assert len(shown(text[:at])) <= len("it is ")
