"""A question answered page by page: a yes counts once all has been shown, and nothing hides without saying so."""

from __future__ import annotations

import pytest
import trio

from hookgate.channels.terminal.dialogue import (
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


async def test_a_window_that_changes_its_size_shows_all_that_was_read_anew() -> None:
    sizes = [(40, 12)]
    written: list[str] = []
    prompts: list[str] = []

    async def ask(prompt: str) -> str:
        prompts.append(prompt.strip())
        if len(prompts) == 1:
            return "w"
        if len(prompts) == 2:
            sizes[0] = (30, 12)
            await trio.sleep_forever()
        return "y"

    with trio.fail_after(20):
        assert await hold(Dialogue(LONG, ALLOW), Console(written.append, ask, lambda: sizes[0])) == "once"
    assert prompts == [READ_ON, "allow?", "allow?"]
    assert written[-2:] == [
        "\n",
        f"? Run bash?\n  command:\n{''.join(f'| {n}' + chr(10) for n in range(1, 20))}{FOOT}",
    ]


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

    console = Console(written.append, ask, lambda: (40, 12), view)
    assert await hold(Dialogue(LONG, ALLOW), console) == "once"
    assert (viewed[0].count("\n| "), "".join(written).count("\n| 9\n")) == (19, 0 if shown == Viewed.WHOLE else 1)


async def test_the_end_of_input_is_no_answer() -> None:
    async def ask(_prompt: str) -> None:
        await trio.lowlevel.checkpoint()

    assert await hold(Dialogue(LONG, ALLOW), Console(lambda _text: None, ask, lambda: (80, WHOLE))) is None
