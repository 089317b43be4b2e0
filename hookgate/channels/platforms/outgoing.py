"""A message on its way to a platform, as its channel sees it: what stands before its text, what it is shown as the
reply to, and the calls that it takes, each made once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from hookgate.protocol.chat import Outbound

MARKS = {"answer": "", "output": "", "notice": "\u2139\ufe0f ", "error": "⚠️ "}
UNFINISHED = 1000
"""Messages of several calls that broke off in the middle: their beginnings are not made again."""


def written(outbound: Outbound, notes: Sequence[str] = ()) -> str:
    """Its text as Markdown, with a line for each file that is not attached."""
    text = f"{MARKS[outbound.kind]}{outbound.text}" if outbound.text else ""
    return "\n".join(filter(None, (text, *notes)))


def replied_to(outbound: Outbound) -> str:
    """In a group it is shown what is answered; in a chat with one person that is plain."""
    shows = outbound.chat.chat_type != "direct" and outbound.kind in ("answer", "error")
    return outbound.in_reply_to if shows else ""


class Begun:
    """What has been made of each message, by its key, so that another try goes on where the last one broke off."""

    def __init__(self) -> None:
        self._done: OrderedDict[str, list[str]] = OrderedDict()

    async def go_on(self, key: str, steps: Sequence[Callable[[], Awaitable[str]]]) -> str:
        """The receipt: what each step gives, the ids of its messages."""
        done = self._done.setdefault(key, [])
        for step in steps[len(done) :]:
            done.append(await step())
        self._done.pop(key, None)
        while len(self._done) > UNFINISHED:
            self._done.popitem(last=False)
        return " ".join(filter(None, done))
