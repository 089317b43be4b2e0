"""Whether something can be stored: known once something has been."""

from __future__ import annotations

import trio

from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.journal.interfaces import Journal

OK = "ok"
STORE_S = 5.0
FRESH_S = 1.0
"""A look writes to the disk, so a second one this soon is answered with the first."""


async def store_state(journal: Journal) -> str:
    """OK, or why not."""
    try:
        with trio.fail_after(STORE_S):
            await journal.holds.hold("ready", "gateway", STORE_S)
    except trio.TooSlowError:
        return f"nothing was stored for {STORE_S:g} s"
    except StoreFailed as error:
        return str(error)
    return OK


class StoreLook:
    """As `store_state`, for whoever asks as often as they like."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._one = journal, trio.Lock()
        self._last, self._at = OK, -FRESH_S

    async def __call__(self) -> str:
        async with self._one:
            if trio.current_time() - self._at >= FRESH_S:
                self._last, self._at = await store_state(self._journal), trio.current_time()
        return self._last
