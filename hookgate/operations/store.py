"""Whether something can be stored: known once something has been."""

from __future__ import annotations

import trio

from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.journal.interfaces import Journal

OK = "ok"
STORE_S = 5.0


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
