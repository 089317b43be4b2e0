"""Lines of a stdio server into messages, and what becomes of those that are none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.protocol.framing import MAX_MESSAGE_BYTES
from hookgate.tools.mcp.transport.ending import Ending
from hookgate.tools.mcp.transport.lines import Lines
from hookgate.tools.mcp.transport.tap import Tap


def read(*chunks: bytes) -> tuple[list[dict[str, Any]], str]:
    """The messages, as JSON, and why the connection ended."""
    ending = Ending(lambda: None)
    lines = Lines(Tap("srv", ending, lambda _method, _params: None))
    messages = [message for chunk in chunks for message in lines.feed(chunk)]
    return [message.model_dump(by_alias=True, exclude_unset=True) for message in messages], ending.reason


ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
READ = {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("cut", [0, 1, 20, len(ANSWER) - 1, len(ANSWER)])
def test_a_message_may_come_in_pieces(cut: int) -> None:
    assert read(ANSWER[:cut], ANSWER[cut:]) == ([READ], "")


@pytest.mark.parametrize(
    "junk", [b"\n", b"  \r\n", b"Welcome\n", b"[1]\n", b"7\n", b"\xff\n", b"{}\n", b'{"id":1.5}\n']
)
def test_junk_is_left_out(junk: bytes) -> None:
    assert read(junk + ANSWER) == ([READ], "")


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":3,"result":"text"}\n',
        b'{"jsonrpc":"2.0","id":3}\n',
        b'{"id":3,"result":{}}\n',
        b'{"jsonrpc": "2.0", "id": 3, "result": {"a": \n',
    ],
)
def test_an_answer_that_cannot_be_read_is_an_error_answer(line: bytes) -> None:
    messages, reason = read(line)
    assert [message["id"] for message in messages] == [3]
    assert "its answer cannot be read" in messages[0]["error"]["message"]
    assert reason == ""


BIG = b'"' + b"x" * MAX_MESSAGE_BYTES + b'"'


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"jsonrpc":"2.0","id":3,"result":{"a":' + BIG + b"}}\n", 3),
        (b'{"id":3,"jsonrpc":"2.0","result":{"a":' + BIG + b"}}\n", 3),
        (b'{"result":{"a":' + BIG + b'},"jsonrpc":"2.0","id":3}\n', 3),
        (b'{"result":{"a":' + BIG + b'},"id":3,"jsonrpc":"2.0"}\n', 3),
        (b'{"jsonrpc":"2.0","method":"x","params":{"a":' + BIG + b"}}\n", None),
        (BIG + b"\n", None),
    ],
    ids=["first", "before the version", "last", "before the version at the end", "a notification", "a string"],
)
def test_a_line_that_is_too_long_is_an_error_answer_where_it_can_be_one(line: bytes, found: int | None) -> None:
    pieces = [line[start : start + 65536] for start in range(0, len(line), 65536)]
    messages, reason = read(*pieces, ANSWER)
    if found is None:
        assert (messages, "bytes, more than" in reason) == ([READ], True)
    else:
        assert [message["id"] for message in messages] == [3, 1]
        assert (messages[0]["error"]["code"], reason) == (-32700, "")


@given(st.lists(st.binary(max_size=60), max_size=20))
def test_no_bytes_raise(chunks: list[bytes]) -> None:
    read(*chunks)
