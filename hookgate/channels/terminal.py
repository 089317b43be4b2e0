"""The terminal as a channel: one person, one conversation, text as it streams, questions at a prompt.

Knows no turn and no signal; where a line comes from is the caller's business.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from hookgate.channels.panels import AWAITS, PanelView
from hookgate.channels.printable import one_line, printable
from hookgate.protocol.approval import ApprovalRequest, Decision
from hookgate.protocol.codec import encode
from hookgate.protocol.values import Chat, Outbound

if TYPE_CHECKING:
    from hookgate.protocol.zot.frames import Panel

NAME = "cli"

Write = Callable[[str], None]
Ask = Callable[[str], Awaitable[str | None]]
"""One line typed at this prompt; None where nobody can answer any more."""

Prompt = Callable[[], str | None]
"""The prompt that stands open with what has been typed there; None where none does."""
ERASE_LINE = "\r\x1b[K"

_MARKS = {"answer": "", "output": "", "notice": "· ", "error": "! "}


class Terminal:
    """`write` gets pieces of text, newlines included. What comes while a prompt stands open goes above it."""

    name = NAME

    def __init__(self, write: Write, ask: Ask, prompt: Prompt = lambda: None) -> None:
        self._out = write
        self._ask = ask
        self._prompt = prompt
        self._view: PanelView | None = None
        self._streamed: list[str] = []
        self._beside: list[str] = []
        self._in_line = False

    async def send(self, outbound: Outbound) -> None:
        """An answer that was streamed already is not written again."""
        text = printable(outbound.text)
        seen = outbound.kind == "answer" and "".join(self._streamed).rstrip().endswith(text.strip())
        if text.strip() and not seen:
            self.between(f"{_MARKS[outbound.kind]}{text}")
        self._close_line()
        for url in outbound.media:
            self.between(f"· attachment: {printable(url)[:200]}")
        if outbound.kind in ("answer", "error"):
            self._streamed.clear()

    def stream(self, chat: Chat, text: str) -> None:
        text = printable(text)
        self._streamed.append(text)
        if self._beside and "\n" in text:
            whole, _, text = text.rpartition("\n")
            self._write(whole)
            self._close_line()
        self._in_line = not text.endswith("\n") if text else self._in_line
        self._write(text)

    def end_stream(self, chat: Chat) -> None:
        self._close_line()

    def restart_stream(self, chat: Chat) -> None:
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
        self._close_line()
        self._write(self._above(printable(text) + "\n"))

    def draw(self, view: PanelView, panel: Panel) -> None:
        """Over its last drawing, unless something else has been written since."""
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
        waiting = self._prompt()
        if waiting is not None:
            self._out(ERASE_LINE)
        view.erase()
        if waiting is not None:
            self._out(waiting)

    async def approve(self, request: ApprovalRequest) -> Decision:
        self._close_line()
        self._write(question(request))
        answers = "".join(f"{it}, " for it in _offered(request))
        while True:
            typed = await self._ask(f"  allow? {answers}[n]o: ")
            match (typed or "no").strip().lower():
                case "y" | "yes" | "once":
                    return Decision(True, NAME)
                case "s" | "session" if not request.once:
                    return Decision(True, NAME, grant="session")
                case "a" | "always" if request.always:
                    return Decision(True, NAME, grant="always")
                case "n" | "no":
                    return Decision(False, NAME, "nobody answered" if typed is None else "the user said no")
                case _:
                    continue

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


def question(request: ApprovalRequest) -> str:
    """What a person must see to decide: who asks, and the very call."""
    lines = [f"? {one_line(request.title)}  ({request.asked_by} asks)"]
    if request.text:
        lines.append(f"  {_argument(request.text)}")
    arguments = request.call.arguments
    lines.extend(f"  {one_line(name)}: {_argument(value)}" for name, value in arguments.items())
    tool = one_line(request.call.name)
    if not request.once:
        lines.append(f"  session: every {tool} call of this conversation that {request.asked_by} asks about")
    if request.always:
        lines.append(f"  always: {one_line(request.always)}")
    return "\n".join(lines) + "\n"


def _offered(request: ApprovalRequest) -> list[str]:
    """The answers that are a yes."""
    return [
        "[y]es once",
        *(["[s]ession"] if not request.once else []),
        *(["[a]lways"] if request.always else []),
    ]


def _argument(value: object) -> str:
    """Whole, however long: what is cut off could be what matters."""
    text = value if isinstance(value, str) else encode(value).decode("utf-8", "replace")
    return printable(text).replace("\n", "\n    ")
