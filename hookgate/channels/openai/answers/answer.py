"""A turn's answer while it is made: whoever reads along follows by its own place. Knows no wire and no turn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import trio

from hookgate.channels.openai.answers.calls import OwnCall
from hookgate.protocol.chat import Outbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.values import ProposedCall, Usage

BETWEEN = "\n\n"
PARAGRAPH = ""
"""Among pieces: what was written goes on as another one."""
Piece = str | OwnCall
Part = str | OwnCall


def text_of(parts: Iterable[Part]) -> str:
    return BETWEEN.join(it for it in parts if isinstance(it, str))


class Answer:
    """`pieces`: its text as it was written, never taken back: what is written anew is another paragraph; and calls of
    our own tools, each as it began and as it ended. `parts`: as it is, each reply of the turn, each call and each
    line beside them. `waits_for`: the approval request that the turn waits for. `begun`: a turn has taken the
    message, and is `running`; `over`: nothing more comes. `missed`: something of it was not heard, so that it is to
    be read in the journal when its turn has ended."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.parts: list[Part] = []
        self.calls: tuple[ProposedCall, ...] = ()
        self.usage: Usage | None = None
        self.failure = ""
        self.waits_for = ""
        self.begun = self.running = self.over = self.missed = False
        self.readers = 0
        self._news = trio.Event()
        self._written: list[str] = []
        self._again = self._answered = self._cut = False
        self._read_pieces, self._read_parts = 0, frozenset[int]()
        self._known, self._known_calls = "", frozenset[tuple[str, str]]()
        """What was written and shown before something was missed."""

    @property
    def text(self) -> str:
        return text_of(self.parts)

    @property
    def finish_reason(self) -> str:
        """Without an answer a hook has kept it."""
        if self.calls:
            return "tool_calls"
        if self._answered or not self.begun:
            return "length" if self._cut else "stop"
        return "content_filter"

    async def news(self) -> None:
        await self._news.wait()

    def _tell(self) -> None:
        self._news.set()
        self._news = trio.Event()

    # --- what the model writes ---

    def begin(self) -> None:
        self.begun = self.running = True
        self._tell()

    def write(self, piece: str) -> None:
        if piece:
            self._put(piece)

    def restart(self) -> None:
        """The reply is written anew."""
        self._again = self._again or bool(self._written)
        self._written = []

    def end_part(self, text: str) -> None:
        """A reply is whole, or a line is said beside them; whatever of it was not written is."""
        written = "".join(self._written)
        if text.startswith(written) and (rest := text[len(written) :]):
            self._put(rest)
        if text:
            self.parts.append(text)
        self._written, self._again = [], False
        self._tell()

    def _put(self, piece: str) -> None:
        if not self._written and self._known:
            self._known = self._known.removeprefix(BETWEEN)
        elif not self._written:
            self.pieces.append(PARAGRAPH)
        self._written.append(piece)
        self._add(piece)
        self._tell()

    def _add(self, piece: str) -> None:
        """What was written before something was missed is there already, as far as it is the same."""
        if self._known:
            same = min(len(self._known), len(piece))
            known, self._known = self._known, self._known[same:]
            if known[:same] == piece[:same]:
                piece = piece[same:]
            else:
                self._known = ""
                self.pieces.append(PARAGRAPH)
        if piece:
            self.pieces.append(piece)

    def miss(self) -> None:
        """What was heard of it so far does not count any more, but for what its readers have read."""
        texts = "".join(BETWEEN if it == PARAGRAPH else it for it in self.pieces if isinstance(it, str))
        self._known = texts.removeprefix(BETWEEN)
        self._known_calls = frozenset((it.id, it.state) for it in self.pieces if isinstance(it, OwnCall))
        self.parts, self._written, self.usage, self.waits_for = [], [], None, ""
        self._read_parts = frozenset[int]()
        self.begun = self.running = self._again = False
        self.missed = True
        self._tell()

    def stir(self) -> None:
        """Something may have become of it."""
        self._tell()

    def show(self, call: OwnCall) -> None:
        """As it is by now; its arguments stay those that it began with."""
        place = next((n for n, it in enumerate(self.parts) if isinstance(it, OwnCall) and it.id == call.id), None)
        if place is None:
            self.parts.append(call)
        else:
            begun = cast("OwnCall", self.parts[place])
            call = replace(begun, state=call.state, output=call.output)
            self.parts[place] = call
        if (call.id, call.state) not in self._known_calls:
            self.pieces.append(call)
        self._tell()

    def count(self, usage: Usage, *, cut: bool) -> None:
        """Of one more model call; `cut`: it came to its limit."""
        self.usage = usage if self.usage is None else self.usage + usage
        self._cut = cut

    # --- who has read it ---

    def put_off(self) -> None:
        """Its client has read all of it that there is, and reads the rest with what it asks next."""
        self._read_pieces = len(self.pieces)
        ended = (n for n, it in enumerate(self.parts) if isinstance(it, str) or it.state != "running")
        self._read_parts = frozenset(ended)

    @property
    def unread(self) -> int:
        """The place of the first piece that was not put off."""
        return self._read_pieces

    @property
    def rest(self) -> tuple[Part, ...]:
        """The parts that were not, and calls that had not ended then."""
        return tuple(it for n, it in enumerate(self.parts) if n not in self._read_parts)

    # --- what the gateway sends, and the end ---

    def take(self, outbound: Outbound) -> None:
        if outbound.kind == "error":
            self.failure = outbound.text
        else:
            self.end_part(outbound.text)
            self.calls = outbound.calls
            self._answered = self._answered or outbound.kind in ("answer", "output")
        if not self.running:
            self.end()

    def wait_for(self, request: str) -> None:
        """Empty: for nobody any more."""
        self.waits_for = request
        self._tell()

    def end_turn(self, *, completed: bool) -> None:
        """One that was stopped has its last line still to come."""
        self.running = False
        if self.missed:
            self.stir()
        elif completed or self.failure:
            self.end()

    def end(self) -> None:
        self.over = True
        self._tell()
