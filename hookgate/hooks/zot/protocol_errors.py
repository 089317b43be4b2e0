"""What an extension says to nobody, or in a way that does not count: counted, and a few of each written to its
journal."""

from __future__ import annotations

from hookgate.processes.child import loud
from hookgate.protocol.framing import Oversize
from hookgate.protocol.zot.frames import InterceptReply, Reply, Unknown
from hookgate.protocol.zot.peer import BadReply, Malformed, Stray
from hookgate.protocol.zot.surface import Journal


class ProtocolErrors:
    def __init__(self, journal: Journal) -> None:
        self.strays = 0
        self.malformed = 0
        self.unknown = 0
        self.lost = 0
        self.registrations = 0
        self.answers = 0
        self._journal = journal

    def take(self, it: Stray | Malformed | Unknown | Oversize) -> None:
        match it:
            case Stray(type=kind, id=call_id):
                self.strays += 1
                self._note(self.strays, f"{kind} for no call that waits: id {call_id}")
            case Malformed(reason=reason, line=line):
                self.malformed += 1
                self._note(self.malformed, f"malformed json {reason}: {line}")
            case Unknown(type=kind):
                self.unknown += 1
                self._note(self.unknown, f'unknown frame type "{kind[:80]}"')
            case Oversize(size=size):
                self.lost += 1
                self._note(self.lost, f"a line of {size} bytes is over the limit and lost")

    def refused(self, reason: str) -> None:
        """A registration that does not count."""
        self.registrations += 1
        self._note(self.registrations, reason)

    def answered(self, it: Reply | BadReply) -> None:
        """An answer to a call that waits: nothing, or what is wrong with it."""
        match it:
            case InterceptReply(id=call_id, problem=wrong) | BadReply(id=call_id, reason=wrong) if wrong:
                self.unusable(call_id, wrong)
            case _:
                pass

    def unusable(self, call_id: str, reason: str) -> None:
        """An answer with something wrong in it."""
        self.answers += 1
        self._note(self.answers, f"the answer with id {call_id}: {reason}")

    def _note(self, count: int, text: str) -> None:
        if loud(count):
            self._journal.host(text)
