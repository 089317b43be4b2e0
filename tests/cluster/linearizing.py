"""Whether operations that went side by side can have been done one after the other, each at some moment between its
beginning and its end (after Wing and Gong, with a memory of what was tried). Knows nothing of journals."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Generic, TypeVar

S = TypeVar("S", bound=Hashable)
C = TypeVar("C")


@dataclass(frozen=True)
class Operation(Generic[C]):
    """`begun` and `ended` by one clock. What has no end was lost: it may be done at any time since, or never."""

    call: C
    begun: float
    ended: float = inf

    @property
    def is_lost(self) -> bool:
        return self.ended == inf


def explained(history: Sequence[Operation[C]], first: S, after: Callable[[S, C, bool], Iterable[S]]) -> bool:
    """`after`: the states that a call leads to from this one with the result that was seen, or whatever result where
    it is lost; none where that cannot be."""
    operations = sorted(history, key=lambda it: it.begun)
    seen = set[tuple[int, S]]()
    left = [(0, first)]
    while left:
        done, state = left.pop()
        if (done, state) in seen:
            continue
        seen.add((done, state))
        open_ = [(at, it) for at, it in enumerate(operations) if not done >> at & 1]
        if all(it.is_lost for _, it in open_):
            return True
        # What began after another one had ended cannot have come before it.
        until = min(it.ended for _, it in open_)
        for at, it in open_:
            if it.begun < until:
                left += ((done | 1 << at, then) for then in after(state, it.call, it.is_lost))
    return False


def puzzle(
    history: Sequence[Operation[C]], first: S, after: Callable[[S, C, bool], Iterable[S]]
) -> Sequence[Operation[C]]:
    """Nothing where it can be explained; else its shortest beginning that cannot, what was seen last at its end."""
    if explained(history, first, after):
        return ()
    for end in sorted(it.ended for it in history if not it.is_lost):
        seen = [it for it in history if it.ended <= end]
        beginning = [*(replace(it, ended=inf) for it in history if it.begun < end < it.ended), *seen]
        if not explained(beginning, first, after):
            return sorted(beginning, key=lambda it: it.ended)
    return history
