"""What people and tools saw of a gateway that was killed again and again, held against its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hookgate.loop.sessions.resume import MAY_HAVE_RUN
from hookgate.protocol.journal.values import Conversation
from hookgate.store.journal import StoredJournal, open_journal

ENDS = ("answered", "refused", "dropped", "dead")


@dataclass
class Said:
    """A message of a person. `id`: the journal's, once it was acknowledged; `chat`, `kind` and `key` its own."""

    chat: str
    kind: str
    key: str
    id: str = ""

    @property
    def text(self) -> str:
        return f"{self.kind} {self.key}"

    @property
    def answer(self) -> str:
        """What the chat reads at last."""
        return f"dropped {self.key}" if self.kind == "spam" else f"done {self.key} (seen)"

    @property
    def end(self) -> str:
        return "dropped" if self.kind == "spam" else "answered"

    @property
    def allowed(self) -> bool:
        """Whether the person that is asked says yes: to every other call."""
        return int(self.key) % 2 == 0


@dataclass
class Books:
    """`requests`: what people were asked, and the line it was about. `sent`: what the chats read, and by which keys:
    the same key twice is one message."""

    said: dict[str, Said] = field(default_factory=dict[str, Said])
    requests: dict[str, str] = field(default_factory=dict[str, str])
    decided: set[str] = field(default_factory=set[str])
    sent: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    async def problems(self, disk: Path) -> list[str]:
        """A line for each promise that does not hold, once everything has come to its end."""
        async with open_journal(disk / "journal.db") as journal:
            lines = [problem async for problem in self._of_messages(journal, _effects(disk))]
            lines += [f"still open: {it.request.id}" for it in await journal.decisions.pending()]
        asked = Counter(self.requests.values())
        lines += [
            f"asked {times} times, so that older buttons are void: {it}" for it, times in asked.items() if times > 1
        ]
        lines += [
            f"what no hook has seen was sent: {it}"
            for it in self.sent
            if it.startswith("done") and it not in self._answers
        ]
        return [*lines, *self._of_effects(_effects(disk))]

    def _of_effects(self, effects: Counter[str]) -> Iterator[str]:
        for line, times in effects.items():
            kind, key = line.split()
            if times > 1:
                yield f"ran {times} times: {line}"
            if key not in self.said:
                yield f"nobody asked for it: {line}"
            elif kind == "never":
                yield f"the hook was passed over: {line}"
            elif kind == "careful" and not (self.said[key].allowed and line in self._decided_lines):
                yield f"nobody allowed it: {line}"

    @property
    def _answers(self) -> set[str]:
        return {said.answer for said in self.said.values()}

    @property
    def _decided_lines(self) -> set[str]:
        return {self.requests[request] for request in self.decided}

    async def _of_messages(self, journal: StoredJournal, effects: Counter[str]) -> AsyncIterator[str]:
        for said in self.said.values():
            if not said.id:
                continue
            found = [it for it in await journal.books.where(said.id) if it.message == said.id]
            ends = [passage.what for it in found for passage in it.passages if passage.what in ENDS]
            if ends == ["dead"]:
                # It was begun three times and never came to a step: a person has been told so.
                continue
            if ends != [said.end]:
                yield f"acknowledged, and came to {ends or 'nothing'}: {said.text}"
            if (keys := len(self.sent.get(said.answer, ()))) != 1:
                yield f"the chat has read {keys} answers: {said.text}"
            wanted = said.kind == "append" or (said.kind == "careful" and said.allowed)
            if ends == ["answered"] and wanted and not effects[said.text] and not await _may_have_run(journal, said):
                yield f"answered, and never ran: {said.text}"


def _effects(disk: Path) -> Counter[str]:
    file = disk / "effects"
    return Counter(file.read_text().splitlines() if file.exists() else ())


async def _may_have_run(journal: StoredJournal, said: Said) -> bool:
    """Whether the model was told that nobody knows."""
    stored = await journal.work.load(Conversation(f"lines:{said.chat}", "default"))
    results = (it.message for it in stored.entries if it.message.tool_call_id == f"c-{said.key}")
    return any(MAY_HAVE_RUN in result.content for result in results)
