"""A question of a command that is not a chat: whether somebody at the terminal agrees to what they are shown."""

from __future__ import annotations

import sys
import termios

from hookgate.channels.dialogue import YES_OR_NO, Dialogue
from hookgate.channels.question import Question
from hookgate.cli.terminal.keyboard import screen_size

NOBODY = "nobody can be asked here; --yes does it without a question"


def agreed(question: Question) -> bool:
    """Waits for the person. Where none sits there it is a no, which is said."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        sys.stderr.write(f"hookgate: {NOBODY}\n")
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
    return answer == "yes"
