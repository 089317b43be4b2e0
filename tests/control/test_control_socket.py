"""The listening socket: its file, its folder, several clients at once, clients that misbehave or vanish."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs

from hookgate.control.connection import MAX_IN_FLIGHT, MAX_LINE_BYTES
from hookgate.control.place import ControlUnavailable
from hookgate.control.serve import MAX_CONNECTIONS
from hookgate.protocol.codec import decode
from tests.control.methods import looking, open_control
from tests.processes import line_of

pytestmark = pytest.mark.usefixtures("deadline")

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
PONG = {"jsonrpc": "2.0", "result": "pong", "id": 1}


async def ping() -> str:
    return "pong"


METHODS = looking(ping=ping)


@asynccontextmanager
async def connected(path: Path) -> AsyncGenerator[trio.SocketStream]:
    async with await trio.open_unix_socket(path) as stream:
        yield stream


async def read_line(stream: trio.SocketStream) -> Any:
    """One decoded answer; None where the connection ends first."""
    received = b""
    while not received.endswith(b"\n"):
        try:
            chunk = await stream.receive_some()
        except trio.BrokenResourceError:
            return None
        if not chunk:
            return None
        received += chunk
    return decode(received)


async def pinged(path: Path) -> Any:
    async with connected(path) as stream:
        await stream.send_all(PING)
        return await read_line(stream)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Generator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


async def test_the_socket_is_0600_in_a_folder_of_0700_and_gone_afterwards(folder: Path, umask: int) -> None:
    path = folder / "hookgate" / "1.sock"
    async with open_control(path, METHODS) as opened:
        assert opened == path
        assert stat.S_ISSOCK(path.lstat().st_mode)
        assert (mode(path), mode(path.parent)) == (0o600, 0o700)
        assert os.umask(umask) == umask, "the process keeps its own umask"
        assert await pinged(path) == PONG
    assert not path.exists()
    assert path.parent.is_dir()


async def test_the_socket_is_gone_after_an_error_too(folder: Path) -> None:
    path = folder / "1.sock"
    with pytest.RaisesGroup(KeyError):
        async with open_control(path, METHODS):
            raise KeyError
    assert not path.exists()


async def test_a_cancelled_gateway_leaves_no_socket(folder: Path) -> None:
    path = folder / "1.sock"
    with trio.CancelScope() as scope:
        async with open_control(path, METHODS), connected(path):
            scope.cancel()
            await trio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    assert not path.exists()


async def test_a_stale_socket_is_replaced(folder: Path) -> None:
    path = folder / "1.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
        dead.listen()
    async with open_control(path, METHODS):
        assert await pinged(path) == PONG
    assert not path.exists()


async def test_what_killed_processes_have_left_goes_with_the_next_start_and_nothing_else(folder: Path) -> None:
    for name in ("11.sock", "mine.sock"):
        bound(folder / name).close()
    (folder / "12.sock").write_text("no socket")
    async with open_control(folder / "13.sock", METHODS), open_control(folder / "chat", METHODS):
        async with open_control(folder / "14.sock", METHODS):
            assert sorted(os.listdir(folder)) == ["12.sock", "13.sock", "14.sock", "chat", "mine.sock"]
        assert await pinged(folder / "13.sock") == PONG


async def test_a_live_socket_is_left_alone(folder: Path) -> None:
    path = folder / "1.sock"
    async with open_control(path, METHODS):
        with pytest.raises(ControlUnavailable, match=r"1\.sock: another process listens there"):
            async with open_control(path, {}):
                pass
        assert await pinged(path) == PONG


async def test_a_live_socket_with_a_full_backlog_is_left_alone(folder: Path) -> None:
    path = folder / "1.sock"
    with socket.socket(socket.AF_UNIX) as busy, socket.socket(socket.AF_UNIX) as waiting:
        busy.bind(str(path))
        busy.listen(0)
        waiting.connect(str(path))
        with pytest.raises(ControlUnavailable, match="another process listens"):
            async with open_control(path, METHODS):
                pass
        assert path.exists()


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
async def test_what_is_no_socket_is_never_removed(folder: Path, kind: str) -> None:
    path = folder / "1.sock"
    match kind:
        case "file":
            path.write_text("precious")
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to(folder / "elsewhere")
    with pytest.raises(ControlUnavailable, match="exists and is no socket"):
        async with open_control(path, METHODS):
            pass
    assert path.is_symlink() or path.exists()


async def test_the_socket_of_a_successor_is_not_removed(folder: Path) -> None:
    path = folder / "1.sock"
    async with open_control(path, METHODS):
        path.unlink()
        successor = socket.socket(socket.AF_UNIX)
        successor.bind(str(path))
    successor.close()
    assert path.exists()


@pytest.mark.parametrize("extra", [0o020, 0o002])
async def test_a_folder_that_others_may_write_to_is_refused(folder: Path, extra: int) -> None:
    shared = folder / "shared"
    shared.mkdir()
    shared.chmod(0o700 | extra)
    with pytest.raises(ControlUnavailable, match="other users may write to it"):
        async with open_control(shared / "1.sock", METHODS):
            pass
    assert list(shared.iterdir()) == []


async def test_a_folder_that_is_a_file_is_refused(folder: Path) -> None:
    (folder / "file").write_text("")
    with pytest.raises(ControlUnavailable, match="file: File exists"):
        async with open_control(folder / "file" / "1.sock", METHODS):
            pass


async def test_a_path_that_is_too_long_is_refused_in_one_line(folder: Path) -> None:
    with pytest.raises(ControlUnavailable, match="AF_UNIX path too long"):
        async with open_control(folder / ("x" * 120), METHODS):
            pass


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
NOBODY = 65534
PYTHON = shutil.which("python3", path=os.defpath)


@as_root
@pytest.mark.parametrize("link", [False, True])
async def test_a_folder_or_a_link_of_another_user_is_refused(folder: Path, link: bool) -> None:
    theirs = folder / "theirs"
    if link:
        (folder / "ours").mkdir()
        theirs.symlink_to(folder / "ours")
    else:
        theirs.mkdir(mode=0o700)
    os.chown(theirs, NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(ControlUnavailable, match="belongs to another user"):
        async with open_control(theirs / "1.sock", METHODS):
            pass


def let_everybody_in(path: Path) -> None:
    path.parent.chmod(0o711)
    path.chmod(0o666)


@as_root
@pytest.mark.skipif(PYTHON is None, reason="needs an interpreter that another user may run")
async def test_a_process_of_another_user_is_not_served_even_if_it_gets_in(folder: Path) -> None:
    path = folder / "1.sock"
    script = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(path)!r}); print(s.recv(99))"
    assert PYTHON is not None
    with capture_logs() as logs:
        async with open_control(path, METHODS):
            let_everybody_in(path)
            done = await trio.run_process([PYTHON, "-I", "-c", script], capture_stdout=True, user=NOBODY)
    assert done.stdout == b"b''\n"
    assert [entry["event"] for entry in logs] == ["control_peer_refused"]


def left_waiting(path: Path) -> None:
    """Somebody asks and gives up, while nothing else goes on here: as if we were stopped meanwhile."""
    script = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(path)!r}); s.sendall({PING!r})"
    subprocess.run([sys.executable, "-I", "-S", "-c", script], check=True, timeout=60)


async def test_whoever_has_given_up_before_they_were_heard_is_not_served_and_nothing_is_said_of_them(
    folder: Path,
) -> None:
    path, asked = folder / "1.sock", list[str]()

    async def ping() -> str:
        asked.append("ping")
        return "pong"

    with capture_logs() as logs:
        async with open_control(path, looking(ping=ping)):
            left_waiting(path)
            assert await pinged(path) == PONG
    assert (logs, asked) == ([], ["ping"])


async def test_two_clients_are_served_at_once(folder: Path) -> None:
    path = folder / "1.sock"
    release = trio.Event()

    async def slow() -> str:
        await release.wait()
        return "slow"

    async with open_control(path, {**METHODS, **looking(slow=slow)}), connected(path) as first:
        await first.send_all(PING.replace(b"ping", b"slow"))
        assert await pinged(path) == PONG
        release.set()
        assert (await read_line(first))["result"] == "slow"


async def test_a_client_that_vanishes_mid_request_harms_nobody(folder: Path) -> None:
    path = folder / "1.sock"
    started, release, ended = trio.Event(), trio.Event(), trio.Event()

    async def reload() -> str:
        started.set()
        await release.wait()
        ended.set()
        return "x" * 1_000_000

    with capture_logs() as logs:
        async with open_control(path, {**METHODS, **looking(reload=reload)}):
            async with connected(path) as half:
                await half.send_all(PING[:10])
            async with connected(path) as gone:
                await gone.send_all(PING.replace(b"ping", b"reload"))
                await started.wait()
            release.set()
            await ended.wait()
            assert await pinged(path) == PONG
    assert logs == []


async def test_leaving_cancels_the_calls_that_still_run(folder: Path) -> None:
    path = folder / "1.sock"
    started, ended = trio.Event(), trio.Event()

    async def forever() -> None:
        started.set()
        try:
            await trio.sleep_forever()
        finally:
            ended.set()

    async with AsyncExitStack() as clients:
        async with open_control(path, looking(forever=forever)):
            stream = await clients.enter_async_context(connected(path))
            await stream.send_all(PING.replace(b"ping", b"forever"))
            await started.wait()
        assert ended.is_set()
        assert await read_line(stream) is None


async def test_a_client_that_never_reads_blocks_nobody_and_is_soon_not_read(folder: Path) -> None:
    path = folder / "1.sock"
    calls = 0

    async def big() -> str:
        nonlocal calls
        calls += 1
        return "x" * 1_000_000

    async with open_control(path, {**METHODS, **looking(big=big)}), connected(path) as greedy:
        await greedy.send_all(PING.replace(b"ping", b"big") * 200)
        assert await pinged(path) == PONG
        assert 0 < calls <= MAX_IN_FLIGHT


async def test_clients_over_the_limit_are_told_so_and_others_go_on(folder: Path) -> None:
    path = folder / "1.sock"
    async with open_control(path, METHODS), AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(path)) for _ in range(MAX_CONNECTIONS)]
        for client in clients:
            await client.send_all(PING)
            assert await read_line(client) == PONG
        async with connected(path) as late:
            refused = await read_line(late)
            assert await read_line(late) is None
        assert refused["error"] == {"code": -32000, "message": "too many connections: at most 32"}
        await clients[0].send_all(PING)
        assert await read_line(clients[0]) == PONG
        await clients[0].send_eof()
        assert await read_line(clients[0]) is None
        assert await pinged(path) == PONG


async def test_an_overlong_line_gets_its_error_through_a_real_socket(folder: Path) -> None:
    path = folder / "1.sock"
    async with open_control(path, METHODS), connected(path) as stream:
        with pytest.raises(trio.BrokenResourceError):
            await stream.send_all(b"x" * (4 * MAX_LINE_BYTES))
        assert (await read_line(stream))["error"]["code"] == -32600
        assert await read_line(stream) is None
        assert await pinged(path) == PONG


async def test_the_text_of_an_exception_does_not_reach_the_client(folder: Path) -> None:
    path = folder / "1.sock"

    async def crash() -> None:
        raise RuntimeError("the token is sk-1234")

    with capture_logs() as logs:
        async with open_control(path, looking(crash=crash)), connected(path) as stream:
            await stream.send_all(PING.replace(b"ping", b"crash"))
            received = await stream.receive_some()
    assert b"sk-1234" not in received
    assert decode(received)["error"] == {"code": -32000, "message": "internal error"}
    assert [entry["event"] for entry in logs] == ["control_method_failed"]


STARTER = """
import structlog, sys, trio
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
from pathlib import Path
from hookgate.control.place import ControlUnavailable
from hookgate.control.serve import open_control
from hookgate.processes.guardian.prctl import keep_orphans
keep_orphans()
async def methods():
    return {}
async def main():
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        async with open_control(Path(sys.argv[1]), methods):
            print("open", flush=True)
            await trio.to_thread.run_sync(sys.stdin.readline)
    except ControlUnavailable as error:
        print(str(error).partition(": ")[2], flush=True)
trio.run(main)
"""


@asynccontextmanager
async def starter(path: Path) -> AsyncGenerator[trio.Process]:
    """Another process that is about to claim the path: it waits for a line on its stdin."""
    command = [sys.executable, "-c", STARTER, str(path)]
    process = await trio.lowlevel.open_process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert await said(process) == b"ready\n"
        yield process
    finally:
        with trio.CancelScope(shield=True):
            process.kill()
            await process.wait()


async def go(process: trio.Process) -> None:
    assert process.stdin is not None
    await process.stdin.send_all(b"go\n")


async def said(process: trio.Process) -> bytes:
    """Its next line; every line is asked for, so no two come at once."""
    assert process.stdout is not None
    return await line_of(process.stdout)


def bound(path: Path) -> socket.socket:
    """A socket file without a listener: stale, or not listening yet."""
    unheard = socket.socket(socket.AF_UNIX)
    unheard.bind(str(path))
    return unheard


async def test_of_several_that_start_at_once_over_a_stale_socket_one_gets_it(folder: Path) -> None:
    path = folder / "1.sock"
    bound(path).close()
    async with AsyncExitStack() as stack:
        processes = [await stack.enter_async_context(starter(path)) for _ in range(3)]
        for process in processes:
            await go(process)
        answers = [await said(process) for process in processes]
    assert sorted(answers) == [b"another process listens there\n"] * 2 + [b"open\n"]


async def test_a_socket_that_does_not_listen_yet_is_not_taken_for_stale(folder: Path) -> None:
    path = folder / "1.sock"
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    async with starter(path) as late:
        with bound(path) as first:
            await go(late)
            # Not waiting for something: this is the time that a claimant without patience gets to do harm.
            with trio.move_on_after(0.2):
                pytest.fail(f"it did not wait for its turn: {await said(late)!r}")
            first.listen()
            os.close(lock)
            assert await said(late) == b"another process listens there\n"


async def test_a_path_in_a_sticky_folder_is_taken(folder: Path) -> None:
    common = folder / "common"
    common.mkdir()
    common.chmod(0o1777)
    async with open_control(common / "1.sock", METHODS) as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


CLIENT = """
import socket, sys
client = socket.socket(socket.AF_UNIX); client.connect(sys.argv[1])
line = b'{"jsonrpc":"2.0","id":1,"method":"nope"}\\n'
try: client.sendall(line); print(len(client.recv(100)))
except OSError: print(0)
"""
SERVER = """
import structlog, sys, trio
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
from pathlib import Path
from hookgate.control.serve import open_control
from hookgate.processes.guardian.prctl import keep_orphans
keep_orphans()
async def methods():
    return {}
async def main():
    async with open_control(Path(sys.argv[1]), methods):
        run = [sys.executable, "-c", sys.argv[2], sys.argv[1]]
        child = await trio.run_process(run, capture_stdout=True)
        orphan = await trio.run_process(["sh", "-c", '(setsid "$@" &)', "sh", *run], capture_stdout=True)
        print(int(child.stdout), int(orphan.stdout), flush=True)
        await trio.to_thread.run_sync(sys.stdin.readline)
trio.run(main)
"""


async def test_what_the_gateway_itself_started_is_turned_away_and_others_are_not(folder: Path) -> None:
    """An orphan too: it cannot shed its descent by losing its parent."""
    path = folder / "1.sock"
    server = [sys.executable, "-c", SERVER, str(path), CLIENT]
    process = await trio.lowlevel.open_process(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    try:
        async with process.stdin, process.stdout:
            assert await said(process) == b"0 0\n"
            stranger = await trio.run_process([sys.executable, "-c", CLIENT, str(path)], capture_stdout=True)
            await process.stdin.send_all(b"\n")
            await process.wait()
    finally:
        with trio.CancelScope(shield=True):
            process.kill()
            await process.wait()
    assert int(stranger.stdout) > 0
