"""What people read of an extension that takes long to start: that it is there after all, or is not coming.

That it is late is told by whoever waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING

from hookgate.processes.child import Late
from hookgate.protocol.interfaces import Tool

if TYPE_CHECKING:
    from hookgate.hooks.zot.spec import ExtensionSpec
    from hookgate.protocol.zot.frames import Level


class Lateness:
    """Of one start, which begins with this."""

    def __init__(self, spec: ExtensionSpec, late: Late) -> None:
        self._spec, self._tell = spec, late
        self._began, self._late = monotonic(), False

    def begin(self, why: str) -> None:
        self._late = True
        self._spec.journal.host(why)
        self._tell(why)

    def over(self, tools: Sequence[Tool]) -> None:
        """It is up."""
        names = ", ".join(tool.spec.name for tool in tools)
        brought = f", with {names}" if names else ""
        self._note("info", f"it is there now, after {monotonic() - self._began:.0f} s{brought}")

    def failed(self, why: str) -> None:
        self._note("warn", f"it did not come up: {why}")

    def _note(self, level: Level, text: str) -> None:
        if self._late:
            self._spec.roster.show(lambda surface: surface.note(self._spec.name, level, text, None))
