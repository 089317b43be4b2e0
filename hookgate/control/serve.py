"""The listening side of the control socket: who may connect, how many at once, and when it ends.

Knows neither what the methods do nor how a line is answered.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import structlog
import trio

from hookgate.control.connection import Connection
from hookgate.control.methods import Methods
from hookgate.control.place import claimed
from hookgate.control.rpc import SERVER_ERROR, error_frame

log = structlog.get_logger("hookgate.control")

MAX_CONNECTIONS = 32
CREDENTIALS = "iII"
"""The kernel's struct ucred: pid, uid, gid."""
TOO_MANY = error_frame(SERVER_ERROR, f"too many connections: at most {MAX_CONNECTIONS}") + b"\n"


Making = Callable[[], Awaitable[Methods]]


@asynccontextmanager
async def open_control(path: Path, methods: Making) -> AsyncGenerator[Path]:
    """Serve this user's processes at the Unix socket `path`, until left; then the file is gone. `methods` makes what
    they can ask for, once somebody does.

    Raises ControlUnavailable, before anything is served. Once open nothing raises here: what a client does, or a
    method, ends that connection or call at worst. Leaving cancels the calls that still run.
    """
    with claimed(path) as claim:
        # A duplicate, so that the path stays taken until its file is gone, whichever task ends first.
        listener = trio.SocketListener(trio.socket.from_stdlib_socket(claim.listener.dup()))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_run_listener, listener, methods)
            yield path
            nursery.cancel_scope.cancel()


async def _run_listener(listener: trio.SocketListener, methods: Making) -> None:
    welcome = partial(_welcome, methods, trio.Semaphore(MAX_CONNECTIONS))
    try:
        await trio.serve_listeners(welcome, [listener])
    except Exception:  # losing the control socket is no reason to lose the gateway
        log.exception("control_socket_lost")


async def _welcome(methods: Making, seats: trio.Semaphore, stream: trio.SocketStream) -> None:
    async with stream:
        try:
            await _converse(methods, seats, stream)
        except Exception:
            log.exception("control_connection_failed")


async def _converse(methods: Making, seats: trio.Semaphore, stream: trio.SocketStream) -> None:
    if not _is_us(stream):
        return
    try:
        seats.acquire_nowait()
    except trio.WouldBlock:
        await _turn_away(stream)
        return
    try:
        await Connection(stream, await methods()).run()
    finally:
        seats.release()


def _is_us(stream: trio.SocketStream) -> bool:
    """Whether a process of this user that we did not start is at the other end; true where none can tell. Nothing is
    said of one that has ended: it did not wait for us while we were stopped, or only looked whether we listen."""
    option: int | None = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    credentials = stream.getsockopt(socket.SOL_SOCKET, option, struct.calcsize(CREDENTIALS))
    pid, uid, _ = struct.unpack(CREDENTIALS, credentials)
    if uid == os.geteuid() and not _is_ours(pid):
        return True
    if uid != os.geteuid() or _parent(pid) is not None:
        log.warning("control_peer_refused", reason="another user's, or started by this hookgate")
    return False


def _is_ours(pid: int) -> bool:
    """Whether this process started the one at the other end, however many steps ago: a model's command, or a hook.
    What they run must not steer their own gateway, and since it keeps orphans none can shed its descent. One that is
    gone already cannot be told apart, so it counts."""
    while pid not in (0, 1):
        if (parent := _parent(pid)) is None or parent == os.getpid():
            return True
        pid = parent
    return False


def _parent(pid: int) -> int | None:
    try:
        # The name in brackets may hold anything, brackets too.
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError):
        return None


async def _turn_away(stream: trio.SocketStream) -> None:
    try:
        await stream.send_all(TOO_MANY)  # a new socket's buffer always has room for it
    except trio.BrokenResourceError:
        log.debug("control_client_gone")
