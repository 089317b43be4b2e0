"""Whether somebody at the terminal agrees to what a command, or a chat before it begins, is about to do."""

from __future__ import annotations

import sys
import termios
from collections.abc import Awaitable, Callable

from hookgate.channels.dialogue import VIEW, YES_OR_NO, Dialogue
from hookgate.channels.printable import one_line
from hookgate.channels.question import Question
from hookgate.cli.printing import failed, screen_size

Put = Callable[[Dialogue], Awaitable[str | None]]
"""Asks a person; None where nobody can answer any more."""
NOBODY = "nobody can be asked here; --yes does it without a question"


def yes_or_no(what: str) -> str:
    """The prompt below a question."""
    return f"  {what} [y/N] "


def agreed(question: Question) -> bool:
    """Waits for the person. Where none sits there it is a no, which is said."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        failed(NOBODY)
        return False
    dialogue = Dialogue(question, YES_OR_NO)
    answer = None
    while answer is None:
        size = screen_size()
        sys.stdout.write(dialogue.text(size))
        # What was typed before the question stood there is no answer to it.
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
        try:
            typed = input(dialogue.prompt)
        except EOFError:
            return False
        if screen_size() == size:
            answer = dialogue.hear(typed)
        else:
            dialogue.again()
        if answer == VIEW:
            dialogue.unfold()
            answer = None
    return answer == "yes"


def agreed_line(what: str) -> bool:
    """A question of one line on stderr, which a line of any stdin answers: zot's commands ask so."""
    sys.stderr.write(one_line(f"{what} [y/N] "))
    sys.stderr.flush()
    typed = sys.stdin.readline()
    if not (sys.stdin.isatty() and typed.endswith("\n")):
        # Nobody has seen an Enter here.
        sys.stderr.write("\n")
    return typed.strip() in ("y", "Y")
