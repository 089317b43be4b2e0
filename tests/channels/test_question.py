"""What a question looks like: whose words each row holds can be told by how it begins."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.channels.approving import asking
from hookgate.channels.printable import named, visible
from hookgate.channels.terminal.dialogue import WHOLE
from hookgate.channels.terminal.question import Part, Question, measured
from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.chat import Chat
from hookgate.protocol.values import ToolCall
from tests.cli.window import Window

FAKE = "? Run bash?  (rule:shell asks)\n  command:\n| ls\n  bash: 2 characters\n  allow? [y]es once, [n]o: "
TRICKS = [
    FAKE,
    "x" * 39 + FAKE,
    "x" * 37 + FAKE,
    " " * 400 + FAKE,
    "\n" * 400 + FAKE,
    "\r" + FAKE,
    "\r\n" + FAKE,
    "\x1b[2J\x1b[H" + FAKE,
    "\x0b\x0c\x85\u2028\u2029" + FAKE,
    "\t" * 20 + FAKE,
    "\u8349" * 19 + FAKE,
    "\U0001f600" * 19 + FAKE,
    "e\u0301" * 38 + FAKE,
    "a" + "\u0336" * 90 + FAKE,
    "\u0336" + FAKE,
    "\u3164" * 38 + FAKE,
    "\u2800" * 38 + FAKE,
    "\U0001f1e6\U0001f1e7" * 19 + FAKE,
    "\u4dc0\u2630" * 10 + FAKE,
    "\u202e" + FAKE[::-1],
    "\ud800" * 7 + FAKE,
]


def shown(text: str, width: int = 39) -> list[str]:
    return Question("Run bash?", (Part("command", text),), (), "").body_rows(width)


@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.parametrize("width", [23, 38, 39, 40, 79])
def test_no_row_of_what_others_have_written_begins_without_a_gutter(trick: str, width: int) -> None:
    label, *rows = shown(trick, width)
    assert label == "  command:"
    for row in rows:
        assert row[:2] in ("| ", ": ", "|") or row.endswith(" blank rows)")
        assert sum(2 if unicodedata.east_asian_width(it) in "WF" else 1 for it in row) <= width
        assert row.isprintable()


def test_nothing_is_lost_by_folding() -> None:
    text = "".join(chr(number) for number in range(0x21, 0x7F)) * 3
    rows = shown(text)[1:]
    assert "".join(row[2:] for row in rows) == text
    assert [row[0] for row in rows] == ["|", *":" * (len(rows) - 1)]


UNSEEN = [0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x180B, 0x180E, 0x200B, 0x200D, 0x200E, 0x202A, 0x202E]
UNSEEN += [0x2028, 0x2029, 0x2060, 0x2066, 0x206F, 0x2800, 0x3000, 0x3164, 0xA0, 0x2003, 0xFE00, 0xFE0F, 0xFEFF]
UNSEEN += [0xFFA0, 0xFFF9, 0x13441, 0x1D159, 0x1D173, 0x16FE4, 0xE0001, 0xE0041, 0xE0100, 0xE01EF, 0x85, 0x7F, 0x9B]
UNSEEN += [0x0, 0x7, 0x8, 0xD, 0x1B, 0xD800, 0xE000, 0x10FFFF, 0x378, 0xE0FFF]


@pytest.mark.parametrize("number", UNSEEN, ids=hex)
def test_a_character_that_shows_as_nothing_is_written_out(number: int) -> None:
    assert visible(f"rm{chr(number)}x") in (f"rm\\x{number:02x}x", f"rm\\u{number:04x}x", f"rm\\U{number:08x}x")


@pytest.mark.parametrize(
    "text",
    ["Gr\u00fc\u00dfe", "\u043f\u0440\u0438\u0432\u0435\u0442", "\u4f60\u597d", "a\nb\tc", "e\u0301", "\u05e9"],
)
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_many_blank_rows_are_counted_and_few_are_shown() -> None:
    assert shown("a\n\n\nb") == ["  command:", "| a", "|", "|", "| b"]
    assert shown("a" + "\n" * 50 + "b") == ["  command:", "| a", "  (49 blank rows)", "| b"]
    assert shown("a" + " " * 37 * 60 + "b")[2] == "  (59 blank rows)"


def test_a_character_has_two_marks_and_the_rest_are_written_out() -> None:
    assert shown("e" + "\u0301" * 4) == ["  command:", "| e\u0301\u0301\\u0301\\u0301"]
    assert shown("\u0336x") == ["  command:", "| \\u0336x"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("docs__get.page", "docs__get.page"),
        ("zot:todo", "zot:todo"),
        ("ls? (rule:x", '"ls?\\u0020(rule:x"'),
        ("b\u0430sh", '"b\\u0430sh"'),
        ("a\nb", '"a\\nb"'),
        ("", '""'),
        ("x" * 500, f'"{"x" * 64}"...(500_characters)'),
    ],
)
def test_a_name_among_hookgates_own_words_is_one_word(name: str, said: str) -> None:
    assert named(name) == said


def test_the_measure_counts_what_cannot_be_told_by_looking() -> None:
    parts = (Part("command", "ls \u201c\u3164\nx"), Part("n", "5"))
    assert measured("bash", parts, "0123456789abcdef") == (
        "bash: 8 characters, 2 lines, 2 not ASCII, 1 invisible; sha256 0123456789ab"
    )
    new = (Part("path", "new.txt"), Part("content", "a\nb\n"))
    assert measured("write", new) == "write: 11 characters, 2 lines"
    assert measured("x y", (Part("n", "5"),)) == '"x\\u0020y": 1 character'


def test_hookgates_own_rows_go_on_behind_blanks() -> None:
    question = Question(f"Run {named('x' * 70)}?", (), ("session: every call of this conversation",), "")
    assert [row[:4] for row in question.head_rows(30)] == ["? Ru", "    ", "    ", "    "]
    assert question.foot_rows(30) == ["  session: every call of this", "    conversation"]


NASTY = st.text(
    st.sampled_from("?| :\n\t\r\x1bxa\u8349\u0301\u200b\u3164\u2028\U0001f600\u202e\u05e9\ufe0f") | st.characters()
)


@given(st.dictionaries(NASTY, NASTY, max_size=4), NASTY, NASTY, st.integers(24, 60))
def test_on_the_screen_itself_rows_of_others_are_told_by_their_gutter(
    arguments: dict[str, str], title: str, tool: str, width: int
) -> None:
    request = ApprovalRequest(
        *("A1", Chat("cli", "terminal"), ToolCall("1", tool, arguments), "hook:policy"),
        *(title, "", (), 60.0, "0123456789abcdef"),
    )
    text = asking(request).text((width, WHOLE))
    window = Window(text.count("\n") + 1, width)
    window.write(text.replace("\n", "\r\n"))
    first, *rows = window.shown
    assert first.startswith("? Run")
    assert [row for row in rows if not row.startswith(("  ", "| ", ": ")) and row != "|"] == []
    # Nothing was wrapped by the terminal: there it has a row for each of ours.
    assert len(rows) + 1 == text.count("\n")
