"""What a hook under check writes to its stdout: answers by id, and everything else counted. No I/O.

Keeps more than hookgate's own peer does (error codes, stray ids, members that are missing): that one works around
what this one reports.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, cast

from hookgate.protocol.codec import decode, encode, repeated_member
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.framing import QUOTED, LineSplitter, Oversize, quoted
from hookgate.protocol.hook.peer import METHOD_NOT_FOUND, request_frame

MAX_NOISE = 100_000
"""A hook that writes more lines than this beside answers is not listened to any longer."""
_SHOWN_BYTES = 80


@dataclass(frozen=True, slots=True)
class Result:
    value: object


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    code: object
    message: str


Answered = Result | ErrorAnswer


@dataclass
class StrayOutput:
    """What every process of one run wrote to stdout beside answers. `place`: where the first of `lines` stood;
    `twice`: by method, the first request that had a second answer, and `second`: the first of these."""

    noise: int = 0
    lines: list[str] = field(default_factory=list[str])
    place: str = ""
    twice: dict[str, str] = field(default_factory=dict[str, str])
    second: str = ""
    unversioned: int = 0
    methods: set[str] = field(default_factory=set[str])

    @property
    def flooded(self) -> bool:
        return self.noise > MAX_NOISE

    def note_noise(self, line: bytes, place: str) -> None:
        self.noise += 1
        self.place = self.place or place
        if len(self.lines) < QUOTED:
            self.lines.append(_shown(line))

    def note_twice(self, method: str, named: str, line: bytes) -> None:
        self.twice.setdefault(method, named)
        self.second = self.second or _shown(line)


class Mailbox:
    """Gives ids from 1 and reads answers in any order.

    `strays`: answers that nobody asked for, as they were written, and where they stood; `noise`: the first lines that
    are no answers. `owed`: frames that refuse what the hook asked.
    """

    def __init__(self, heard: StrayOutput) -> None:
        self.answers: dict[int, Answered] = {}
        self.strays: list[tuple[str, str]] = []
        self.noise: list[str] = []
        self.owed: list[bytes] = []
        self.heard = heard
        self._lines = LineSplitter()
        self._asked: list[str] = []
        self._pending: set[int] = set()
        self._answered = 0

    @property
    def owes_answers(self) -> bool:
        return bool(self._pending)

    @property
    def unread(self) -> str:
        """What came first that answers nothing, in quotes."""
        return quoted([*self.noise, *(line for line, _ in self.strays)], self._lines.begun)

    def request(self, method: str, params: bytes) -> tuple[int, bytes]:
        """A new call: its id and its frame."""
        self._asked.append(method)
        call_id = len(self._asked)
        self._pending.add(call_id)
        return call_id, request_frame(call_id, method, params)

    def receive(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            self._take(line.head if isinstance(line, Oversize) else line)

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        message = _message(line)
        if message is None:
            self.heard.note_noise(line, self._place)
            if len(self.noise) < QUOTED:
                self.noise.append(_shown(line))
        elif "method" in message:
            self._refuse(message)
        else:
            self._take_answer(message, line)

    def _refuse(self, message: dict[str, Any]) -> None:
        self.heard.methods.add(str(message["method"])[:_SHOWN_BYTES])
        if message.get("id") is not None:
            error = {"code": METHOD_NOT_FOUND, "message": "hookgate offers no methods to hooks"}
            self.owed.append(encode({"jsonrpc": "2.0", "id": message["id"], "error": error}) + b"\n")

    def _take_answer(self, message: dict[str, Any], line: bytes) -> None:
        self.heard.unversioned += message.get("jsonrpc") != "2.0"
        call_id = message.get("id")
        # type() and not isinstance: True is an int in Python and equals 1, but is no id.
        if type(call_id) is int and call_id in self._pending:
            self._pending.discard(call_id)
            self._answered = call_id
            self.answers[call_id] = _answered(message, line)
        elif type(call_id) is int and call_id in self.answers:
            self.heard.note_twice(self._asked[call_id - 1], self._named(call_id), line)
        else:
            self.strays.append((_shown(line), self._place))

    @property
    def _place(self) -> str:
        """Between which answers of the stream it is; with several calls under way only the one before is known."""
        after = f"after the answer to {self._named(self._answered)}" if self._answered else "before any answer"
        return after if len(self._pending) != 1 else f"{after}, before that to {self._named(min(self._pending))}"

    def _named(self, call_id: int) -> str:
        return f"{self._asked[call_id - 1].removeprefix('hook.')} (id {call_id})"


def _message(line: bytes) -> dict[str, Any] | None:
    try:
        message = decode(line)
    except BadMessage:
        return None
    if not isinstance(message, dict):
        return None
    members = cast("dict[str, Any]", message)
    return None if {"id", "method", "result", "error"}.isdisjoint(members) else members


def _answered(message: dict[str, Any], line: bytes) -> Answered:
    repeated = repeated_member(line, message)
    if repeated is not None:
        return ErrorAnswer("in its JSON", f"the member {repeated[:80]!r} stands twice")
    match message.get("error"):
        case None:
            return Result(message.get("result"))
        case {"code": code, **rest}:
            return ErrorAnswer(code, str(rest.get("message", ""))[:200])
        case other:
            return ErrorAnswer(None, str(other)[:200])


def _shown(line: bytes) -> str:
    return line[:_SHOWN_BYTES].decode("utf-8", "replace")
