"""How long to wait before the next try, the same for whatever failed. Knows neither what failed nor a clock."""

from __future__ import annotations

import random

# Beyond these doublings every first delay has reached its longest.
_DOUBLINGS = 32


def backoff_s(failures: int, first_s: float, longest_s: float) -> float:
    """Doubles with every failure in a row after the first; half of it is chance, so that many do not come in step."""
    longest = min(first_s * 2.0 ** min(max(0, failures - 1), _DOUBLINGS), longest_s)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, no secret
