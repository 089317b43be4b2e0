"""`python -m tests.preloaded.server SOCKET`: imports hookgate and forks a process for each run that a client asks
for, with the client's words, folder, environment and standard streams; until its stdin ends."""

from __future__ import annotations

import fcntl
import gc
import io
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import termios
import traceback
from importlib import import_module
from typing import TextIO

import hookgate

LONGEST = 1 << 20
PRELOADED = ("hookgate.cli.", "hookgate.assembly.", "hookgate.operations.", "hookgate.rpc.", "hookgate.control.")


def main() -> None:
    for module in pkgutil.walk_packages(hookgate.__path__, "hookgate."):
        if module.name.startswith(PRELOADED):
            import_module(module.name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen(64)
        print("ready", flush=True)
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            client, _ = listener.accept()
            with client:
                if os.fork() == 0:
                    listener.close()
                    _attend(client)
                    os._exit(0)


def _attend(client: socket.socket) -> None:
    """One run: ended where its client goes, and told to it where it ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    data, descriptors, _, _ = socket.recv_fds(client, LONGEST, 3)
    if (pid := os.fork()) == 0:
        client.close()
        _run(json.loads(data), descriptors)
    for descriptor in (0, 1, 2, *descriptors):
        os.close(descriptor)
    client.sendall(f"{pid}\n".encode())
    ended = os.pidfd_open(pid)
    if ended not in select.select([ended, client], [], [])[0]:
        os.kill(pid, signal.SIGKILL)
    client.sendall(f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n".encode())


def _run(asked: dict[str, object], descriptors: list[int]) -> None:
    status = 1
    try:
        for to, descriptor in enumerate(descriptors):
            os.dup2(descriptor, to)
            os.close(descriptor)
        os.setsid()
        if os.isatty(0):
            # What a shell's child has, so that Ctrl-C is a signal.
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        sys.stdin, sys.stdout, sys.stderr = _stream(0, "strict"), _stream(1, "strict"), _stream(2, "backslashreplace")
        os.chdir(str(asked["folder"]))
        os.environ.clear()
        os.environ.update(dict(asked["environment"]))  # pyright: ignore
        sys.argv = ["hookgate", *asked["words"]]  # pyright: ignore
        from hookgate.__main__ import main as hookgate_main

        hookgate_main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _stream(descriptor: int, errors: str) -> TextIO:
    raw = io.FileIO(descriptor, "r" if descriptor == 0 else "w", closefd=False)
    buffered = io.BufferedReader(raw) if descriptor == 0 else io.BufferedWriter(raw)
    at_once = descriptor == 2 or raw.isatty()
    return io.TextIOWrapper(buffered, "utf-8", errors, line_buffering=at_once)


if __name__ == "__main__":
    main()
