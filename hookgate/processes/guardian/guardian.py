"""A process above hookgate: what hookgate has started ends with it, however either of the two ends.

The guardian is the process that was started; hookgate goes on in a fork of it. Orphans of a process that is gone
become children of the nearest one above that keeps them, which none below can escape, whatever it does to its group,
its session, its environment or its parents. Standard library alone, and entered before anything dear is loaded.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from time import monotonic
from types import FrameType
from typing import NoReturn

from hookgate.processes.guardian.descendants import LOOK_S, end_descendants
from hookgate.processes.guardian.prctl import conceal, end_with_parent, keep_orphans, rename

NAME = "guardian"
"""Not hookgate's: who ends all processes of that name leaves one that ends the rest."""
LEAVE_S = 2.0
"""For what sees the end of its stdin when hookgate is killed outright; as long as a hook gets that is stopped."""
STOP_S = 2.0
"""For hookgate itself, where the terminal has stopped all."""
_ENDINGS = (signal.SIGTERM, signal.SIGHUP)
_PASSED_ON = {signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
_STOPPING = {signal.SIGTSTP, signal.SIGCONT}
_SI_KERNEL = 0x80
"""Sent by the terminal, which tells the whole group, or by the kernel."""


@contextmanager
def under_guardian() -> Generator[None]:
    """Fork: the body runs in the child, and the process that called this never gets beyond it.

    Leaving ends everything that descends from the body. The guardian ends as the body did, by the same status or
    signal, hands on the signals that it gets, stops at Ctrl-Z once the body has, or 2 s later, and ends what is left
    when the body is killed outright; when the guardian is killed, the body gets SIGTERM. SIGTERM and SIGHUP are as
    Ctrl-C where the body has no say about them. To be entered before there are other processes or threads:
    RuntimeError where there are threads. Not on Linux, it does nothing.
    """
    if sys.platform != "linux":
        yield
        return
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("a guardian is entered before there are other threads: they would end with the fork")
    conceal()
    keep_orphans()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_PASSED_ON, signal.SIGCHLD, *_STOPPING})
    guardian = os.getpid()
    if worker := os.fork():
        _stand(worker)
    keep_orphans()
    end_with_parent(signal.SIGTERM)
    ended = _ending()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if os.getppid() != guardian:
        signal.raise_signal(signal.SIGTERM)
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if ended:
            raise SystemExit(128 + ended[0]) from None
        raise
    finally:
        # It ends already.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        end_descendants()
        if os.getppid() == guardian:
            # Somebody may have stopped it; whoever waits for this program waits for it.
            os.kill(guardian, signal.SIGCONT)


def _ending() -> list[int]:
    """SIGTERM and SIGHUP interrupt from here on, unless they are ignored; those that have come. SIGINT, through which
    they do, is heard from here on though it was ignored, as in what a script starts in the background."""
    ended: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        ended.append(number)
        signal.raise_signal(signal.SIGINT)

    for number in _ENDINGS:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, interrupt)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return ended


def _stand(worker: int) -> NoReturn:
    _let_go()
    status = _status(worker)
    end_descendants(LEAVE_S if os.WIFSIGNALED(status) else 0.0)
    _end_as(status)


def _let_go() -> None:
    """Of the working directory, and of pipes whose end somebody waits for."""
    rename(NAME)
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def _status(worker: int) -> int:
    """How it has ended, as `waitpid` says it."""
    while True:
        got = signal.sigwaitinfo({*_PASSED_ON, signal.SIGCHLD, signal.SIGTSTP})
        if got.si_signo == signal.SIGCHLD:
            pid, status = os.waitpid(worker, os.WNOHANG)
            if pid:
                return status
        elif got.si_signo == signal.SIGTSTP:
            _stop(worker)
        elif got.si_code != _SI_KERNEL:
            with suppress(ProcessLookupError):
                os.kill(worker, got.si_signo)


def _stop(worker: int) -> None:
    """Once that has, unless all are to go on before: a shell that sees this one stopped reads the terminal, where the
    other would still do so. What starts a child that has stopped before it began cannot stop."""
    changed, end = os.WSTOPPED | os.WEXITED | os.WNOHANG | os.WNOWAIT, monotonic() + STOP_S
    while (found := os.waitid(os.P_PID, worker, changed)) is None and monotonic() < end:
        # It is blocked, and a stop takes it back: this one came after that.
        if signal.sigtimedwait({signal.SIGCONT}, LOOK_S):
            return
    if found is None or found.si_code == os.CLD_STOPPED:
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTSTP})
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})


def _end_as(status: int) -> NoReturn:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with suppress(OSError):
            # Not possible for SIGKILL, and not needed.
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) % 256)
