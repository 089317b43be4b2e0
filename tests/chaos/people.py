"""People under chaos: they talk all the while, and press whatever buttons they see. What the model says to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from time import monotonic

import trio

from tests.chaos.books import WORDS, Books, Said
from tests.chaos.platform import Chats
from tests.crash.world import answered, call_of
from tests.model_server import Answer, Received, says

KINDS = ("say", "say", "tell", "append", "careful", "careful", "never", "spam")
LIFE_S, TALK_S, PRESS_S = 8.0, 0.5, 0.2
STAGES = ("on_message", "before_tool")
"""None at before_send, so that answers are read while they are written."""
RULE = '[[approvals]]\nname = "own"\ntools = ["bash"]\nttl_s = 3600\n'


@dataclass
class People:
    """`talk_s`: between two messages, of all together."""

    platform: Chats
    books: Books
    chance: Random
    kinds: Sequence[str] = KINDS
    talk_s: float = TALK_S

    async def talk(self) -> None:
        number = 0
        while True:
            number += 1
            chat, kind = self.chance.choice(self.platform.chats), self.chance.choice(self.kinds)
            said = Said(kind, str(number), chat)
            self.books.said[said.key] = said
            self.platform.say(chat, said.text)
            await trio.sleep(self.chance.random() * 2 * self.talk_s)

    async def press(self) -> None:
        """Whoever sees live buttons presses; and again, if they are live much later."""
        pressed = dict[str, float]()
        while True:
            self.books.look()
            for card in self.platform.cards():
                if monotonic() - pressed.get(card.id, 0.0) > LIFE_S:
                    pressed[card.id] = monotonic()
                    said = next(it for it in self.books.said.values() if it.call == call_of(card.text))
                    self.platform.press(card, allow=said.allowed)
            await trio.sleep(PRESS_S)


def model_says(received: Received) -> Answer:
    kind, key = next(it["content"] for it in reversed(received.body["messages"]) if it["role"] == "user").split()
    return replace(says("done ", key, *WORDS), pause_s=0.1) if kind == "tell" else answered(received)
