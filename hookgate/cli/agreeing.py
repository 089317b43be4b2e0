"""Whether somebody at the terminal agrees to what a command, or a chat before it begins, is about to do."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from functools import partial

from hookgate.channels.printable import one_line
from hookgate.channels.terminal.dialogue import YES_OR_NO, Console, Dialogue, hold
from hookgate.channels.terminal.question import Question
from hookgate.cli.printing import failed
from hookgate.cli.terminal.person.pager import view
from hookgate.cli.terminal.person.seat import open_seat

Put = Callable[[Dialogue], Awaitable[str | None]]
"""Asks a person; None where nobody can answer any more."""
NOBODY = "nobody can be asked here; --yes does it without a question"


def yes_or_no(what: str) -> str:
    """The prompt below a question."""
    return f"  {what} [y/N] "


async def agreed(question: Question) -> bool:
    """Waits for the person. Where none sits there it is a no, which is said."""
    with open_seat() as seat:
        if seat is None:
            failed(NOBODY)
            return False
        console = Console(seat.write, seat.ask, seat.redraw, seat.size, partial(view, screen=seat.descriptor))
        return await hold(Dialogue(question, YES_OR_NO), console) == "yes"


def agreed_line(what: str) -> bool:
    """A question of one line on stderr, which a line of any stdin answers: zot's commands ask so."""
    sys.stderr.write(one_line(f"{what} [y/N] "))
    sys.stderr.flush()
    typed = sys.stdin.readline()
    if not (sys.stdin.isatty() and typed.endswith("\n")):
        # Nobody has seen an Enter here.
        sys.stderr.write("\n")
    return typed.strip() in ("y", "Y")
