"""The tests' own PostgreSQL ends with whoever has started it, also where that is killed."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.postgres import programs

DEADLINE_S = 60.0
STARTS = """
from tests.postgres import postgres
with postgres() as server:
    print(server.port, server.folder, flush=True)
    input()
"""


@pytest.mark.skipif(programs() is None, reason="this machine has no PostgreSQL server")
def test_a_server_ends_with_whoever_has_started_it_and_was_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    ) as starter:
        assert starter.stdout is not None
        port, folder = starter.stdout.readline().decode().split()
        socket.create_connection(("127.0.0.1", int(port)), DEADLINE_S).close()
        starter.kill()
    patience = monotonic() + DEADLINE_S
    while (Path(folder) / "data" / "postmaster.pid").exists():
        assert monotonic() < patience, "it is still there"
        sleep(0.02)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(port)), DEADLINE_S)
