"""What a process asks of Linux about itself. Standard library alone; where the kernel refuses, nothing is done."""

from __future__ import annotations

import ctypes
import signal
from contextlib import suppress

_SET_PDEATHSIG, _SET_DUMPABLE, _SET_NAME = 1, 4, 15
_SET_CHILD_SUBREAPER, _GET_CHILD_SUBREAPER = 36, 37


def keep_orphans() -> None:
    """From here on a process below this one whose parent ends becomes its child: none can shed its descent."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def keeps_orphans() -> bool:
    answer = ctypes.c_int()
    _prctl(_GET_CHILD_SUBREAPER, ctypes.byref(answer))
    return bool(answer.value)


def conceal() -> None:
    """Other processes of this user may not read its memory and its environment, nor trace it; and it leaves no core.

    What it forks is concealed as well; what is executed is not. Root is not kept out.
    """
    _prctl(_SET_DUMPABLE, 0)


def end_with_parent(number: signal.Signals) -> None:
    """To be told by this signal that the *thread* which forked this process has ended."""
    _prctl(_SET_PDEATHSIG, int(number))


def rename(name: str) -> None:
    """As `ps -e` and `pkill NAME` see it; at most 15 bytes."""
    _prctl(_SET_NAME, name.encode())


def _prctl(option: int, argument: object) -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, argument, 0, 0, 0)
