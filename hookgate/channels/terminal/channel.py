"""The terminal as a channel: one person, one conversation, text as it streams, questions at a prompt.

Knows no turn and no signal; where a line comes from is the caller's business.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from time import time
from typing import TYPE_CHECKING

import trio

from hookgate.channels.approving import USUAL, Picture, asking, decision
from hookgate.channels.printable import RESET, coloured, named, printable
from hookgate.channels.terminal.dialogue import WHOLE, Console, Dialogue, Size, hold
from hookgate.channels.terminal.display.answer import Answer, prepare
from hookgate.channels.terminal.display.attachment import attachment
from hookgate.channels.terminal.display.working import Working
from hookgate.channels.terminal.display.wrapping import wrapped
from hookgate.channels.terminal.held import HeldActs
from hookgate.channels.terminal.panels import PanelView
from hookgate.channels.terminal.questions import OpenQuestions
from hookgate.channels.terminal.screen import Screen
from hookgate.protocol.approval import ApprovalRequest, CannotAsk, Decide
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import PRESENT, UNLIMITED
from hookgate.protocol.events.event import Event
from hookgate.protocol.values import ToolCall

if TYPE_CHECKING:
    from hookgate.protocol.zot.frames import Panel

NAME = "cli"
NOBODY = "nobody can be asked here: this is no terminal (with --yes-from-stdin a line of stdin answers)"
GONE = "  (this question is over)\n"
LATE_S = 2.0
"""How long after a question a word that answers it is taken for a late answer."""
Draw = Callable[[ToolCall], Awaitable[Picture | None]]
DRAW_S = 0.1
"""Between two drawings of what streams or runs."""
DIM, BAD = "\x1b[2m", "\x1b[31m"
_MARKS = {"notice": "· ", "error": "! "}


class Terminal:
    """`console`: where whoever is asked sits; None: nobody can be asked. `size`: columns and rows of the terminal.
    `rendered`: answers are laid out as Markdown, and there are colours."""

    name = NAME
    limits = UNLIMITED
    state = PRESENT

    def __init__(
        self,
        screen: Screen,
        console: Console | None,
        size: Size = lambda: (80, WHOLE),
        *,
        rendered: bool = False,
    ) -> None:
        self.screen, self._console, self._size = screen, console, size
        self.picture: Draw | None = None
        """What a call would make of a file, where that can be shown."""
        self.tells_refusals = True
        """Of calls that nobody can be asked about; else a notice says that."""
        self._question: Dialogue | None = None
        self._questions = OpenQuestions()
        self._over_at = 0.0
        self._one_at_a_time = trio.Lock()
        self._held = HeldActs(self.between)
        self._panel, self._view = list[str](), PanelView()
        self.rendered = rendered
        self._answer = Answer(screen, lambda: size()[0] - 1, rendered=rendered)
        self._working = Working(NAME)
        self.replies: set[str] = set()
        """Ids of messages whose replies wait for no answer."""
        self._streamed, self._beside = list[str](), list[str]()
        self._region, self._stirred = "", trio.Event()

    async def run(self) -> None:
        """Draws what streams, and for how long what runs has been running; until cancelled."""
        await self._stirred.wait()
        if self.rendered:
            await trio.to_thread.run_sync(prepare)
        while True:
            await self._stirred.wait()
            self._stirred = trio.Event()
            while self._answer.is_open or self._working.busy:
                await trio.sleep(DRAW_S)
                self._draw()

    async def send(self, outbound: Outbound, key: str) -> str:
        """An answer that was streamed already is not written again."""
        self._show(outbound)
        return ""

    def _show(self, outbound: Outbound) -> None:
        if outbound.in_reply_to in self.replies:
            self.reply(f"{_MARKS.get(outbound.kind, '')}{outbound.text}")
            return
        if self._held.takes(partial(self._show, outbound)):
            return
        text = outbound.text
        seen = outbound.kind == "answer" and "".join(self._streamed).rstrip().endswith(text.strip())
        if outbound.kind == "answer" and text.strip() and not seen:
            self._end_answer()
            self._answer.add(text)
        # What a command says in the middle of an answer ends no block of it.
        if outbound.kind != "notice":
            self._end_answer()
        if outbound.kind != "answer" and text.strip():
            mark = _MARKS.get(outbound.kind)
            self._write(printable(text) if mark is None else self._folded(printable(f"{mark}{text}")))
        for url in outbound.media:
            self.between(f"· attachment: {attachment(url)}")
        if outbound.kind in ("answer", "error"):
            self._streamed.clear()

    def stream(self, chat: Chat, text: str) -> None:
        if self._held.takes(partial(self.stream, chat, text)):
            return
        self._streamed.append(text)
        self._working.wrote(time())
        self._answer.add(text)
        self._stirred.set()
        self._draw()

    def receives(self) -> None:
        """What would be streamed here goes elsewhere."""
        self._working.receives()

    def end_stream(self, chat: Chat) -> None:
        if not self._held.takes(partial(self.end_stream, chat)):
            self._end_answer()

    def restart_stream(self, chat: Chat) -> None:
        if self._held.takes(partial(self.restart_stream, chat)):
            return
        self._streamed.clear()
        self._end_answer()
        self.between("· the answer broke off; asking again")

    def hear(self, event: Event, *, brief: bool = False) -> None:
        """What works on the answer: it is seen while it does, and each call is a line when it has ended; `brief`:
        only one that was refused."""
        if self._working.breaks_off(event):
            self._end_answer()
        ended = self._working.hear(event)
        if ended is not None and (ended.refused or not brief):
            self._put(self._styled(self._folded(ended.line), DIM if ended.well else BAD))
        self._stirred.set()
        self._draw()

    def beside(self, text: str) -> None:
        """A line of its own that stands in no answer: it waits for the end of the one that streams."""
        self._put(self._styled(self._folded(printable(text)), DIM))

    def between(self, text: str) -> None:
        """A line of its own, wherever the stream is."""
        self._write(self._folded(printable(text)))

    def aside(self, text: str) -> None:
        """The same at once, though a question stands open: hookgate's own words alone."""
        self.screen.write(f"{self._folded(text)}\n")

    def reply(self, text: str) -> None:
        """The same, with others' words in it: a question that stands open is asked anew below it."""
        if self._question is not None and self.asks:
            self.aside(printable(text))
            self._question.again()
        else:
            self.between(text)

    def painted(self, text: str) -> None:
        """The same, with the colours that are in it where there are colours."""
        self._write(coloured(text, keep=self.rendered))

    def clear(self) -> None:
        """Begin on an empty screen, where there is one."""
        self._end_answer()
        self.screen.clear()

    def draw(self, panel: Panel, hint: str) -> None:
        """On a live screen, instead of the panel before it."""
        if not self._held.takes(partial(self.draw, panel, hint)):
            self._panel = self._view.drawn(panel, self._size(), hint, colours=self.rendered)
            self._draw()

    def erase(self) -> None:
        """Take the panel away."""
        if not self._held.takes(self.erase):
            self._panel = []
            self._view.close()
            self._draw()

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        if self._console is None:
            if self.tells_refusals:
                self.between(f"! {named(request.call.name)} is refused: {NOBODY}")
            raise CannotAsk(NOBODY)
        picture = await self.picture((request.unredacted or request).call) if self.picture is not None else None
        dialogue = asking(request, picture)
        dialogue.request = request.id
        answer = await self.put(dialogue)
        if answer is None:
            raise CannotAsk("nobody answered")
        outcome = await decide(decision(request, answer, dialogue.reason, picture))
        if not outcome.counted:
            self.between(f"· {outcome.text}")

    def shows_whole(self, request: ApprovalRequest) -> bool:
        return self._questions.shows_whole(request.id)

    def viewed(self, request: str) -> None:
        self._questions.viewed(request)

    @property
    def asks(self) -> bool:
        """A question stands open, and all that comes waits for its answer."""
        return self._held.holds

    def late(self, typed: str, begun_at: float) -> bool:
        """Whether it is an answer and nothing else: to a question that was over a moment ago, or since what runs has
        begun, or to one about a call that is on its way. Seconds of the wall clock."""
        known = self._question is not None and self._question.knows(typed)
        stood = self.asks or self._over_at > min(begun_at, time() - LATE_S)
        return (known and stood) or (self._working.calls and USUAL.knows(typed))

    async def put(self, dialogue: Dialogue) -> str | None:
        """The answer to a question, one at a time: a line typed for one is none for another. None where nobody can
        answer any more."""
        if self._console is None:
            return None
        with self._questions.among(dialogue):
            if self.asks and self.screen.live:
                self.screen.write(f"  (this is {self._questions.place})\n")
            async with self._one_at_a_time:
                self._questions.begin(dialogue)
                return await self._hold(dialogue, self._console)

    async def _hold(self, dialogue: Dialogue, console: Console) -> str | None:
        self._end_answer()
        self._question, self._held.holds = dialogue, True
        self._draw()
        answered = False
        try:
            answer = await hold(dialogue, console)
            answered = True
            return answer
        finally:
            if not answered:
                # Where nobody takes the prompt away, the cursor stands behind it.
                console.write(GONE if self.screen.live else f"\n{GONE}")
            self._over_at = time()
            self._held.release()
            self._draw()

    def _folded(self, text: str) -> str:
        """At words, where the lines of a screen are."""
        columns, rows = self._size()
        return text if rows == WHOLE else wrapped(text, columns - 1)

    def _styled(self, text: str, style: str) -> str:
        return f"{style}{text}{RESET}" if self.rendered else text

    def _put(self, line: str) -> None:
        if self._held.takes(partial(self._put, line)):
            return
        if self._answer.is_open:
            self._beside.append(line)
        else:
            self.screen.write(f"{line}\n")

    def _write(self, text: str) -> None:
        if self._held.takes(partial(self._write, text)):
            return
        if not self.screen.live:
            self._end_answer()
        self.screen.write(f"{text}\n")

    def _end_answer(self) -> None:
        self._answer.end()
        waiting, self._beside = self._beside, []
        for line in waiting:
            self.screen.write(f"{line}\n")
        self._draw()

    def _draw(self) -> None:
        """The live region. While a question stands open nothing of what runs is in it: it could look like one."""
        running = self._working.lines(time()) if self.screen.shows and not self.asks else []
        if self.screen.live:
            running = [*map(self._folded, running)]
        lines = [*self._answer.rest, *(self._styled(line, DIM) for line in running), *self._panel]
        region = "\n".join(lines)
        if region != self._region:
            self._region = region
            self.screen.show(region)
