"""A run of hookgate to its end, asked of the server by the test itself: a client between them is a process more."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import CompletedProcess

import trio

from tests.preloaded import preloaded

DEADLINE_S = 60.0


def ran(*words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> CompletedProcess[str]:
    """For tests without a loop: what it printed as text. Its stdin is empty. None: as it is here."""

    async def run() -> CompletedProcess[bytes]:
        with trio.fail_after(DEADLINE_S):
            return await run_preloaded(words, cwd or Path.cwd(), os.environ if env is None else env)

    done = trio.run(run)
    return CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


async def run_preloaded(
    words: Sequence[str], folder: Path, variables: Mapping[str, str], stdin: bytes = b""
) -> CompletedProcess[bytes]:
    """hookgate with these words, in this folder, with this environment alone. Cancelled, it is killed."""
    printed, told = bytearray(), bytearray()
    asked, (feeding, out, err) = _begun(words, folder, variables)
    with asked:
        async with feeding, out, err, trio.open_nursery() as nursery:
            nursery.start_soon(_feed, feeding, stdin)
            nursery.start_soon(_collect, out, printed)
            nursery.start_soon(_collect, err, told)
            said = b""
            while said.count(b"\n") < 2:
                piece = await asked.recv(64)
                assert piece, "the server of preloaded programs has gone"
                said += piece
    _pid, status = map(int, said.split())
    return CompletedProcess([*words], status, bytes(printed), bytes(told))


def _begun(
    words: Sequence[str], folder: Path, variables: Mapping[str, str]
) -> tuple[trio.socket.SocketType, list[trio.lowlevel.FdStream]]:
    """Where its number and its status are told, and our ends of its stdin, stdout and stderr."""
    items = (str(folder), str(len(words)), *words, *(f"{name}={value}" for name, value in variables.items()))
    (in_, feeding), (out, out_), (err, err_) = (os.pipe() for _ in range(3))
    server = socket.socket(socket.AF_UNIX)
    server.connect(preloaded()[-1])
    socket.send_fds(server, [b"".join(os.fsencode(item) + b"\0" for item in items)], [in_, out_, err_])
    for theirs in (in_, out_, err_):
        os.close(theirs)
    server.setblocking(False)
    return trio.socket.from_stdlib_socket(server), [trio.lowlevel.FdStream(ours) for ours in (feeding, out, err)]


async def _feed(stream: trio.lowlevel.FdStream, data: bytes) -> None:
    with suppress(trio.BrokenResourceError):
        await stream.send_all(data)
    await stream.aclose()


async def _collect(stream: trio.lowlevel.FdStream, into: bytearray) -> None:
    async for piece in stream:
        into += piece
