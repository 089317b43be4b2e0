"""What comes while a question stands open: it waits for the answer, for it could look like another question."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

MAX_HELD = 1000
"""The oldest goes, with a line that says so."""
Act = Callable[[], None]


class HeldActs:
    """`holds`: a question stands open. `tell` hears of what went."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.holds = False
        self._tell = tell
        self._acts: deque[Act] = deque(maxlen=MAX_HELD)
        self._dropped = 0

    def takes(self, act: Act) -> bool:
        """False: it need not wait."""
        if self.holds:
            self._dropped += len(self._acts) == MAX_HELD
            self._acts.append(act)
        return self.holds

    def release(self) -> None:
        """The question is over."""
        acts, dropped = (*self._acts,), self._dropped
        self._acts.clear()
        self.holds, self._dropped = False, 0
        if dropped:
            self._tell(f"! {dropped} lines that came while the question stood open were dropped")
        for act in acts:
            act()
