"""The client: which socket it finds, what it makes of answers, and of a server that does not answer."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.control import client
from hookgate.control.client import NO_ANSWER, ControlFailed, NothingRunning, find_socket, socket_path
from hookgate.operations.refused import OperationRefused
from tests.control.methods import looking, open_control

pytestmark = pytest.mark.usefixtures("deadline")

Listen = Callable[[str], Path]


@pytest.fixture
def listen(folder: Path) -> Generator[Listen]:
    """Sockets that listen, each newer than the one before."""
    open_sockets: list[socket.socket] = []

    def make(name: str) -> Path:
        listener = socket.socket(socket.AF_UNIX)
        open_sockets.append(listener)
        listener.bind(str(folder / name))
        listener.listen()
        age_s = 1000 - len(open_sockets)
        os.utime(folder / name, (10**9 - age_s, 10**9 - age_s))
        return folder / name

    yield make
    for listener in open_sockets:
        listener.close()


def stale(folder: Path, name: str) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / name))


async def call(path: Path, method: str, params: Any = None) -> Any:
    return await trio.to_thread.run_sync(client.call, path, method, params)


async def echo(*, value: Any = "nothing") -> Any:
    return value


async def fetch(session: str) -> None:
    raise OperationRefused(f"there is no session {session}")


METHODS = looking(echo=echo, fetch=fetch)


async def test_a_running_hookgate_is_found_and_answers(folder: Path) -> None:
    async with open_control(socket_path(folder / "hookgate"), METHODS):
        path = find_socket(folder / "hookgate")
        assert path.name == f"{os.getpid()}.sock"
        assert await call(path, "echo") == "nothing"
        assert await call(path, "echo", {"value": {"a": [1, None, "é"]}}) == {"a": [1, None, "é"]}
        assert await call(path, "echo", {"value": None}) is None
        big = "x" * 900_000
        assert await call(path, "echo", {"value": big}) == big


async def test_the_newest_live_socket_is_found(folder: Path, listen: Listen) -> None:
    listen("300.sock")
    newest = listen("20.sock")
    stale(folder, "9.sock")
    listen("notes.sock")
    (folder / "7.sock").write_text("a file")
    assert find_socket(folder) == newest


@pytest.mark.parametrize("kind", ["missing", "empty", "stale"])
async def test_nothing_running_is_one_line(folder: Path, kind: str) -> None:
    directory = folder / "none" if kind == "missing" else folder
    if kind == "stale":
        stale(folder, "9.sock")
    with pytest.raises(NothingRunning) as failed:
        find_socket(directory)
    assert str(failed.value).startswith("no hookgate is running (")
    assert str(directory) in str(failed.value)
    assert "\n" not in str(failed.value)


def let_everybody_write(folder: Path) -> None:
    folder.chmod(0o777)


async def test_a_folder_that_others_may_write_to_is_not_trusted(folder: Path, listen: Listen) -> None:
    path = listen("1.sock")
    let_everybody_write(folder)
    with pytest.raises(NothingRunning, match="other users may write to it"):
        find_socket(folder)
    assert find_socket(folder, path) == path, "a path that was given is the caller's own choice"


async def test_an_explicit_socket_beats_a_newer_one(folder: Path, listen: Listen) -> None:
    wanted = listen("mine")
    listen("2.sock")
    assert find_socket(folder, wanted) == wanted


async def test_an_explicit_socket_that_is_dead_is_not_replaced_by_another(folder: Path, listen: Listen) -> None:
    listen("2.sock")
    stale(folder, "mine")
    with pytest.raises(NothingRunning, match=r"no hookgate is running at .*mine"):
        find_socket(folder, folder / "mine")


async def test_calling_where_nobody_listens_is_nothing_running(folder: Path) -> None:
    stale(folder, "1.sock")
    for name in ("1.sock", "2.sock", "x" * 200):
        with pytest.raises(NothingRunning, match="no hookgate is running at"):
            client.call(folder / name, "echo")


@pytest.mark.parametrize(
    ("method", "params", "code", "words"),
    [
        ("nothing", None, -32601, "Method not found: nothing"),
        ("fetch", None, -32602, "Invalid params: missing a required argument: 'session'"),
        ("fetch", {"session": "web:1"}, -32000, "there is no session web:1"),
        ("fetch", ["web:1"], -32000, "there is no session web:1"),
        ("echo", {"value": "x" * (1 << 20)}, -32600, "a line has at most 1048576 bytes"),
        ("echo", {"value": "x" * (1 << 22)}, -32600, "a line has at most 1048576 bytes"),
    ],
    ids=["unknown", "params", "refused", "positional", "too long", "much too long"],
)
async def test_errors_carry_code_and_words(folder: Path, method: str, params: Any, code: int, words: str) -> None:
    path = folder / "1.sock"
    async with open_control(path, METHODS):
        with pytest.raises(ControlFailed) as failed:
            await call(path, method, params)
    assert (failed.value.code, failed.value.message) == (code, words)


def answering(listener: socket.socket, answer: bytes) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(answer)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "closed before an answer came"),
        (b'{"jsonrpc":"2.0"', "closed before an answer came"),
        (b"hello\n", "not JSON"),
        (b"[]\n", "no JSON-RPC response"),
        (b'{"jsonrpc":"2.0","id":1}\n', "no JSON-RPC response"),
        (b'{"jsonrpc":"2.0","id":1,"error":"no"}\n', "no JSON-RPC response"),
    ],
)
async def test_an_answer_that_is_none_is_a_failure(folder: Path, answer: bytes, words: str) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "1.sock"))
        listener.listen()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.to_thread.run_sync, partial(answering, listener, answer))
            with pytest.raises(ControlFailed, match=words) as failed:
                await call(folder / "1.sock", "echo")
    assert failed.value.code == NO_ANSWER


async def test_a_server_that_does_not_answer_is_given_up_after_the_deadline(
    folder: Path, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "DEADLINE_S", 0.1)
    with pytest.raises(ControlFailed, match=r"no answer within 0\.1 s"):
        client.call(listen("1.sock"), "echo")
