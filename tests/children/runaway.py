"""Leaves processes behind in every way there is, each `tail -f FILE`, then becomes COMMAND, which ignores SIGTERM.

python runaway.py FILE COMMAND...
"""

import os
import shutil
import signal
import sys

FILE, *COMMAND = sys.argv[1:]
TAIL = shutil.which("tail") or "tail"


def stay(environment: dict[str, str]) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    os.execve(TAIL, ["tail", "-n", "0", "-f", FILE], environment)


def leave_one(*, session: bool = False, twice: bool = False, deaf: bool = False, clean: bool = False) -> None:
    """`session`: one of its own; `twice`: its parent is gone; `deaf`: nothing but SIGKILL ends it; `clean`: no
    environment."""
    if pid := os.fork():
        if twice:
            os.waitpid(pid, 0)
        return
    if session:
        os.setsid()
    if twice and os.fork():
        os._exit(0)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN if deaf else signal.SIG_DFL)
    stay({} if clean else dict(os.environ))


leave_one()
leave_one(deaf=True)
leave_one(session=True)
leave_one(session=True, twice=True, deaf=True, clean=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.execvp(COMMAND[0], COMMAND)
