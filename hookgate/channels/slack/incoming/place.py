"""How far a stream of messages is stored: whatever is older than its place has been dealt with. Pure."""

from __future__ import annotations

from collections import Counter


class Place:
    """`at`: the latest message before which nothing is open; empty: nothing has come yet."""

    def __init__(self, at: str) -> None:
        self.at = at
        self._latest = at
        self._open: Counter[str] = Counter()

    def begin(self, ts: str) -> None:
        self._open[ts] += 1

    def end(self, ts: str, *, stored: bool) -> None:
        """Not stored: it comes again, and what is after it is looked through again."""
        self._open[ts] -= 1
        if not self._open[ts]:
            del self._open[ts]
        if stored:
            self._latest = max(self._latest, ts)
            self.at = max(self.at, self._settled(self._latest))
        elif self.at > ts:
            self.at = ts

    def after(self, ts: str) -> str:
        """What is stored with this message: where it would be then."""
        return max(self.at, self._settled(max(self._latest, ts), but=ts))

    def _settled(self, latest: str, but: str = "") -> str:
        return min((*(it for it in self._open if it != but), latest))
