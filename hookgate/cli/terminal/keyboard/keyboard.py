"""What a conversation needs of whoever types: lines, answers to questions, keys for a panel. Knows no terminal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Protocol

import trio

from hookgate.channels.terminal.panels import Key
from hookgate.channels.terminal.screen import Screen
from hookgate.cli.terminal.person.seat import Seat

Completes = Callable[[str], Awaitable[Sequence[str]]]


async def nothing(_text: str) -> Sequence[str]:
    """Completes no line."""
    await trio.lowlevel.checkpoint()
    return ()


class Keyboard(Protocol):
    """`person`: there is somebody to talk to, who sees questions: on the screen, or on the `seat`, their terminal
    where all else that is written goes elsewhere. `edits`: the input line is there at all times, with editing,
    history and completion; else lines are read one by one, as they are wanted."""

    person: bool
    edits: bool
    prompt: Callable[[], str]
    """What stands before the line. It may be called in any thread."""
    completes: Completes
    """What a line that begins so could become, whole; called in the loop's thread."""
    folder: Path
    """Whose files Tab completes."""
    keeps: Callable[[str], bool]
    """Whether a message may be kept for later chats."""
    answers: Callable[[str], bool]
    """Whether a line is an answer, though no question takes it: in no history. It may be called in any thread."""

    emptied: trio.Event
    """Set when nothing stands in the line any more, where that is seen; the next one is another event."""
    typed: int
    """How often what stands in the line has changed, where that is seen."""
    busy: Callable[[], bool]
    """Whether something runs that Ctrl-C ends; else it takes away what has been typed. In any thread."""

    @property
    def seat(self) -> Seat | None: ...

    @property
    def screen(self) -> Screen: ...

    @property
    def free(self) -> bool:
        """Nobody is typing a line."""
        ...

    async def read(self) -> str:
        """The next line, which may have several. Raises EOFError where no more can come, or the person leaves."""
        ...

    async def ask(self, prompt: str) -> str:
        """One line typed after this prompt has stood there: what was typed before is no answer; Ctrl-D is
        "no". Raises EOFError where no line can come."""
        ...

    def redraw(self, old: str, new: str, prompt: str, /) -> bool:
        """While a line is asked for: `new` above this prompt, instead of `old` where that can be taken away. Whether
        what has been typed of the line is still there."""
        ...

    def insert(self, text: str) -> None:
        """It stands in the line as if it had been typed, as soon as the line is empty."""
        ...

    def clear(self) -> bool:
        """Take away what has been typed of the line; False where there is nothing."""
        ...

    def interrupted(self) -> None:
        """Ctrl-C was pressed, and the terminal may have shown that."""
        ...

    def leave(self) -> None:
        """No line is read any more: what is typed from here on is for whoever has the terminal next."""
        ...

    def keys(self) -> AbstractContextManager[trio.MemoryReceiveChannel[Key]]:
        """Inside, keys come one by one, unseen, Ctrl-C among them, but while a question stands open."""
        ...

    def lent(self) -> AbstractAsyncContextManager[None]:
        """Inside, the terminal is another program's: nothing is drawn and nothing is read."""
        ...
