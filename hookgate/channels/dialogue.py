"""A question until it is answered: page by page, hidden and revealed, anew when the window changes its size.

Nothing counts as a yes before all of it has been shown. `Dialogue` reads and writes nothing; `hold` does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import trio

from hookgate.channels.question import Question
from hookgate.protocol.dataclasses import dataclass

Write = Callable[[str], None]
Ask = Callable[[str], Awaitable[str | None]]
"""One line typed at this prompt; None where nobody can answer any more."""

Size = Callable[[], tuple[int, int]]
"""Columns and rows of the terminal at this moment."""

WHOLE = 1 << 30
"""So many rows has what is no terminal: nothing scrolls away there."""
MIN_COLUMNS, MIN_ROWS = 24, 6
LOOK_S = 0.2
NO = "no"
READ_ON = "  read on? [m]ore, [w]hole, [n]o: "
TOO_SMALL = "  The window is too small to show what is asked: make it larger, or [n]o: "


@dataclass(frozen=True, slots=True)
class Answers:
    """`words`: what may be typed, in lower case, and what it means. `otherwise`: what all else means; None: it is
    asked again. Nothing typed is NO."""

    words: Mapping[str, str]
    otherwise: str | None = None


YES_OR_NO = Answers({"y": "yes", "yes": "yes"}, otherwise=NO)


class Dialogue:
    """`revealed`: the same question with nothing hidden, where something is; `r` shows it."""

    def __init__(self, question: Question, answers: Answers, revealed: Question | None = None) -> None:
        self._question, self._answers, self._revealed = question, answers, revealed
        self._rest: list[str] | None = None
        self._whole = False
        self._small = False

    def text(self, size: tuple[int, int]) -> str:
        """What to write before the prompt: the next page, or only what stands beside the prompt."""
        columns, rows = size
        self._small = columns < MIN_COLUMNS or rows < MIN_ROWS
        if self._small:
            self.again()
            return ""
        # Some terminals wrap a row that fills them.
        width = columns - 1
        lines: list[str] = []
        if self._rest is None:
            lines, self._rest = self._question.head_rows(width), self._question.body_rows(width)
        page = len(self._rest) if self._whole else rows // 2
        shown, self._rest = self._rest[:page], self._rest[page:]
        lines += shown
        if self._rest:
            lines.append(f"  ... {len(self._rest):,} more rows")
        else:
            self._whole = True
        return "".join(f"{line}\n" for line in (*lines, *self._question.foot_rows(width)))

    @property
    def prompt(self) -> str:
        return TOO_SMALL if self._small else READ_ON if self._rest else self._question.prompt

    def hear(self, typed: str) -> str | None:
        """The answer, if what was typed is one."""
        word = typed.strip().lower()
        if word in ("n", NO):
            return NO
        if self._small:
            return None
        if self._rest:
            self._whole = word in ("w", "whole")
            return None
        if self._revealed is not None and word in ("r", "reveal"):
            self._question, self._revealed = self._revealed, None
            self._rest, self._whole = None, False
            return None
        return NO if not word else self._answers.words.get(word, self._answers.otherwise)

    def again(self) -> None:
        """From the beginning: what was shown has been folded anew by the terminal, and not at the gutter."""
        self._rest = None


@dataclass(frozen=True, slots=True)
class Console:
    write: Write
    ask: Ask
    size: Size


async def hold(dialogue: Dialogue, console: Console) -> str | None:
    """The answer; None where nobody can give one any more."""
    while True:
        size = console.size()
        console.write(dialogue.text(size))
        typed: list[str | None] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_resized, console, size, nursery.cancel_scope)
            typed.append(await console.ask(dialogue.prompt))
            nursery.cancel_scope.cancel()
        match typed:
            case []:
                dialogue.again()
                console.write("\n")
            case [str(line), *_]:
                answer = dialogue.hear(line)
                if answer is not None:
                    return answer
            case _:
                return None


async def _resized(console: Console, size: tuple[int, int], scope: trio.CancelScope) -> None:
    """By looking, since the signal is readline's."""
    while console.size() == size:  # noqa: ASYNC110 - nothing else tells
        await trio.sleep(LOOK_S)
    scope.cancel()
