"""A PostgreSQL of the tests' own: started as an ordinary user in a folder of its own, on a loopback port, and stopped
with them, however they end: a keeper waits for that."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from fcntl import LOCK_EX, flock
from functools import cache
from glob import glob
from pathlib import Path
from time import monotonic, sleep
from uuid import uuid4

from tests.folders import open_folder

DEADLINE_S = 60.0
NOBODY = 65534
"""PostgreSQL refuses to run as root."""
CONFIGURATION = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 100
fsync = off
# It visits database after database, each with a process, and every test has one.
autovacuum = off
max_logical_replication_workers = 0
"""
PREFIX = "hookgate-postgres-"
MADE = "TESTS_POSTGRES"
"""The variable with a folder for what initdb makes, which is copied: one for all workers."""
MEMORY = Path("/dev/shm")
ROOM_BYTES = 4 << 30
"""More than all of a suite's servers have in theirs."""
KEEPER = """
import os, signal, sys
sys.stdin.read()
try:
    os.kill(int(sys.argv[1]), signal.SIGQUIT)
except ProcessLookupError:
    pass
"""
ANSWERS = ("ready", "standby")
"""What the eighth line of its file says of a server that takes connections."""


def programs() -> Path | None:
    """Where initdb and the server lie; None: this machine has no PostgreSQL."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else []
    places += map(Path, sorted(glob("/usr/lib/postgresql/*/bin"), reverse=True))
    return next((it for it in places if (it / "initdb").exists() and (it / "postgres").exists()), None)


def _found() -> Path:
    """Raises RuntimeError where there are none."""
    if (found := programs()) is None:
        raise RuntimeError("this machine has no PostgreSQL")
    return found


@dataclass(frozen=True)
class Server:
    folder: Path
    port: int
    programs: Path
    _processes: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]], compare=False)
    """While it runs: its keeper, and the server."""

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
        self._gone()
        command = [str(self.programs / "postgres"), "-D", str(self.folder / "data"), "-p", str(self.port)]
        own = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "start_new_session": True, **_user()}
        with (self.folder / "log").open("ab") as log:
            server = subprocess.Popen(command, stdout=log, **own)
        keeper = [sys.executable, "-S", "-E", "-c", KEEPER, str(server.pid)]
        # What is typed at a terminal is not for it.
        self._processes.extend([subprocess.Popen(keeper, stdin=subprocess.PIPE, start_new_session=True), server])
        patience = monotonic() + DEADLINE_S
        while not self._answers(server.pid):
            if server.poll() is not None or monotonic() > patience:
                self.stop("immediate")
                raise AssertionError((self.folder / "log").read_text())
            sleep(0.02)

    def promote(self) -> None:
        """A standby takes over; until it writes."""
        self._control("promote")

    def stop(self, how: str = "fast") -> None:
        """Until it is gone, if it was there; `immediate` is as good as a crash."""
        if (self.folder / "data" / "postmaster.pid").exists():
            self._control("stop", "-m", how)
        self._gone()

    def _answers(self, pid: int) -> bool:
        """Whether this process does, and not one whose file was left."""
        said = self.folder / "data" / "postmaster.pid"
        lines = said.read_text().splitlines() if said.exists() else []
        return lines[:1] == [str(pid)] and "".join(lines[7:8]).strip() in ANSWERS

    def _gone(self) -> None:
        """The keeper first: it must not end whoever gets the server's number next."""
        while self._processes:
            process = self._processes.pop(0)
            if process.stdin is not None:
                process.kill()
                process.stdin.close()
            process.wait(DEADLINE_S)

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
    with _open_folder(configuration) as folder:
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


@contextmanager
def postgres(configuration: str = "") -> Generator[Server]:
    """Raises RuntimeError where there is none."""
    found = _found()
    with _open_folder(configuration) as folder:
        data = folder / "data"
        _own(folder)
        _run(["cp", "-a", str(made()), str(data)])
        port = _free_port()
        (data / "postgresql.conf").write_text(f"{CONFIGURATION}port = {port}\n{configuration}")
        server = Server(folder, port, found)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _open_folder(configuration: str) -> AbstractContextManager[Path]:
    """In memory, if there is room: a disk makes the thousand files of a database slowly. On a disk where it is waited
    for."""
    roomy = os.access(MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(MEMORY).free > ROOM_BYTES
    return open_folder(PREFIX, MEMORY if roomy and "fsync = on" not in configuration else None)


def made() -> Path:
    """What initdb makes, which whoever comes first lets it make."""
    folder = Path(os.environ.get(MADE) or _own_made())
    with (folder / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not (data := folder / "data").exists():
            making = folder / "making"
            _own(folder)
            options = ["--no-sync", "--auth=trust", "--locale=C", "--encoding=UTF8", "-U", "tests"]
            _run([str(_found() / "initdb"), *options, "-D", str(making)])
            making.rename(data)
    return data


@cache
def _own_made() -> str:
    """For a process that shares it with nobody."""
    stack = ExitStack()
    atexit.register(stack.close)
    return str(stack.enter_context(open_folder(PREFIX)))


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
