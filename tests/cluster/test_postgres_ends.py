"""The tests' own PostgreSQL and its files are gone with whoever has started it, also where that is killed."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.postgres import MADE, programs
from tests.processes import processes_of

DEADLINE_S = 60.0
STARTS = """
import sys
from tests.postgres import made, postgres
with postgres() as server:
    if sys.argv[1] == "stopped":
        server.stop()
    print(server.port, server.folder, made().parent, flush=True)
    input()
"""


@pytest.mark.skipif(programs() is None, reason="this machine has no PostgreSQL server")
@pytest.mark.parametrize("state", ["running", "stopped"])
def test_nothing_is_left_of_a_server_whose_starter_was_killed(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MADE, raising=False)
    with subprocess.Popen(
        [sys.executable, "-c", STARTS, state],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    ) as starter:
        assert starter.stdout is not None
        port, *folders = starter.stdout.readline().decode().split()
        if state == "running":
            socket.create_connection(("127.0.0.1", int(port)), DEADLINE_S).close()
        starter.kill()
    patience = monotonic() + DEADLINE_S
    # Not by its port, which may be another server's by now.
    while any(Path(folder).exists() or processes_of(folder) for folder in folders):
        assert monotonic() < patience, "they are still there"
        sleep(0.02)
