"""The terminal as a channel: one person, one conversation, text as it streams, questions at a prompt.

Knows no turn and no signal; where a line comes from is the caller's business.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hookgate.channels.printable import printable
from hookgate.protocol.approval import ApprovalRequest, Decision
from hookgate.protocol.codec import encode
from hookgate.protocol.values import Chat, Outbound

NAME = "cli"

Write = Callable[[str], None]
Ask = Callable[[str], Awaitable[str | None]]
"""One line typed at this prompt; None where nobody can answer any more."""

_MARKS = {"answer": "", "output": "", "notice": "· ", "error": "! "}


class Terminal:
    """`write` gets pieces of text, newlines included."""

    name = NAME

    def __init__(self, write: Write, ask: Ask) -> None:
        self._write = write
        self._ask = ask
        self._streamed = ""
        self._in_line = False

    async def send(self, outbound: Outbound) -> None:
        """An answer that was streamed already is not written again."""
        text = printable(outbound.text)
        seen = outbound.kind == "answer" and self._streamed.rstrip().endswith(text.strip())
        if text.strip() and not seen:
            self.between(f"{_MARKS[outbound.kind]}{text}")
        self._close_line()
        for url in outbound.media:
            self.between(f"· attachment: {printable(url)[:200]}")
        if outbound.kind in ("answer", "error"):
            self._streamed = ""

    def stream(self, chat: Chat, text: str) -> None:
        text = printable(text)
        self._streamed += text
        self._in_line = not text.endswith("\n") if text else self._in_line
        self._write(text)

    def end_stream(self, chat: Chat) -> None:
        self._close_line()

    def restart_stream(self, chat: Chat) -> None:
        self._streamed = ""
        self.between("· the answer broke off; asking again")

    def between(self, text: str) -> None:
        """A line of its own, wherever the stream is: the trace, say."""
        self._close_line()
        self._write(printable(text) + "\n")

    async def approve(self, request: ApprovalRequest) -> Decision:
        self._close_line()
        self._write(question(request))
        while True:
            typed = await self._ask("  allow? [y]es once, [s]ession, [n]o: ")
            match (typed or "no").strip().lower():
                case "y" | "yes" | "once":
                    return Decision(True, NAME)
                case "s" | "session":
                    return Decision(True, NAME, grant="session")
                case "n" | "no":
                    return Decision(False, NAME, "nobody answered" if typed is None else "the user said no")
                case _:
                    continue

    def _close_line(self) -> None:
        if self._in_line:
            self._write("\n")
        self._in_line = False


def question(request: ApprovalRequest) -> str:
    """What a person must see to decide: who asks, and the very call."""
    lines = [f"? {_one_line(request.title)}  ({request.asked_by} asks)"]
    if request.text:
        lines.append(f"  {_argument(request.text)}")
    arguments = request.call.arguments
    lines.extend(f"  {_one_line(name)}: {_argument(value)}" for name, value in arguments.items())
    tool = _one_line(request.call.name)
    lines.append(f"  session: every {tool} call of this conversation that {request.asked_by} asks about")
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    """A name that could hold a line end could forge the question's next line."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def _argument(value: object) -> str:
    """Whole, however long: what is cut off could be what matters."""
    text = value if isinstance(value, str) else encode(value).decode("utf-8", "replace")
    return printable(text).replace("\n", "\n    ")
