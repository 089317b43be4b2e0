"""`python -m tests.preloaded.server SOCKET`: imports hookgate and forks a process for each run that a client asks
for, with the client's words, folder, environment and standard streams; until its stdin ends."""

from __future__ import annotations

import fcntl
import gc
import io
import os
import pkgutil
import select
import signal
import socket
import sys
import termios
import traceback
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TextIO

import hookgate
from hookgate import config
from hookgate.providers.models import known_model
from hookgate.redaction.redactor import Redactor

LONGEST = 1 << 20
PRELOADED = tuple(
    f"hookgate.{folder}."
    for folder in (
        *("cli", "assembly", "operations", "rpc", "control", "embedding", "loop", "providers", "hooks", "guards"),
        *("skills", "tools.files", "protocol", "channels.display"),
    )
)
LATER = ("httpcore", "certifi", "encodings.idna", "encodings.unicode_escape", "jsonschema_rs", "pydantic.dataclasses")
"""What others import when they are first used."""
CONFIG = '[agent]\nmodel = "p/m"\n[providers.p]\nkind = "scripted"\nscript = "script.json"\n'


@dataclass(frozen=True, eq=False)
class Run:
    """`ended`: a descriptor that can be read once it is over."""

    pid: int
    ended: int
    client: socket.socket

    def over(self) -> None:
        """The client is told how it ended, if there is still one."""
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        with suppress(OSError):
            self.client.sendall(f"{status}\n".encode())
        self.let_go()

    def let_go(self) -> None:
        os.close(self.ended)
        self.client.close()


def main() -> None:
    for module in pkgutil.walk_packages(hookgate.__path__, "hookgate."):
        if module.name.startswith(PRELOADED):
            import_module(module.name)
    for name in LATER:
        import_module(name)
    _build()
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen(64)
        _serve(listener)


def _build() -> None:
    """What a program makes with its first configuration and its first text, and no other one needs anew."""
    config.parse(CONFIG, Path("hookgate.toml"))
    known_model("p", "openai", "m")
    for made in gc.get_objects():
        if isinstance(made, type) and "__given__" in vars(made):
            # The first call of a class compiles its `__init__`, none of which takes so many arguments.
            with suppress(TypeError):
                made(*range(100))
    Redactor(()).text(Redactor(()).text("password: 12345678")[Redactor(()).held_from("a text") :])


def _serve(listener: socket.socket) -> None:
    runs, left = set[Run](), set[Run]()
    while sys.stdin not in (heard := _heard(listener, runs, left)):
        if listener in heard and (started := _started(listener, runs)):
            runs.add(started)
        for run in tuple(runs):
            if run.ended in heard:
                run.over()
                runs.remove(run)
            elif run.client in heard and run not in left:
                left.add(run)
                os.kill(run.pid, signal.SIGKILL)
    for run in runs:
        os.kill(run.pid, signal.SIGKILL)


def _heard(listener: socket.socket, runs: Iterable[Run], left: set[Run]) -> list[object]:
    clients = [run.client for run in runs if run not in left]
    return select.select([sys.stdin, listener, *(run.ended for run in runs), *clients], [], [])[0]


def _started(listener: socket.socket, others: Iterable[Run]) -> Run | None:
    """None: the client has gone before it asked."""
    client, _ = listener.accept()
    data, descriptors, _, _ = socket.recv_fds(client, LONGEST, 3)
    if not data:
        client.close()
        return None
    if (pid := os.fork()) == 0:
        for closed in (listener, client):
            closed.close()
        for run in others:
            run.let_go()
        _run(data, descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    with suppress(OSError):
        client.sendall(f"{pid}\n".encode())
    return Run(pid, os.pidfd_open(pid), client)


def _run(data: bytes, descriptors: list[int]) -> None:
    """`data`: as `client.py` has it."""
    status = 1
    try:
        folder, count, *items = data.split(b"\0")[:-1]
        for to, descriptor in enumerate(descriptors):
            os.dup2(descriptor, to)
            os.close(descriptor)
        os.setsid()
        if os.isatty(0):
            # What a shell's child has, so that Ctrl-C is a signal.
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        sys.stdin, sys.stdout, sys.stderr = _stream(0, "strict"), _stream(1, "strict"), _stream(2, "backslashreplace")
        os.chdir(folder)
        os.environ.clear()
        os.environb.update(item.split(b"=", 1) for item in items[int(count) :])
        sys.argv = ["hookgate", *map(os.fsdecode, items[: int(count)])]
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
