"""What people and tools saw of a gateway that was killed again and again, held against its journal and against what
it shows at last."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hookgate.loop.sessions.resume import MAY_HAVE_RUN
from hookgate.store.journal.operators.looking import check, open_look
from hookgate.store.journal.operators.whereabouts import find_messages
from tests.crash.world import Effects, effects

ENDS = ("answered", "refused", "dropped", "dead")
COMMAND_ENDS = (["answered"], ["dropped"])
"""Of a command that a crash has cut off people are told so."""


@dataclass(frozen=True)
class Place:
    """A chat of a user."""

    user: str
    thread: str


@dataclass
class Said:
    """A message of a person. `id`: the journal's, once it was acknowledged; `kind` and `key` its own."""

    place: Place
    kind: str
    key: str
    id: str = ""

    @property
    def text(self) -> str:
        return "/pending" if self.kind == "look" else f"{self.kind} {self.key}"

    @property
    def call(self) -> str:
        return f"{self.kind}-{self.key}"

    @property
    def allowed(self) -> bool:
        """Whether the person that is asked says yes: to every other call."""
        return int(self.key) % 2 == 0

    @property
    def wants_to_run(self) -> bool:
        return self.kind in ("append", "hand") or (self.kind in ("careful", "trust") and self.allowed)


@dataclass
class Tape:
    """The events of one chat by number, whoever heard them: `heard` are those that somebody got one after the
    other."""

    events: dict[int, str] = field(default_factory=dict[int, str])
    heard: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    @property
    def holes(self) -> Iterator[str]:
        numbers = sorted(self.events)
        for before, after in self.heard:
            if missed := [it for it in numbers if before < it < after]:
                yield f"events {missed} were left out between {before} and {after}"


@dataclass
class Books:
    """`asked`: what people were asked, by request, and which call it was about. `decided`: what a button was answered
    with. `read`: the text of each message that was shown, by its place and id; `last`: all of them in the end.
    `faults`: what was seen to be wrong."""

    said: dict[str, Said] = field(default_factory=dict[str, Said])
    asked: dict[str, str] = field(default_factory=dict[str, str])
    decided: dict[str, str] = field(default_factory=dict[str, str])
    read: dict[tuple[Place, str], str] = field(default_factory=dict[tuple[Place, str], str])
    last: dict[Place, list[dict[str, Any]]] = field(default_factory=dict[Place, list[dict[str, Any]]])
    tapes: defaultdict[tuple[Place, str], Tape] = field(default_factory=lambda: defaultdict(Tape))
    faults: list[str] = field(default_factory=list[str])
    _dead: set[str] = field(default_factory=set[str])
    """Those that were begun three times and never came to a step: people are told so, and it is their end."""

    # --- what is seen ---

    def acknowledged(self, said: Said, id_: str, *, known: bool) -> None:
        if said.id and (id_ != said.id or not known):
            self.faults.append(f"acknowledged as {said.id}, and taken in again as {id_}: {said.text}")
        said.id = id_

    def pressed(self, request: str, state: str) -> None:
        state = "approved" if state == "spent" else state
        before = self.decided.setdefault(request, state)
        # Where a message is given up, all that was asked for it is void.
        if state not in (before, "void"):
            self.faults.append(f"{request} was {before} and became {state}")

    def shown(self, place: Place, message: dict[str, Any]) -> None:
        """A message in its chat; of an answer that is still being written there is an id of the moment alone."""
        text, id_ = message["text"], message["id"]
        if not id_.endswith(":read") and (before := self.read.setdefault((place, id_), text)) != text:
            self.faults.append(f"{id_} was shown as {before!r}, and as {text!r}")

    def taped(self, place: Place, before: str, id_: str, event: str) -> None:
        """`before`: the id of the event that the same reader got last; a snapshot begins anew."""
        epoch, _, number = id_.partition("-")
        epoch_before, _, last = before.partition("-")
        tape = self.tapes[place, epoch]
        if event.startswith("snapshot"):
            return
        if tape.events.setdefault(int(number), event) != event:
            self.faults.append(f"event {id_} was replayed as another one")
        if epoch_before == epoch and int(last) >= int(number):
            self.faults.append(f"event {id_} came after {before}")
        elif epoch_before == epoch:
            tape.heard.append((int(last), int(number)))

    def finally_shown(self, place: Place, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            self.shown(place, message)
        self.last[place] = messages

    @property
    def totals(self) -> dict[str, int]:
        """What was done, for whoever asks whether it was enough."""
        answers = sum(it["role"] == "assistant" for chat in self.last.values() for it in chat)
        events = sum(len(tape.events) for tape in self.tapes.values())
        figures = {"messages": len(self.said), "answers": answers, "questions": len(self.asked)}
        return {**figures, "dead letters": len(self._dead), "events": events}

    # --- what was promised ---

    def problems(self, folder: Path) -> list[str]:
        """A line for each promise that does not hold, once everything has come to its end."""
        seen = effects(folder)
        return [
            *self.faults,
            *(hole for tape in self.tapes.values() for hole in tape.holes),
            *self._of_journal(folder / "disk" / "journal.db"),
            *(problem for said in self.said.values() for problem in self._of_message(said, seen)),
            *self._of_readers(),
            *self._of_effects(seen),
            *self._of_questions(),
        ]

    def _of_journal(self, file: Path) -> Iterator[str]:
        with open_look(file) as tables:
            yield from check(tables).mistakes
            for said in self.said.values():
                if not said.id:
                    yield f"never acknowledged: {said.text}"
                    continue
                found = [it for it in find_messages(tables, said.id) if it.message == said.id]
                ends = [passage.what for it in found for passage in it.passages if passage.what in ENDS]
                usual = ["dropped"] if said.kind == "spam" else ["answered"]
                if ends == ["dead"]:
                    self._dead.add(said.key)
                elif ends != usual and not (said.kind == "look" and ends in COMMAND_ENDS):
                    yield f"acknowledged, and came to {ends or 'nothing'}: {said.text}"

    def _of_message(self, said: Said, seen: Effects) -> Iterator[str]:
        chat = self.last.get(said.place, [])
        told = [it for it in chat if it["answers"] == said.key]
        answers = [it["text"] for it in told if it["role"] == "assistant"]
        if not told:
            yield f"nobody was told what became of it: {said.text}"
        if said.key in self._dead:
            return
        if said.kind != "look" and answers not in ([], [f"done {said.key} (seen)"]):
            yield f"answered with {answers}: {said.text}"
        ran = seen.ran[said.call] or any(MAY_HAVE_RUN in it["text"] for it in told)
        if answers and said.wants_to_run and not ran:
            yield f"answered, and never ran: {said.text}"

    def _of_readers(self) -> Iterator[str]:
        """What was shown once stands there for good, but for lines about a question, which go with it."""
        stands = {(place, it["id"]) for place, messages in self.last.items() for it in messages}
        for (place, id_), text in self.read.items():
            if (place, id_) not in stands and not id_.endswith((" asked", " decided")):
                yield f"was shown to {place}, and is gone: {id_} {text!r}"

    def _of_effects(self, seen: Effects) -> Iterator[str]:
        by_call = {said.call: said for said in self.said.values()}
        yes = {call for request, call in self.asked.items() if self.decided.get(request) == "approved"}
        for call, times in seen.ran.items():
            if times > 1:
                yield f"ran {times} times: {call}"
            if call not in by_call:
                yield f"nobody asked for it: {call}"
            if call not in seen.passed:
                yield f"the hook was passed over: {call}"
            if call.startswith(("careful", "trust")) and not (by_call[call].allowed and call in yes):
                yield f"nobody allowed it: {call}"

    def _of_questions(self) -> Iterator[str]:
        for call, times in Counter(self.asked.values()).items():
            if times > 1:
                yield f"asked {times} times, so that older buttons are void: {call}"
        for request, call in self.asked.items():
            if self.decided.get(request, "open") == "open":
                yield f"its button decided nothing: {request} {call}"
