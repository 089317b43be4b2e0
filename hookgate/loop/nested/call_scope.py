"""Which running tool the present task works inside, so that the calls it makes find their turn."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from itertools import count

import trio

from hookgate.loop.calls.batch import Batch, Ready
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import TurnAborted
from hookgate.tools.lease import Lease


@dataclass
class Served:
    """A running tool. `lease`: for what it calls; one of their own where it has the workspace for itself. `call_id`:
    the journal's name for it, which those of the calls that it makes begin with. `writer`: its name, where it may
    change the workspace itself."""

    batch: Batch
    call_id: str
    lease: Lease
    writer: str = ""
    numbers: count[int] = field(default_factory=lambda: count(1))
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    aborted: TurnAborted | None = None

    def abort(self, error: TurnAborted) -> None:
        """A hook has ended the turn at a call that the tool made: the tool ends here, the turn with it."""
        self.aborted = error
        self.scope.cancel()


current: ContextVar[Served | None] = ContextVar("served", default=None)


@contextmanager
def serving(batch: Batch, item: Ready) -> Generator[None]:
    """Round a tool that makes calls: what it calls belongs to this batch. Raises what a hook aborts with."""
    access = item.spec.lease
    lease = Lease() if access == "write" else batch.agent.around.lease
    served = Served(batch, batch.id_of(item.call), lease, item.call.name if access in ("shared", "write") else "")
    token = current.set(served)
    try:
        with served.scope:
            yield
    finally:
        current.reset(token)
    if served.aborted is not None:
        raise served.aborted
