"""Where a channel is in what Discord sends: the session, the last number of it that is dealt with, the last message.

Everything up to there is stored, or is nothing to store. Knows no connection and no journal.
"""

from __future__ import annotations

from collections.abc import Hashable

from pydantic import TypeAdapter, ValidationError

from hookgate.protocol.dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class SessionPosition:
    """`session` empty: none that can be resumed. `begun`: its wall clock, in seconds. `last`: the id of the message
    up to which all is stored, 0: nobody knows. `server`: which one has numbered them."""

    server: str
    session: str = ""
    url: str = ""
    seq: int = 0
    last: int = 0
    begun: float = 0.0

    @property
    def text(self) -> str:
        return _PLACE.dump_json(self).decode()

    @property
    def order(self) -> tuple[float, int]:
        return self.begun, self.seq


_PLACE = TypeAdapter(SessionPosition)


def read_place(text: str, server: str) -> SessionPosition:
    """Of another server, or unreadable: from the beginning."""
    try:
        found = _PLACE.validate_json(text)
    except ValidationError:
        return SessionPosition(server)
    return found if found.server == server else SessionPosition(server)


def latest(one: SessionPosition, other: SessionPosition) -> SessionPosition:
    """With a message comes one place, with a session another: the later one, and all that either knows is stored."""
    return replace(max(one, other, key=lambda it: it.order), last=max(one.last, other.last))


class Places:
    """`open` is what has come and is not dealt with; the place is before the first of it."""

    def __init__(self, place: SessionPosition) -> None:
        self._at = place
        self._open: dict[Hashable, tuple[str, int, int]] = {}
        """By key its session, its number there, and its id if it is a message."""
        self._missed: dict[Hashable, int] = {}
        """The first message of what is fetched."""

    @property
    def session(self) -> SessionPosition:
        """Where to resume: all that was received is either open here or dealt with."""
        return self._at

    @property
    def now(self) -> SessionPosition:
        """What can be stored. While something that was missed is fetched that names no session: whoever resumed it
        would fetch no more of that."""
        seq = min((seq for session, seq, _ in self._open.values() if session == self._at.session), default=None)
        lasts = [it - 1 for _, _, it in self._open.values() if it] + [it - 1 for it in self._missed.values()]
        at = replace(self._at, last=min(lasts, default=self._at.last))
        if self._missed:
            return replace(at, session="", url="", seq=0)
        return at if seq is None else replace(at, seq=seq - 1)

    def begin(self, session: str, url: str, at: float) -> None:
        """A session of its own, which numbers anew."""
        self._at = replace(self._at, session=session, url=url, seq=0, begun=at)

    def end(self) -> None:
        """The session is none any more."""
        self._at = replace(self._at, session="", url="", seq=0)

    def receive(self, seq: int) -> None:
        self._at = replace(self._at, seq=max(self._at.seq, seq))

    def take(self, key: Hashable, message: int = 0) -> None:
        """What has just been received is being dealt with. `message`: its id, if it is one."""
        self._open[key] = (self._at.session, self._at.seq, message)
        self._at = replace(self._at, last=max(self._at.last, message))

    def hold(self, key: Hashable, message: int) -> None:
        """From this message on some are missed, and being fetched."""
        self._missed[key] = message

    def done(self, key: Hashable) -> None:
        self._open.pop(key, None)
        self._missed.pop(key, None)
