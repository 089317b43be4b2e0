"""How far a stream of messages is stored: whatever is older than its place has been dealt with. Pure."""

from __future__ import annotations

from collections import Counter


class StreamPosition:
    """It stays before what is open, and before what may have been missed until all of that was asked for: whoever
    begins there again has it all."""

    def __init__(self, at: str) -> None:
        self._latest = at
        self._open: Counter[str] = Counter()
        self._missed = self._sought = ""

    @property
    def at(self) -> str:
        """Empty: nothing has come yet."""
        return self.after("")

    def after(self, ts: str) -> str:
        """What is stored with this message: where it would be then."""
        before = (*(it for it in self._open if it != ts), self._missed, self._sought)
        return min((*filter(None, before), max(self._latest, ts)))

    def begin(self, ts: str) -> None:
        self._open[ts] += 1

    def end(self, ts: str, *, missed: bool) -> None:
        """`missed`: it was not stored, and has to come again."""
        self._open[ts] -= 1
        if not self._open[ts]:
            del self._open[ts]
        if missed:
            self.miss(ts)
        else:
            self._latest = max(self._latest, ts)

    def miss(self, since: str = "") -> None:
        """From this message on, else from the place on, some may be missing."""
        self._missed = _first(self._missed, since or self.at)

    def seek(self) -> str:
        """From where all that was missed is asked for now, until `found`. Empty: there is nothing to ask for."""
        self._sought, self._missed = _first(self._missed, self._sought), ""
        return self._sought

    @property
    def missing(self) -> str:
        """From where some may be missing; empty: nothing is."""
        return _first(self._missed, self._sought)

    def found(self) -> None:
        self._sought = ""


def _first(*times: str) -> str:
    return min(filter(None, times), default="")
