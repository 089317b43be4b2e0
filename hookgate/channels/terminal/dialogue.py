"""A question until it is answered: its head and its tail, or all of it; hidden and revealed; drawn anew, while it is
being answered, where what was shown is not what is seen any more.

Nothing counts as a yes before all of it has been shown. `Dialogue` reads and writes nothing; `hold` does.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from enum import Enum, auto

import trio

from hookgate.channels.printable import one_line, text_columns
from hookgate.channels.terminal.question import Question, own_rows
from hookgate.channels.terminal.screen import Write
from hookgate.protocol.approval import reason_said
from hookgate.protocol.dataclasses import dataclass

Ask = Callable[[str], Awaitable[str | None]]
"""One line typed at this prompt; None where nobody can answer any more."""

Redraw = Callable[[str, str, str], bool]
"""While a line is being typed: instead of this, if it still stands right above the prompt, this text and this prompt.
Whether what has been typed of the line is still there."""

Size = Callable[[], tuple[int, int]]
"""Columns and rows of the terminal at this moment."""


class Viewed(Enum):
    """How much of a text a viewer has shown; NOT: there is none, or it failed."""

    NOT = auto()
    PART = auto()
    WHOLE = auto()


View = Callable[[str], Awaitable[Viewed]]
"""Shows a text until somebody has seen enough of it."""

WHOLE = 1 << 30
"""So many rows has what is no terminal: nothing scrolls away there."""
MIN_COLUMNS, MIN_ROWS = 24, 6
LOOK_S = 0.2
NO, VIEW = "no", "view"
READ_ON = "read all: [v]iew, [w]hole, [n]o:"
TOO_SMALL = "  The window is too small to show what is asked: make it larger, or [n]o: "
UNREAD = "A yes counts once all of it has been shown."
LOST = "What was typed before the window changed is gone, so nothing is decided yet."
UNKNOWN = "{} is none of the answers, so nothing is decided yet."
MAX_TYPED = 40
_WORDS = frozenset(("n", "no", "r", "reveal", "v", "view", "w", "whole"))
"""Those that any question may take."""
_SAYS_WHY = re.compile(r"(?:n[\s,:.!]|no[\s,:.!]+because\b).*", re.IGNORECASE | re.DOTALL)
"""A no with its reason, as no message begins. One may begin with `no, `."""
_SAYS_NO = re.compile(r"no?(?:[\s,:.!]+(.*))?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Answers:
    """`words`: what may be typed, in lower case, and what it means. Nothing typed is NO; after all else it is asked
    again."""

    words: Mapping[str, str]

    def knows(self, typed: str) -> bool:
        """Whether this is one of the words for a question, a no with its reason among them, and nothing else."""
        word = typed.rstrip().lower()
        return word in self.words or word in _WORDS or _SAYS_WHY.fullmatch(word) is not None


YES_OR_NO = Answers({"y": "yes", "yes": "yes"})


class Dialogue:
    """`revealed`: the same question with nothing hidden, where something is; `r` shows it. `place`: among those that
    wait at the same time. `reason`: what was said with a no. `request`: the id of the one it is about, if any."""

    def __init__(self, question: Question, answers: Answers, revealed: Question | None = None) -> None:
        self.place = self.reason = self.request = ""
        self._question, self._answers, self._revealed = question, answers, revealed
        self._begun = self._small = self._read = self._unfolded = self._lost = False
        self._told = self._prompt = self._drawn = ""
        self._widest = 0

    def text(self, size: tuple[int, int]) -> str:
        """What to write before the prompt: the question, or only what stands beside the prompt."""
        return self._text(size, counts=True)

    def anew(self, size: tuple[int, int]) -> tuple[str, str]:
        """Where it does not stand in a window of this size, and an answer is being typed: what was drawn before, if
        nothing else is between, and what to write now. A yes counts afterwards if it did before: it may have been
        typed by now."""
        if self._begun and (_is_small(size) or self._widest < size[0]):
            self._small = _is_small(size)
            return "", ""
        before = self._drawn if self._begun else ""
        self.again()
        return before, self._text(size, counts=False)

    def _text(self, size: tuple[int, int], *, counts: bool) -> str:
        self._small = _is_small(size)
        if self._small:
            return ""
        # Some terminals wrap a row that fills them.
        width = size[0] - 1
        told, self._told = own_rows(self._told, width), ""
        stood = self._begun and self._widest <= width
        body = [] if stood else self._body(width, size[1] // 2, counts=counts)
        head = [] if stood else self._question.head_rows(width, self.place)
        *before, self._prompt = own_rows((self._question.prompt if self._read else READ_ON).strip(), width)
        rows = [*head, *body, *self._question.foot_rows(width), *before]
        widest = max(text_columns(row) for row in (*rows, self._prompt))
        self._widest = max(widest, self._widest) if stood else widest
        text = "".join(f"{row}\n" for row in rows)
        self._drawn, self._begun = (self._drawn if stood else text), True
        return "".join(f"{row}\n" for row in told) + text

    def whole(self, columns: int) -> str:
        """All that there is, for a viewer of texts."""
        rows, width = self._question, columns - 1
        lines = (*rows.head_rows(width), *rows.body_rows(width), *rows.more_rows(width), *rows.foot_rows(width))
        return "".join(f"{line}\n" for line in lines)

    @property
    def prompt(self) -> str:
        """The last row of it; those before stand in the text."""
        return TOO_SMALL if self._small else f"{self._prompt} "

    def hear(self, typed: str) -> str | None:
        """The answer, if what was typed is one. With VIEW, `whole` is to be shown, and then `viewed`, `viewed_part`
        or `unfold` to be called."""
        word = typed.strip().lower()
        if refused := _SAYS_NO.fullmatch(typed.strip()):
            self.reason = reason_said(refused[1] or "")
            return NO
        if self._small:
            self.again()
            return None
        if word in ("v", "view"):
            return VIEW
        if not self._read:
            if word in ("w", "whole"):
                self.unfold()
            else:
                self._told = UNREAD if word in self._answers.words else self._unknown(typed)
            return None
        if self._revealed is not None and word in ("r", "reveal"):
            self._question, self._revealed = self._revealed, None
            self._begun = self._read = self._unfolded = False
            return None
        lost, self._lost = self._lost and not word, False
        if lost:
            self._told = LOST
            return None
        answer = NO if not word else self._answers.words.get(word)
        if answer is None:
            self._told = self._unknown(typed)
        return answer

    def knows(self, typed: str) -> bool:
        """Whether this is one of the words for it, and nothing else."""
        return self._answers.knows(typed)

    @property
    def read(self) -> bool:
        """Whether a yes counts."""
        return self._read

    def viewed(self) -> None:
        """All of it has been seen, elsewhere."""
        self._read = True

    def viewed_part(self) -> None:
        self._told = "" if self._read else UNREAD

    def unfold(self) -> None:
        """It comes as a whole, at once."""
        self._unfolded = True
        self.again()

    def again(self) -> None:
        """From the beginning: other text stands below what was shown."""
        self._begun = False

    def lost(self) -> None:
        """What was being typed for an answer: Enter alone may have been meant for that."""
        self._lost = True

    def stands(self, size: tuple[int, int]) -> bool:
        """What was to be shown by now is what is seen in a window of this size: no row has been folded by the
        terminal, which does not do it at the gutter."""
        if _is_small(size) or self._small:
            return _is_small(size) and self._small
        return self._begun and self._widest < size[0]

    def _body(self, width: int, room: int, *, counts: bool) -> list[str]:
        rows = self._question.body_rows(width)
        if self._unfolded or len(rows) <= room:
            self._read = self._read or counts
            return [*rows, *(self._question.more_rows(width) if self._unfolded else ())]
        tail = max(room // 3, 1)
        hidden = f"  ... {len(rows) - room:,} of {len(rows):,} rows are not shown"
        return [*rows[: room - tail], hidden, *rows[-tail:]]

    def _unknown(self, typed: str) -> str:
        shown = one_line(typed.strip())
        return UNKNOWN.format(f'"{shown if len(shown) <= MAX_TYPED else shown[:MAX_TYPED] + "..."}"') if shown else ""


def _is_small(size: tuple[int, int]) -> bool:
    columns, rows = size
    return columns < MIN_COLUMNS or rows < MIN_ROWS


@dataclass(frozen=True, slots=True)
class Console:
    """`view` None: what is to be viewed is written. `ready`: until all that was written elsewhere is seen."""

    write: Write
    ask: Ask
    redraw: Redraw
    size: Size
    view: View | None = None
    ready: Callable[[], Awaitable[None]] | None = None


async def hold(dialogue: Dialogue, console: Console) -> str | None:
    """The answer; None where nobody can give one any more."""
    if console.ready is not None:
        await console.ready()
    # Before anything is shown: whoever sees it may stop the program at once.
    with _resumes() as resumed:
        return await _asked(dialogue, console, resumed)


async def _asked(dialogue: Dialogue, console: Console, resumed: AsyncIterator[int]) -> str | None:
    while True:
        console.write(dialogue.text(console.size()))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_keep, dialogue, console)
            nursery.start_soon(_begin_again, dialogue, resumed)
            typed = await console.ask(dialogue.prompt)
            nursery.cancel_scope.cancel()
        answer = None if typed is None else dialogue.hear(typed)
        if answer == VIEW:
            await _view(dialogue, console)
        elif typed is None or answer is not None:
            return answer


async def _view(dialogue: Dialogue, console: Console) -> None:
    viewed = Viewed.NOT if console.view is None else await console.view(dialogue.whole(console.size()[0]))
    match viewed:
        case Viewed.WHOLE:
            dialogue.viewed()
        case Viewed.PART:
            dialogue.viewed_part()
        case Viewed.NOT:
            dialogue.unfold()


async def _keep(dialogue: Dialogue, console: Console) -> None:
    """What is asked in sight. By looking, for the signal is the editor's, and once a window that is dragged rests."""
    size = console.size()
    while True:
        await trio.sleep(LOOK_S)
        before, size = size, console.size()
        if size == before and not dialogue.stands(size):
            drawn, text = dialogue.anew(size)
            if not console.redraw(drawn, text, dialogue.prompt):
                dialogue.lost()


async def _begin_again(dialogue: Dialogue, resumed: AsyncIterator[int]) -> None:
    """After `fg` what the shell had to say stands below it."""
    async for _number in resumed:
        dialogue.again()


def _resumes() -> AbstractContextManager[AsyncIterator[int]]:
    if threading.current_thread() is threading.main_thread():
        return trio.open_signal_receiver(signal.SIGCONT)
    # No signal comes there.
    return nullcontext(_never())


async def _never() -> AsyncIterator[int]:
    for number in ():
        yield number
