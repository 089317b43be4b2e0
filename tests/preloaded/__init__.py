"""hookgate as a program whose modules are in memory already: each run is a process of its own, forked by a server
that has imported them once. For tests of what a command does; what a start imports, and what is left of a process
that was killed, is tested with `python -m hookgate`."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from time import monotonic, sleep

from tests.folders import open_folder

CLIENT = Path(__file__).with_name("client.py")
SHARED = "TESTS_PRELOADED"
"""The variable with the socket of a server that all workers share."""
READY_S = 120.0
_servers = ExitStack()


@cache
def preloaded() -> tuple[str, ...]:
    """The words that a command's own are written behind. Their server is started when they are asked for, unless it
    is shared."""
    path = os.environ.get(SHARED) or start()
    patience = monotonic() + READY_S
    while not _listens(path):
        assert monotonic() < patience, "the server of preloaded programs does not listen"
        sleep(0.02)
    return (sys.executable, "-I", "-S", str(CLIENT), path)


def start() -> str:
    """A server, until `open_preloaded` is left; its socket, where it will listen."""
    path = str(_servers.enter_context(open_folder("hookgate-")) / "socket")
    command = [sys.executable, "-P", "-m", "tests.preloaded.server", path]
    folder = Path(__file__).parents[2]
    server = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    _servers.callback(_end, server)
    return path


def _end(server: subprocess.Popen[bytes]) -> None:
    assert server.stdin
    server.stdin.close()
    server.wait(timeout=10)


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as asked:
        try:
            asked.connect(path)
        except OSError:
            return False
    return True


def put_hookgate(folder: Path) -> None:
    """The program `hookgate` in a folder that is there, for shells that have it on PATH."""
    program = folder / "hookgate"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(preloaded())} "$@"\n')
    program.chmod(0o755)


@contextmanager
def open_preloaded() -> Generator[None]:
    """Ends the servers that were started meanwhile."""
    try:
        yield
    finally:
        preloaded.cache_clear()
        _servers.close()
