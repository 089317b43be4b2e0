"""A question answered page by page: a yes counts once all has been shown, and nothing hides without saying so."""

from __future__ import annotations

import pytest
import trio

from hookgate.channels.terminal.dialogue import (
    LOST,
    READ_ON,
    TOO_SMALL,
    UNREAD,
    VIEW,
    WHOLE,
    YES_OR_NO,
    Answers,
    Console,
    Dialogue,
    Viewed,
    hold,
)
from hookgate.channels.terminal.question import Part, Question

ALLOW = Answers({"y": "once"})
FOOT = "  bash: 5 characters\n"


def asked(*lines: str) -> Question:
    return Question("Run bash?", (Part("command", "\n".join(lines)),), ("bash: 5 characters",), "allow? ")


def unchanged(_old: str, _new: str, _prompt: str) -> bool:
    raise AssertionError("the window stays as it is")


LONG = asked(*map(str, range(1, 20)))


def test_what_fits_is_shown_whole_and_what_is_typed_is_the_answer() -> None:
    dialogue = Dialogue(asked("ls"), ALLOW)
    assert dialogue.text((40, 12)) == f"? Run bash?\n  command:\n| ls\n{FOOT}"
    assert dialogue.prompt.lstrip() == "allow? "
    assert dialogue.hear("maybe") is None
    assert dialogue.text((80, 24)) == f'  "maybe" is none of the answers, so nothing is decided yet.\n{FOOT}'
    assert dialogue.text((40, 12)) == FOOT
    assert dialogue.hear(" Y ") == "once"


@pytest.mark.parametrize("typed", ["n", "no", "", " "])
def test_nothing_typed_is_a_no(typed: str) -> None:
    dialogue = Dialogue(asked("ls"), ALLOW)
    dialogue.text((40, 12))
    assert dialogue.hear(typed) == "no"


def test_of_what_is_longer_than_half_a_screen_head_and_tail_are_shown_and_a_yes_counts_once_it_was_viewed() -> None:
    dialogue = Dialogue(LONG, ALLOW)
    ends = "  command:\n| 1\n| 2\n| 3\n  ... 14 of 20 rows are not shown\n| 18\n| 19\n"
    assert dialogue.text((40, 12)) == f"? Run bash?\n{ends}{FOOT}"
    assert (dialogue.prompt.strip(), dialogue.hear("y")) == (READ_ON, None)
    assert dialogue.text((80, 12)) == f"  {UNREAD}\n{FOOT}"
    assert dialogue.hear("v") == VIEW
    assert dialogue.whole(40) == f"? Run bash?\n  command:\n{''.join(f'| {n}' + chr(10) for n in range(1, 20))}{FOOT}"
    # Nobody has seen it yet.
    assert (dialogue.prompt.strip(), dialogue.hear("y")) == (READ_ON, None)
    dialogue.viewed()
    dialogue.text((40, 12))
    assert (dialogue.prompt.lstrip(), dialogue.hear("y")) == ("allow? ", "once")


def test_all_of_it_can_be_had_in_place_and_a_no_needs_none_of_it() -> None:
    dialogue = Dialogue(LONG, ALLOW)
    dialogue.text((40, 12))
    assert dialogue.hear("w") is None
    assert dialogue.text((40, 12)).count("\n| ") == 19
    assert dialogue.hear("y") == "once"
    unread = Dialogue(LONG, ALLOW)
    unread.text((40, 12))
    assert unread.hear("no") == "no"


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("n because it is Friday", "it is Friday"),
        ("No, because: it is Friday", "it is Friday"),
        ("n it is Friday", "it is Friday"),
        ("no becauseless", "becauseless"),
        ("n", ""),
    ],
)
def test_what_stands_behind_a_no_is_its_reason(typed: str, reason: str) -> None:
    dialogue = Dialogue(LONG, ALLOW)
    dialogue.text((40, 12))
    assert (dialogue.hear(typed), dialogue.reason) == ("no", reason)


def test_what_is_hidden_is_revealed_and_then_read_page_by_page() -> None:
    dialogue = Dialogue(asked("echo [REDACTED:1f0c]"), ALLOW, LONG)
    dialogue.text((40, 12))
    assert dialogue.hear("r") is None
    assert dialogue.text((40, 12)).startswith("? Run bash?\n  command:\n| 1\n")
    assert (dialogue.prompt.strip(), dialogue.hear("y")) == (READ_ON, None)
    dialogue.hear("w")
    dialogue.text((40, 12))
    assert dialogue.hear("r") is None
    assert dialogue.hear("y") == "once"


def test_what_is_not_hidden_cannot_be_revealed() -> None:
    dialogue = Dialogue(asked("ls"), YES_OR_NO)
    dialogue.text((40, 12))
    assert dialogue.hear("r") is None
    assert '"r" is none of the answers' in dialogue.text((40, 12)).replace("\n   ", "")


def test_a_window_that_is_too_small_shows_nothing_and_takes_no_yes() -> None:
    dialogue = Dialogue(asked("ls"), ALLOW)
    for size in ((10, 30), (80, 3)):
        assert (dialogue.text(size), dialogue.prompt, dialogue.hear("y")) == ("", TOO_SMALL, None)
    assert dialogue.hear("n") == "no"
    assert "| ls\n" in dialogue.text((40, 12))
    assert dialogue.hear("y") == "once"


@pytest.mark.parametrize(
    ("size", "instead"),
    [
        pytest.param((60, 4), ("", ""), id="too small"),
        pytest.param((40, 24), None, id="higher"),
        pytest.param((60, 7), None, id="wider and lower"),
        pytest.param((25, 12), None, id="as narrow as it is"),
        pytest.param((24, 12), ("all", "? Run bash?\n  command:\n| {0}\n: {1}\n" + FOOT), id="narrower"),
    ],
)
def test_only_where_the_terminal_would_fold_a_row_of_it_a_question_is_drawn_anew(
    size: tuple[int, int], instead: tuple[str, str] | None
) -> None:
    dialogue = Dialogue(asked("x" * 22), ALLOW)
    drawn = dialogue.text((40, 12))
    assert dialogue.stands(size) is (instead is None)
    if instead is not None:
        before, text = dialogue.anew(size)
        assert (before, text) == (drawn if instead[0] else "", instead[1].format("x" * 21, "x"))
        assert dialogue.stands(size)
    # It was shown whole once.
    assert dialogue.hear("y") == (None if size[1] == 4 else "once")


def test_other_text_below_a_question_is_left_there_and_a_window_that_is_large_again_shows_what_it_did() -> None:
    dialogue = Dialogue(LONG, ALLOW)
    drawn = dialogue.text((40, 12))
    assert dialogue.anew((40, 5)) == ("", "")
    assert (dialogue.prompt, dialogue.stands((40, 12))) == (TOO_SMALL, False)
    assert dialogue.anew((40, 12)) == ("", "")
    assert dialogue.prompt.strip() == READ_ON
    dialogue.again()
    assert dialogue.anew((40, 12)) == ("", drawn)


def test_what_comes_into_sight_while_an_answer_may_have_been_typed_lets_no_yes_count() -> None:
    dialogue = Dialogue(LONG, ALLOW)
    dialogue.text((60, 12))
    dialogue.again()
    assert dialogue.anew((60, 50))[1].count("\n| ") == 19
    assert (dialogue.prompt.strip(), dialogue.hear("y")) == (READ_ON, None)
    assert dialogue.hear("w") is None
    assert dialogue.text((60, 50)).count("\n| ") == 19
    assert dialogue.hear("y") == "once"


@pytest.mark.parametrize("keeps", [True, False])
async def test_a_window_that_has_become_narrower_shows_all_that_was_read_anew_while_the_answer_is_typed(
    keeps: bool,
) -> None:
    sizes = [(40, 12)]
    written: list[str] = []
    prompts: list[str] = []
    redrawn: list[tuple[str, str, str]] = []
    anew = trio.Event()

    def redraw(*drawn: str) -> bool:
        redrawn.append((drawn[0], drawn[1], drawn[2]))
        anew.set()
        return keeps

    async def ask(prompt: str) -> str:
        prompts.append(prompt.strip())
        if prompts == [READ_ON]:
            return "w"
        if not redrawn:
            sizes[0] = (30, 12)
            await anew.wait()
            # After which it is known whether what was typed is still there.
            await trio.lowlevel.checkpoint()
            return ""
        return "y"

    question = asked("x" * 30, *map(str, range(20)))
    with trio.fail_after(20):
        answer = await hold(Dialogue(question, ALLOW), Console(written.append, ask, redraw, lambda: sizes[0]))
    [(before, text, prompt)] = redrawn
    assert (before, prompt) == (written[1], "  allow? ")
    assert text.startswith(f"? Run bash?\n  command:\n| {'x' * 27}\n: xxx\n| 0\n| 1\n")
    if keeps:
        assert (answer, prompts) == ("no", [READ_ON, "allow?"])
    else:
        assert (answer, prompts) == ("once", [READ_ON, "allow?", "allow?"])
        assert written[2].replace("\n    ", " ") == f"  {LOST}\n{FOOT}"


@pytest.mark.parametrize("shown", [Viewed.WHOLE, Viewed.NOT])
async def test_what_is_to_be_viewed_is_written_where_no_viewer_works(shown: Viewed) -> None:
    viewed, written, answers = list[str](), list[str](), iter(["v", "y"])

    async def ask(_prompt: str) -> str:
        await trio.lowlevel.checkpoint()
        return next(answers)

    async def view(text: str) -> Viewed:
        await trio.lowlevel.checkpoint()
        viewed.append(text)
        return shown

    console = Console(written.append, ask, unchanged, lambda: (40, 12), view)
    assert await hold(Dialogue(LONG, ALLOW), console) == "once"
    assert (viewed[0].count("\n| "), "".join(written).count("\n| 9\n")) == (19, 0 if shown == Viewed.WHOLE else 1)


async def test_the_end_of_input_is_no_answer() -> None:
    async def ask(_prompt: str) -> None:
        await trio.lowlevel.checkpoint()

    assert await hold(Dialogue(LONG, ALLOW), Console(lambda _text: None, ask, unchanged, lambda: (80, WHOLE))) is None
