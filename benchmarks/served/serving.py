"""`hookgate serve` as a process: configured, started until it is ready, looked at, stopped."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from time import monotonic, perf_counter_ns, sleep

from benchmarks.startup import ENVIRONMENT, HOOKGATE

START_S, STOP_S = 60.0, 30.0
ADDRESS = re.compile(rb"answers at http://([0-9.]+):(\d+)/")
LOOK_S = 0.002
USERS = 20
"""One user may ask for four things a second, so a load is many users'."""
PASSWORD = "benchmark"
HEAD = """
[agent]
model = "p/m"
workspace = "{folder}"
[providers.p]
kind = "scripted"
script = "script.json"
[http]
listen = "127.0.0.1:0"
[control]
enabled = false
[store]
journal = "{folder}/journal.db"
"""
LIMITS = """
[gateway]
max_turns = 64
drain_s = 1
"""
PAGE = """
[channels.web]
kind = "web"
[channels.web.users]
"""


@dataclass(frozen=True, slots=True)
class Serving:
    """`pid` is hookgate's own, below its guardian; `ready_ms`: from nothing to a yes at /ready."""

    pid: int
    host: str
    port: int
    ready_ms: float

    @property
    def resident_mb(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def configure(folder: Path, more: str = "", script: str = '{"steps": []}') -> None:
    """A gateway of one page with USERS users; `more` is added to its configuration."""
    from hookgate.channels.web.access.passwords import hashed

    password = hashed(PASSWORD, 8)
    users = "".join(f'u{number} = "{password}"\n' for number in range(USERS))
    (folder / "script.json").write_text(script)
    (folder / "hookgate.toml").write_text(HEAD.format(folder=folder) + LIMITS + PAGE + users + more)


@contextmanager
def serving(folder: Path) -> Generator[Serving]:
    """In a folder that is configured. Leaving stops it, in order."""
    root = str(Path(__file__).parents[2])
    environment = {**ENVIRONMENT, "PYTHONPATH": root, "XDG_RUNTIME_DIR": str(folder), "XDG_STATE_HOME": str(folder)}
    began = perf_counter_ns()
    with (folder / "serve.log").open("ab") as log:
        command = [*HOOKGATE, "serve"]
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=log)
    with process:
        try:
            host, port = address_of(process)
            _until_ready(host, port)
            took = (perf_counter_ns() - began) / 1e6
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            yield Serving(int(children[0]), host, port, took)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_S)
            finally:
                process.kill()


def address_of(process: subprocess.Popen[bytes]) -> tuple[str, int]:
    """Raises TimeoutError, and EOFError where it ends before it answers."""
    assert process.stdout
    shown, deadline = b"", monotonic() + START_S
    while (found := ADDRESS.search(shown)) is None:
        if not select.select([process.stdout], [], [], max(0.0, deadline - monotonic()))[0]:
            raise TimeoutError(f"no gateway within {START_S:g} s, but {shown!r}")
        if not (more := os.read(process.stdout.fileno(), 1 << 16)):
            raise EOFError(f"hookgate serve ended; it said {shown!r}")
        shown += more
    return found[1].decode(), int(found[2])


def _until_ready(host: str, port: int) -> None:
    deadline = monotonic() + START_S
    while monotonic() < deadline:
        connection = HTTPConnection(host, port, timeout=START_S)
        try:
            connection.request("GET", "/ready")
            if connection.getresponse().status == 200:
                return
        finally:
            connection.close()
        sleep(LOOK_S)
    raise TimeoutError(f"not ready within {START_S:g} s")
