"""What is made of values that never change is made once: the very same ones are known again. Knows no value."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


def known_again(most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Of a function of such values, by position: `most` of its results are kept, which nobody may change either."""

    def decorate(make: Callable[P, T]) -> Callable[P, T]:
        # With the values themselves, so that their identities are not given to others.
        known: dict[tuple[int, ...], tuple[tuple[object, ...], object]] = {}

        @wraps(make)
        def again(*values: P.args, **named: P.kwargs) -> T:
            key = tuple(map(id, values))
            found = known.get(key)
            if found is None:
                if len(known) >= most:
                    known.clear()
                found = known[key] = values, make(*values, **named)
            return cast("T", found[1])

        return again

    return decorate
