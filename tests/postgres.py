"""A PostgreSQL of the tests' own: started as an ordinary user in a folder of its own, on a loopback port, and stopped
with them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from time import monotonic, sleep
from uuid import uuid4

DEADLINE_S = 60.0
NOBODY = 65534
"""PostgreSQL refuses to run as root."""
CONFIGURATION = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 100
fsync = off
"""


def programs() -> Path | None:
    """Where initdb and the server lie; None: this machine has no PostgreSQL."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else []
    places += map(Path, sorted(glob("/usr/lib/postgresql/*/bin"), reverse=True))
    return next((it for it in places if (it / "initdb").exists() and (it / "postgres").exists()), None)


@dataclass(frozen=True)
class Server:
    folder: Path
    port: int
    programs: Path

    def address(self, database: str = "postgres") -> str:
        return f"postgresql://tests@127.0.0.1:{self.port}/{database}"

    def database(self) -> str:
        """The address of one that is new."""
        name = f"d{uuid4().hex}"
        self.sql(f"CREATE DATABASE {name}")
        return self.address(name)

    def sql(self, statement: str, address: str = "") -> str:
        asked = ["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", statement, address or self.address()]
        return subprocess.run(
            [str(self.programs / asked[0]), *asked[1:]],
            check=True,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        ).stdout

    def dump(self, address: str) -> str:
        """All that is in this database, for whoever wants to know what went wrong there."""
        command = [str(self.programs / "pg_dump"), "--inserts", address]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=DEADLINE_S).stdout

    def start(self) -> None:
        """Until it answers."""
        self._control("start", "-l", str(self.folder / "log"), "-o", f"-p {self.port}")

    def promote(self) -> None:
        """A standby takes over; until it writes."""
        self._control("promote")

    def stop(self, how: str = "fast") -> None:
        """Until it is gone, if it was there; `immediate` is as good as a crash."""
        if not (self.folder / "data" / "postmaster.pid").exists():
            return
        self._control("stop", "-m", how)

    def _control(self, *words: str) -> None:
        data, wait = str(self.folder / "data"), str(int(DEADLINE_S))
        ended = subprocess.run(
            [str(self.programs / "pg_ctl"), "-D", data, "-s", "-w", "-t", wait, *words],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **_user(),
        )
        if ended.returncode:
            raise AssertionError((self.folder / "log").read_text())


STANDBY = """
primary_conninfo = 'host=127.0.0.1 port={port} user=tests application_name=standby'
synchronous_standby_names = ''
"""


@contextmanager
def standby(primary: Server, configuration: str = "") -> Generator[Server]:
    """One that follows, without which the primary acknowledges nothing from then on."""
    folder = Path(tempfile.mkdtemp(prefix="hookgate-postgres-"))
    try:
        data, port = folder / "data", _free_port()
        _own(folder)
        copy = [str(primary.programs / "pg_basebackup"), "--no-sync", "-h", "127.0.0.1", "-p", str(primary.port)]
        _run([*copy, "-U", "tests", "-c", "fast", "-D", str(data)])
        (data / "standby.signal").touch()
        (data / "postgresql.auto.conf").unlink(missing_ok=True)
        settings = f"{CONFIGURATION}port = {port}\n{STANDBY.format(port=primary.port)}{configuration}"
        (data / "postgresql.conf").write_text(settings)
        follower = Server(folder, port, primary.programs)
        follower.start()
        try:
            primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
            primary.sql("SELECT pg_reload_conf()")
            following, patience = "SELECT sync_state FROM pg_stat_replication", monotonic() + DEADLINE_S
            while "sync" not in primary.sql(following).split():
                if monotonic() > patience:
                    raise AssertionError((folder / "log").read_text())
                sleep(0.05)
            yield follower
        finally:
            follower.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgres(configuration: str = "") -> Generator[Server]:
    """Raises RuntimeError where there is none."""
    found = programs()
    if found is None:
        raise RuntimeError("this machine has no PostgreSQL")
    folder = Path(tempfile.mkdtemp(prefix="hookgate-postgres-"))
    try:
        data = folder / "data"
        _own(folder)
        _run(
            [
                str(found / "initdb"),
                "--no-sync",
                "--auth=trust",
                "--locale=C",
                "--encoding=UTF8",
                "-U",
                "tests",
                "-D",
                str(data),
            ]
        )
        port = _free_port()
        (data / "postgresql.conf").write_text(f"{CONFIGURATION}port = {port}\n{configuration}")
        server = Server(folder, port, found)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=DEADLINE_S, **_user())


def _user() -> dict[str, object]:
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


def _own(folder: Path) -> None:
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
