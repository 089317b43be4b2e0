"""How long one model call may take: until it begins to answer, from one line to the next, and in all.

Knows no HTTP client: it is told what has come, and ends the call by cancelling its scope.
"""

from __future__ import annotations

import trio

from hookgate.protocol.dataclasses import dataclass

FIRST_TOKEN_S = 600.0
IDLE_S = 120.0
TOTAL_S = 1800.0
LEAST_RATE = 100
LATER = 1 / 64
"""A silence is cut so much of its time later at the most: a deadline is not moved for each of a hundred pieces a
second, which costs as much as to read one."""


@dataclass(frozen=True)
class Deadlines:
    """Seconds of one call. `first_token_s`: from its beginning until the model has begun to answer; of a server that
    does not stream, until the answer is whole. `idle_s`: from then on a line (a keep-alive is one) has to end in
    every such time, or `least_rate` bytes a second have to come. `total_s`: all of it."""

    first_token_s: float = FIRST_TOKEN_S
    idle_s: float = IDLE_S
    total_s: float = TOTAL_S
    least_rate: int = LEAST_RATE


class Watch:
    """The deadlines of one call that has just begun; the call runs inside `scope`."""

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._end = trio.current_time() + deadlines.total_s
        self._begun = False
        self._bytes = 0
        first = trio.current_time() + deadlines.first_token_s
        self.scope = trio.CancelScope(deadline=min(first, self._end))

    @property
    def expired(self) -> bool:
        return self.scope.cancelled_caught

    @property
    def final(self) -> bool:
        """Whether another try would only take as long."""
        return not self._begun or self.scope.deadline >= self._end

    def begin(self) -> None:
        """The model has begun to answer."""
        if not self._begun:
            self._begun = True
            self._wait()

    def arrived(self, piece: bytes) -> None:
        """A trickle is no progress: neither a line that never ends nor one byte now and then."""
        if not self._begun:
            return
        self._bytes += len(piece)
        if b"\n" in piece or self._bytes >= self._deadlines.least_rate * self._deadlines.idle_s:
            self._bytes = 0
            if self.scope.deadline < min(trio.current_time() + self._deadlines.idle_s, self._end):
                self._wait()

    def late(self) -> str:
        """What a call that ran out of time did; follows the endpoint's name."""
        if self.scope.deadline >= self._end:
            return f"took more than {self._deadlines.total_s:g} s in all (total_timeout_ms)"
        if not self._begun:
            return f"did not begin to answer within {self._deadlines.first_token_s:g} s (first_token_timeout_ms)"
        if self._bytes:
            return f"sent its answer at less than {self._deadlines.least_rate} bytes a second (least_rate)"
        return f"fell silent for {self._deadlines.idle_s:g} s in the middle of its answer (idle_timeout_ms)"

    def _wait(self) -> None:
        idle_s = self._deadlines.idle_s * (1 + LATER)
        self.scope.deadline = min(trio.current_time() + idle_s, self._end)
