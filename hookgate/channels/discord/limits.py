"""How fast Discord may be asked: buckets of routes, all requests together, and those that it refuses. Sans I/O."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping

from hookgate.protocol.dataclasses import dataclass

GLOBAL_MOST, GLOBAL_S = 45, 1.0
"""Of all requests together it takes 50 in a second; what is sent evenly may arrive at once."""
REFUSED_MOST, REFUSED_S = 5000, 600.0
"""More than 10,000 refusals in ten minutes and it lets this address in no more."""
REFUSALS = (401, 403, 429)
BUCKETS = 10_000
LONGEST_S = 3600.0
UNSAID_S = 5.0
"""How long a bucket is taken to last of which nothing was said."""


@dataclass(slots=True)
class _Bucket:
    """`left` requests until `anew`, when there are `most` again."""

    most: int
    left: int
    anew: float


class RateLimits:
    """A route is a method and a path without its ids; `major` the id that it has a bucket of its own for. `clock`:
    seconds that never go back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._shared: dict[str, str] = {}
        """By route, the name of the bucket that it shares with others."""
        self._buckets: OrderedDict[tuple[str, str], _Bucket] = OrderedDict()
        self._sent: deque[float] = deque()
        self._refused: deque[float] = deque()
        self._not_before = 0.0

    def wait_s(self, route: str, major: str) -> float:
        """Seconds until the next request of this route may leave; 0: now."""
        now = self._clock()
        self._forget(now)
        bucket = self._buckets.get(self._key(route, major))
        waits = [self._not_before - now]
        if bucket is not None and bucket.left <= 0:
            waits.append(bucket.anew - now)
        if len(self._sent) >= GLOBAL_MOST:
            waits.append(self._sent[0] + GLOBAL_S - now)
        if len(self._refused) >= REFUSED_MOST:
            waits.append(self._refused[0] + REFUSED_S - now)
        return max(0.0, *waits)

    def take(self, route: str, major: str) -> None:
        """One leaves."""
        now = self._clock()
        self._sent.append(now)
        bucket = self._buckets.get(self._key(route, major))
        if bucket is None:
            return
        if bucket.anew <= now:
            # Until its answer says more, as much as there was before.
            bucket.left, bucket.anew = bucket.most, now + UNSAID_S
        bucket.left -= 1

    def learn(self, route: str, major: str, status: int, headers: Mapping[str, str]) -> None:
        """What an answer says about the bucket that it came out of."""
        now = self._clock()
        if status in REFUSALS and headers.get("x-ratelimit-scope") != "shared":
            self._refused.append(now)
        if name := headers.get("x-ratelimit-bucket"):
            self._shared[route] = name
        most, left = _number(headers, "x-ratelimit-limit"), _number(headers, "x-ratelimit-remaining")
        after_s = _number(headers, "x-ratelimit-reset-after")
        if most is None or left is None or after_s is None:
            return
        key, known = self._key(route, major), self._buckets.get(self._key(route, major))
        if known is not None and known.anew > now:
            # What has left meanwhile is not in this answer.
            left = min(left, known.left)
        self._buckets[key] = _Bucket(int(most), int(left), now + after_s)
        self._buckets.move_to_end(key)
        if len(self._buckets) > BUCKETS:
            self._buckets.popitem(last=False)

    def back_off(self, route: str, major: str, wait_s: float, *, everywhere: bool) -> None:
        """It has asked for time."""
        until = self._clock() + min(max(wait_s, 0.0), LONGEST_S)
        if everywhere:
            self._not_before = max(self._not_before, until)
            return
        bucket = self._buckets.setdefault(self._key(route, major), _Bucket(1, 0, until))
        bucket.left, bucket.anew = 0, max(bucket.anew, until)

    def _key(self, route: str, major: str) -> tuple[str, str]:
        return self._shared.get(route, route), major

    def _forget(self, now: float) -> None:
        while self._sent and self._sent[0] + GLOBAL_S <= now:
            self._sent.popleft()
        while self._refused and self._refused[0] + REFUSED_S <= now:
            self._refused.popleft()


def _number(headers: Mapping[str, str], name: str) -> float | None:
    try:
        found = float(headers.get(name, ""))
    except ValueError:
        return None
    return found if 0 <= found <= LONGEST_S else None
