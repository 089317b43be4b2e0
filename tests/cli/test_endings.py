"""What ends a command: a line for a person and a status for scripts, whatever wraps it."""

from __future__ import annotations

from hookgate.config import ConfigError
from hookgate.hooks.children.supervise import RequiredHookFailed
from hookgate.program.endings import CONFIGURATION, INTERRUPTED, ending


def test_several_interrupts_at_once_are_one() -> None:
    inner = BaseExceptionGroup("", [KeyboardInterrupt(), KeyboardInterrupt()])
    outer = BaseExceptionGroup("", [inner, KeyboardInterrupt()])
    assert ending(outer) == ("hookgate: interrupted", INTERRUPTED)


def test_things_to_mend_that_come_at_once_have_a_line_each() -> None:
    both = ExceptionGroup("", [RequiredHookFailed("a", "it is not there"), ConfigError("agent.model: none")])
    found = ending(both)
    assert found is not None
    assert len(found[0].splitlines()) == 2
    assert found[1] == CONFIGURATION


def test_what_is_a_fault_of_ours_keeps_its_traceback_whatever_else_there_is() -> None:
    assert ending(BaseExceptionGroup("", [KeyboardInterrupt(), ValueError("ours")])) is None
