"""A hook made of functions in this process: guards that ship with hookgate, event sinks, test doubles."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import structlog
import trio

from hookgate.protocol.events.event import Event
from hookgate.protocol.hook.answers import CONTINUE, Answer, Failed
from hookgate.protocol.hook.hello import Hello
from hookgate.protocol.hook.stages import Question, Stage

log = structlog.get_logger("hookgate.hooks")

Judge = Callable[[Question], Awaitable[Answer]]


class InsideHook:
    """Asks the function of a stage; whatever it raises is a failure, never a pass.

    One that does not `wait` for anybody is asked without a deadline, which would cost more than its answer.
    """

    def __init__(
        self,
        name: str,
        judges: Mapping[Stage, Judge] | None = None,
        hear: Callable[[Event], None] | None = None,
        *,
        waits: bool = True,
    ) -> None:
        self.name = name
        self.declared = Hello()
        self._judges = judges or {}
        self._hear = hear
        self._waits = waits

    async def ask(self, question: Question, timeout_s: float) -> Answer:
        judge = self._judges.get(question.stage)
        if judge is None:
            return CONTINUE
        try:
            if not self._waits:
                return await judge(question)
            with trio.fail_after(timeout_s):
                return await judge(question)
        except trio.TooSlowError:
            return Failed(f"no answer within {round(timeout_s * 1000)} ms")
        except Exception as error:
            log.exception("guard_failed", hook=self.name, stage=question.stage)
            return Failed(f"{type(error).__name__}: {error}")

    def notify(self, event: Event) -> None:
        if self._hear is None:
            return
        try:
            self._hear(event)
        except Exception:
            log.exception("event_sink_failed", hook=self.name, kind=event.kind)
