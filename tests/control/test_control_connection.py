"""One connection without a socket: how lines are cut, and the limits that time and size set."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MemoryReceiveStream, MockClock, memory_stream_pair

from hookgate.control import connection, jsonrpc, rpc
from hookgate.control.connection import IDLE_S, MAX_IN_FLIGHT, MAX_LINE_BYTES, Connection
from hookgate.protocol.codec import decode
from tests.control.methods import looking

Stream = trio.StapledStream[Any, Any]

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
PONG = {"jsonrpc": "2.0", "result": "pong", "id": 1}
TOO_LONG = "a line has at most 1048576 bytes"


async def ping() -> str:
    return "pong"


async def read_all(stream: trio.abc.ReceiveStream) -> bytes:
    return b"".join([chunk async for chunk in stream])


async def serve(stream: Stream, methods: dict[str, Any]) -> None:
    async with stream:
        await Connection(stream, looking(**methods)).run()


async def converse(*pieces: bytes) -> list[Any]:
    """All that is answered to a client that writes the pieces, says it is done, and then reads."""
    client, server = memory_stream_pair()
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve, server, {"ping": ping})
            nursery.start_soon(write, client, pieces)
            answered = await read_all(client)
    return [decode(line) for line in answered.splitlines()]


async def write(client: Stream, pieces: tuple[bytes, ...]) -> None:
    try:
        for piece in pieces:
            await client.send_all(piece)
        await client.send_eof()
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        return


@pytest.mark.parametrize(
    ("pieces", "answers"),
    [
        ([PING + b"\n"], 1),
        ([PING], 1),
        ([PING + b"\r\n"], 1),
        ([PING[:9], PING[9:] + b"\n"], 1),
        ([bytes([byte]) for byte in PING + b"\n"], 1),
        ([PING + b"\n" + PING + b"\n"], 2),
        ([PING + b"\n\n  \n" + PING], 2),
        ([b"\n\n"], 0),
        ([], 0),
    ],
)
async def test_lines_are_answered_however_they_are_cut(pieces: list[bytes], answers: int) -> None:
    assert await converse(*pieces) == [PONG] * answers


async def test_a_request_cut_off_in_the_middle_is_a_parse_error() -> None:
    (answer,) = await converse(PING[:20])
    assert answer["error"]["code"] == -32700


def padded(size: int) -> bytes:
    return PING + b" " * (size - len(PING))


async def test_a_line_of_the_longest_length_is_served() -> None:
    assert await converse(padded(MAX_LINE_BYTES) + b"\n" + PING + b"\n") == [PONG, PONG]


@pytest.mark.parametrize(
    "pieces",
    [
        [padded(MAX_LINE_BYTES + 1) + b"\n" + PING + b"\n"],
        [padded(MAX_LINE_BYTES), b"   \n" + PING + b"\n"],
        [b"x" * (MAX_LINE_BYTES + 1)],
        [b"x" * 65536] * 17,
    ],
    ids=["one chunk", "the newline just too late", "no newline", "no newline in many chunks"],
)
async def test_a_line_over_the_limit_is_refused_and_ends_the_connection(pieces: list[bytes]) -> None:
    (answer,) = await converse(*pieces)
    assert answer == {"jsonrpc": "2.0", "error": {"code": -32600, "message": TOO_LONG}, "id": None}


async def test_what_was_asked_before_an_overlong_line_is_answered() -> None:
    answers = await converse(PING + b"\n" + b"x" * (MAX_LINE_BYTES + 1))
    assert PONG in answers
    assert len(answers) == 2


@pytest.mark.parametrize("as_batch", [False, True])
async def test_no_more_calls_run_at_once_than_the_limit(as_batch: bool) -> None:
    running = most = 0
    full, release = trio.Event(), trio.Event()

    async def wait() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == MAX_IN_FLIGHT:
            full.set()
        await release.wait()
        running -= 1

    calls = [b'{"jsonrpc":"2.0","id":%d,"method":"wait"}' % n for n in range(40)]
    frame = b"[" + b",".join(calls) + b"]" if as_batch else b"\n".join(calls)
    client, server = memory_stream_pair()
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve, server, {"wait": wait})
            nursery.start_soon(write, client, (frame,))
            await full.wait()
            await trio.testing.wait_all_tasks_blocked()
            assert running == most == MAX_IN_FLIGHT
            release.set()
            answered = [decode(line) for line in (await read_all(client)).splitlines()]
    ids = [answer["id"] for answer in (answered[0] if as_batch else answered)]
    assert sorted(ids) == list(range(40))
    assert most == MAX_IN_FLIGHT


async def test_answers_come_when_they_are_ready() -> None:
    release = trio.Event()

    async def slow() -> str:
        await release.wait()
        return "slow"

    async def quick() -> str:
        release.set()
        return "quick"

    client, server = memory_stream_pair()
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve, server, {"slow": slow, "quick": quick})
            frames = PING.replace(b"ping", b"slow") + b"\n" + PING.replace(b"ping", b"quick")
            nursery.start_soon(write, client, (frames,))
            answered = await read_all(client)
    # Whichever is written first: the quick one ran although the slow one had not ended.
    assert {decode(line)["result"] for line in answered.splitlines()} == {"slow", "quick"}


async def test_an_idle_client_is_let_go_after_a_minute(autojump_clock: MockClock) -> None:
    client, server = memory_stream_pair()
    begun = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve, server, {"ping": ping})
        assert await read_all(client) == b""
    assert trio.current_time() - begun == pytest.approx(IDLE_S)


async def test_a_client_that_waits_for_an_answer_is_not_idle(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slow() -> str:
        await trio.sleep(30)
        return "done"

    monkeypatch.setattr(connection, "IDLE_S", 1.0)
    # Imported here: in a thread it would be imported while the mock clock leaps ahead.
    monkeypatch.setattr(rpc, "_loaded", jsonrpc)
    client, server = memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve, server, {"slow": slow, "ping": ping})
        await client.send_all(PING.replace(b"ping", b"slow") + b"\n")
        await trio.sleep(20)
        await client.send_all(PING + b"\n")
        answered = await read_all(client)
    assert [decode(line)["result"] for line in answered.splitlines()] == ["pong", "done"]
    assert 30 <= trio.current_time() <= 32, "and once it has its answer, it is idle again"


class NeverRead(trio.abc.SendStream):
    """A stream whose other end takes nothing."""

    def __init__(self) -> None:
        self.closed = trio.Event()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await trio.sleep_forever()

    async def wait_send_all_might_not_block(self) -> None:
        await trio.sleep_forever()

    async def aclose(self) -> None:
        self.closed.set()
        await trio.lowlevel.checkpoint()


async def test_a_client_that_never_reads_is_cut_off(mock_clock: trio.testing.MockClock) -> None:
    calls = 0

    async def count() -> None:
        nonlocal calls
        calls += 1

    incoming, out = MemoryReceiveStream(), NeverRead()
    incoming.put_data(b"\n".join([PING.replace(b"ping", b"count")] * 30) + b"\n")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve, trio.StapledStream(out, incoming), {"count": count})
        await trio.testing.wait_all_tasks_blocked()
        # Its lines are no longer taken: what it leaves unread stays bounded.
        assert calls <= MAX_IN_FLIGHT
        assert not out.closed.is_set()
        mock_clock.jump(connection.SEND_TIMEOUT_S + 1)
        await trio.testing.wait_all_tasks_blocked()
        assert out.closed.is_set()
        nursery.cancel_scope.cancel()
