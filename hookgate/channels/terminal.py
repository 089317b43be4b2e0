"""The terminal as a channel: one person, one conversation, text as it streams, questions at a prompt.

Knows no turn and no signal; where a line comes from is the caller's business.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

import trio

from hookgate.channels.approving import Picture, asking
from hookgate.channels.dialogue import WHOLE, Ask, Console, Dialogue, Size, View, Write, hold
from hookgate.channels.panels import AWAITS, PanelView
from hookgate.channels.printable import named, printable
from hookgate.protocol.approval import GRANTS, ApprovalRequest, CannotAsk, Decide, Decision
from hookgate.protocol.channel import PRESENT, UNLIMITED
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.media import inline, media_reference
from hookgate.protocol.values import ToolCall

if TYPE_CHECKING:
    from hookgate.protocol.zot.frames import Panel

NAME = "cli"
NOBODY = "nobody can be asked here: this is no terminal (with --yes-from-stdin a line of stdin answers)"
GONE = "\n  (this question is over)\n"
MAX_HELD = 1000
"""Of what comes while a question stands open; the oldest goes, with a line that says so."""

Prompt = Callable[[], str | None]
"""The prompt that stands open with what has been typed there; None where none does."""
Draw = Callable[[ToolCall], Awaitable[Picture | None]]
ERASE_LINE = "\r\x1b[K"

_MARKS = {"answer": "", "output": "", "notice": "· ", "error": "! "}


def _attachment(url: str) -> str:
    """What it is; a file that a message holds is nothing that a terminal can show."""
    reference, held = media_reference(url), inline(url)
    if reference is not None:
        return f"{printable(reference.name) or 'a file'} ({reference.type}), which a terminal cannot show"
    if held is not None:
        name, size = printable(held.name) or "a file", len(held.content)
        return f"{name} ({held.type}, {size} bytes), which a terminal cannot show"
    return printable(url)[:200]


class Terminal:
    """`write` gets pieces of text, newlines included. What comes while a prompt stands open goes above it; while a
    question does, it waits, for it could look like another question. `ask` None: nobody can be asked."""

    name = NAME
    limits = UNLIMITED
    state = PRESENT

    def __init__(
        self,
        write: Write,
        ask: Ask | None,
        prompt: Prompt = lambda: None,
        size: Size = lambda: (80, WHOLE),
        view: View | None = None,
    ) -> None:
        self._out = write
        self._ask = ask
        self._prompt = prompt
        self._size = size
        self._view_text = view
        self.picture: Draw | None = None
        """What a call would make of a file, where that can be shown."""
        self._waiting = self._asked = 0
        self._one_at_a_time = trio.Lock()
        self._held: deque[Callable[[], None]] | None = None
        self._dropped = 0
        self._view: PanelView | None = None
        self._streamed: list[str] = []
        self._beside: list[str] = []
        self._in_line = False

    async def send(self, outbound: Outbound, key: str) -> str:
        """An answer that was streamed already is not written again."""
        self._show(outbound)
        return ""

    def _show(self, outbound: Outbound) -> None:
        if self._waits(partial(self._show, outbound)):
            return
        text = printable(outbound.text)
        seen = outbound.kind == "answer" and "".join(self._streamed).rstrip().endswith(text.strip())
        if text.strip() and not seen:
            self.between(f"{_MARKS[outbound.kind]}{text}")
        self._close_line()
        for url in outbound.media:
            self.between(f"· attachment: {_attachment(url)}")
        if outbound.kind in ("answer", "error"):
            self._streamed.clear()

    def stream(self, chat: Chat, text: str) -> None:
        if self._waits(partial(self.stream, chat, text)):
            return
        text = printable(text)
        self._streamed.append(text)
        if self._beside and "\n" in text:
            whole, _, text = text.rpartition("\n")
            self._write(whole)
            self._close_line()
        self._in_line = not text.endswith("\n") if text else self._in_line
        self._write(text)

    def end_stream(self, chat: Chat) -> None:
        if not self._waits(partial(self.end_stream, chat)):
            self._close_line()

    def restart_stream(self, chat: Chat) -> None:
        if self._waits(partial(self.restart_stream, chat)):
            return
        self._streamed.clear()
        self.between("· the answer broke off; asking again")

    def beside(self, text: str) -> None:
        """A line of its own that cuts none of the stream: it waits for the end of the line that has begun."""
        if self._in_line:
            self._beside.append(text)
        else:
            self.between(text)

    def between(self, text: str) -> None:
        """A line of its own, wherever the stream is."""
        if self._waits(partial(self.between, text)):
            return
        self._close_line()
        self._write(self._above(printable(text) + "\n"))

    def draw(self, view: PanelView, panel: Panel) -> None:
        """Over its last drawing, unless something else has been written since."""
        if self._waits(partial(self.draw, view, panel)):
            return
        self._close_line()
        self._view = view
        waiting = self._prompt()
        if waiting is None:
            view.draw(panel)
            return
        # The prompt stands right below the panel, and again when the panel is drawn anew.
        self._out(ERASE_LINE)
        view.draw(panel, AWAITS)
        self._out(waiting)

    def erase(self, view: PanelView) -> None:
        """Take the last drawing away, where nothing has been written since."""
        if self._waits(partial(self.erase, view)):
            return
        waiting = self._prompt()
        if waiting is not None:
            self._out(ERASE_LINE)
        view.erase()
        if waiting is not None:
            self._out(waiting)

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        if self._ask is None:
            self.between(f"! {named(request.call.name)} is refused: {NOBODY}")
            raise CannotAsk(NOBODY)
        drawn = await self.picture((request.unredacted or request).call) if self.picture is not None else None
        dialogue = asking(request, drawn)
        answer = await self.put(dialogue)
        if answer is None:
            raise CannotAsk("nobody answered")
        grant, because = GRANTS.get(answer), f": {dialogue.reason}" if dialogue.reason else ""
        said = (
            Decision(False, NAME, f"the user said no{because}")
            if grant is None
            else Decision(True, NAME, grant=grant)
        )
        await decide(said)

    async def put(self, dialogue: Dialogue) -> str | None:
        """The answer to a question, one at a time: a line typed for one is none for another. None where nobody can
        answer any more."""
        if self._ask is None:
            return None
        self._waiting += 1
        try:
            async with self._one_at_a_time:
                self._asked += 1
                among = self._asked + self._waiting - 1
                dialogue.place = f"{self._asked} of {among}" if among > 1 else ""
                return await self._answer(dialogue, self._ask)
        finally:
            self._waiting -= 1
            self._asked = self._asked if self._waiting else 0

    async def _answer(self, dialogue: Dialogue, ask: Ask) -> str | None:
        self._close_line()
        self._held = deque(maxlen=MAX_HELD)
        answered = False
        try:
            answer = await hold(dialogue, Console(self._write, ask, self._size, self._view_text))
            answered = True
            return answer
        finally:
            if not answered:
                self._write(GONE)
            self._release()

    def _waits(self, act: Callable[[], None]) -> bool:
        if self._held is None:
            return False
        self._dropped += len(self._held) == MAX_HELD
        self._held.append(act)
        return True

    def _release(self) -> None:
        held, self._held = self._held or (), None
        dropped, self._dropped = self._dropped, 0
        if dropped:
            self.between(f"! {dropped} lines that came while the question stood open were dropped")
        for act in held:
            act()

    def _above(self, text: str) -> str:
        waiting = self._prompt()
        return text if waiting is None else f"{ERASE_LINE}{text}{waiting}"

    def _write(self, text: str) -> None:
        if self._view is not None:
            self._view.left_behind()
        self._out(text)

    def _close_line(self) -> None:
        if self._in_line:
            self._write("\n")
        self._in_line = False
        waiting, self._beside = self._beside, []
        for text in waiting:
            self._write(self._above(printable(text) + "\n"))
