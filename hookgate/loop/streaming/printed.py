"""What a running call prints, as those who watch may read it: no piece that may end within a secret."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from hookgate.loop.calls.batch import Batch
from hookgate.loop.streaming.withheld import WithheldText
from hookgate.protocol import call_context
from hookgate.protocol.events.inside import CallProgressed

MAX_HELD = 64 * 1024
"""Characters that wait because a secret may have begun in them; with more no piece is told."""
MAX_TOLD = 256 * 1024
"""Characters that are told at all: the result has what the model gets."""


@contextmanager
def telling(batch: Batch, call_id: str) -> Generator[None]:
    """What a tool prints inside is told; what still waits at the end too, unless that is a failure."""
    redactor, told, over = batch.redactor, 0, False
    waiting = WithheldText(redactor.held_from)

    def tell(text: str) -> None:
        batch.events.emit(CallProgressed(call_id, text), batch.step)

    def add(piece: str) -> None:
        nonlocal told, over
        if over:
            return
        waiting.add(piece)
        text = waiting.safe(waiting.size)
        told += len(text)
        over = waiting.size > MAX_HELD or told > MAX_TOLD
        if over:
            waiting.all()
        if text or over:
            tell("\n... [more output follows in the result]\n" if over else redactor.text(text))

    token = call_context.progress.set(add)
    try:
        yield
        if rest := waiting.all():
            tell(redactor.text(rest))
    finally:
        call_context.progress.reset(token)
