"""hookgate as a program whose modules are in memory already: each run is a process of its own, forked by a server
that has imported them once. For tests of what a command does; what a start imports, and what is left of a process
that was killed, is tested with `python -m hookgate`."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

CLIENT = Path(__file__).with_name("client.py")
_servers: list[subprocess.Popen[bytes]] = []


@cache
def preloaded() -> tuple[str, ...]:
    """The words that a command's own are written behind. Their server is started when they are asked for."""
    path = Path(tempfile.mkdtemp(prefix="hookgate-")) / "socket"
    command = [sys.executable, "-P", "-m", "tests.preloaded.server", str(path)]
    folder = Path(__file__).parents[2]
    server = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdout
    assert server.stdout.readline() == b"ready\n"
    server.stdout.close()
    _servers.append(server)
    return (sys.executable, "-I", "-S", str(CLIENT), str(path))


def put_hookgate(folder: Path) -> None:
    """The program `hookgate` in a folder that is there, for shells that have it on PATH."""
    program = folder / "hookgate"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(preloaded())} "$@"\n')
    program.chmod(0o755)


@contextmanager
def open_preloaded() -> Generator[None]:
    """Ends what was started by `preloaded` meanwhile."""
    try:
        yield
    finally:
        preloaded.cache_clear()
        for server in _servers:
            assert server.stdin
            server.stdin.close()
            server.wait(timeout=10)
        _servers.clear()
