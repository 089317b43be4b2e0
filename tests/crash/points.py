"""Where gateways are killed: at moments, and right before and after each call of the journal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random

from tests.crash.killing import Death, How

LIVES = 10
"""Deaths in a folder before it comes to rest and is looked at."""
MOMENTS: tuple[How, ...] = ("at a moment", "at a moment", "with its guardian", "while it drains", "while it starts")
LONGEST_S = {"while it starts": 1.0}
CALLS = {
    "intake": ("accept", "settle", "conversation", "unfinished"),
    "work": (
        *("claim", "release", "load", "append", "intend", "finish", "complete"),
        *("answered", "answer"),
    ),
    "decisions": ("request", "decide", "standing", "pending"),
    "posting": ("outgoing", "next_row", "sent"),
    "chats": ("said",),
    "holds": ("state", "keep_state", "change_state"),
}
"""Those that a gateway makes which people write to, and which lives for less than a minute."""
_NAMES = [f"{part}.{name}" for part, names in CALLS.items() for name in names]
POINTS = tuple(f"{moment} {name} {time}" for time, name, moment in product((1, 2, 4), _NAMES, ("before", "after")))


def deaths(scene: int, chance: Random) -> Iterator[Death]:
    """Of the scene with this number: every other one at a call, each in its turn."""
    for life in range(LIVES):
        if life % 2:
            yield Death("at a call", call=POINTS[(scene * LIVES + life) // 2 % len(POINTS)])
        else:
            how = chance.choice(MOMENTS)
            yield Death(how, chance.random() * LONGEST_S.get(how, 0.6))
