"""One side of a JSON-RPC conversation: which reply belongs to which call, and what is neither."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hookgate.protocol.framing import Oversize
from hookgate.protocol.hook.peer import (
    ErrorReply,
    Noise,
    Peer,
    Refused,
    Reply,
    Stray,
    notification_frame,
    request_frame,
)


def _asked(peer: Peer) -> int:
    """The id of one more call."""
    call_id, _line = peer.request("hook.before_tool", (b"{}",))
    return call_id


def _peer(calls: int = 3, cap: int = 1 << 20) -> Peer:
    peer = Peer(cap)
    assert [_asked(peer) for _ in range(calls)] == list(range(1, calls + 1))
    return peer


def _line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def test_replies_are_matched_by_id_in_any_order() -> None:
    peer = _peer()
    data = b"".join(_line({"jsonrpc": "2.0", "id": i, "result": {"n": i}}) for i in (3, 1, 2))
    assert peer.receive(data) == [Reply(3, {"n": 3}), Reply(1, {"n": 1}), Reply(2, {"n": 2})]


@pytest.mark.parametrize("call_id", [0, 4, -1, True, "1", 1.0, None, [1], {"id": 1}, 10**30])
def test_an_id_that_nobody_waits_for_is_stray_and_takes_no_call(call_id: object) -> None:
    peer = _peer()
    assert peer.receive(_line({"id": call_id, "result": {"approved": True}})) == [Stray(call_id)]
    assert peer.receive(_line({"id": 1, "result": 7})) == [Reply(1, 7)]


def test_a_reply_without_an_id_is_stray() -> None:
    assert _peer().receive(_line({"result": {}})) == [Stray(None)]


def test_the_second_reply_to_a_call_is_stray() -> None:
    peer = _peer()
    assert peer.receive(_line({"id": 2, "result": 1}) * 2) == [Reply(2, 1), Stray(2)]


def test_a_reply_after_its_call_was_forgotten_is_stray() -> None:
    peer = _peer()
    peer.forget(2)
    assert peer.receive(_line({"id": 2, "result": 1})) == [Stray(2)]
    assert _asked(peer) == 4


@pytest.mark.parametrize(
    ("members", "reply"),
    [
        ({"result": {"a": 1}}, Reply(1, {"a": 1})),
        ({"result": None}, Reply(1, None)),
        ({}, Reply(1, None)),
        ({"result": {}, "error": None}, Reply(1, {})),
        ({"error": {"code": -5, "message": "no"}}, ErrorReply(1, "error -5: no")),
        ({"error": {"code": -5, "message": "no"}, "result": {"a": 1}}, ErrorReply(1, "error -5: no")),
        ({"error": {}}, ErrorReply(1, "error ?: ")),
        ({"error": "broken"}, ErrorReply(1, "error: broken")),
        ({"error": []}, ErrorReply(1, "error: []")),
        ({"error": False}, ErrorReply(1, "error: False")),
    ],
)
@pytest.mark.parametrize("version", [{"jsonrpc": "2.0"}, {}, {"jsonrpc": "1.0"}])
def test_what_a_reply_says_does_not_depend_on_its_jsonrpc_member(
    members: dict[str, Any], reply: Reply | ErrorReply, version: dict[str, str]
) -> None:
    assert _peer().receive(_line({**version, "id": 1, **members})) == [reply]


TEXTS = ",".join('{"role":"user","content":"a: b"}' for _ in range(1000))


@pytest.mark.parametrize(
    ("result", "name"),
    [
        ('{"approved": false, "approved": true}', "approved"),
        ('{"approved": true, "reason": "' + "x" * 20_000 + '", "approved": true}', "approved"),
        ('{"action": "deny_tool", "reason": "no", "action": "continue"}', "action"),
        ('{"action": "deny_tool"}, "result": {"action": "continue"}', "result"),
        ('{"action": "modify", "call": {"tool": "ls", "tool": "bash"}}', "tool"),
        ('{"action": "abort_turn", "action": "modify", "request": {"messages": [' + TEXTS + "]}}", "action"),
    ],
)
def test_an_answer_that_says_two_things_is_a_failure(result: str, name: str) -> None:
    line = f'{{"id": 1, "result": {result}}}\n'.encode()
    assert _peer().receive(line) == [ErrorReply(1, f"its answer has the member {name!r} twice")]


def test_a_large_changed_value_may_hold_the_same_member_in_many_objects() -> None:
    line = b'{"id": 1, "result": {"action": "modify", "request": {"messages": [%b]}}}\n' % TEXTS.encode()
    (reply,) = _peer().receive(line)
    assert isinstance(reply, Reply)


@pytest.mark.parametrize("head", ['"jsonrpc":"2.0","id":%d', '"id":%d,"jsonrpc":"2.0"', '"id": %d, "jsonrpc": "2.0"'])
def test_an_answer_that_was_given_before_is_the_same_value_for_a_pending_call_alone(head: str) -> None:
    peer, line = Peer(), "{" + head + ',"result":{"action":"modify","request":{"options":{"n":[1]}}}}\n'
    first, second = _asked(peer), _asked(peer)
    (before,) = peer.receive((line % first).encode())
    (again,) = peer.receive((line % second).encode())
    assert isinstance(before, Reply)
    assert isinstance(again, Reply)
    assert again.id == second
    assert again.result is before.result
    assert peer.receive((line % second).encode()) == [Stray(second)]


def test_what_an_answer_says_of_its_id_counts_each_time() -> None:
    peer, line = Peer(), '{"jsonrpc":"2.0","id":%d,"result":{"action":"modify"},"id":1}\n'
    assert (_asked(peer), _asked(peer)) == (1, 2)
    assert peer.receive((line % 1).encode()) == [ErrorReply(1, "its answer has the member 'id' twice")]
    assert peer.receive((line % 2).encode()) == [Stray(1)]


def test_a_long_error_message_is_cut() -> None:
    (reply,) = _peer().receive(_line({"id": 1, "error": {"code": 1, "message": "x" * 10_000}}))
    assert isinstance(reply, ErrorReply)
    assert len(reply.reason) < 600


@pytest.mark.parametrize("call_id", [1, "a", 99, 1.5])
def test_a_request_is_refused_and_does_not_answer_the_call_with_its_id(call_id: object) -> None:
    peer = _peer()
    (refused,) = peer.receive(_line({"jsonrpc": "2.0", "id": call_id, "method": "log", "params": {}}))
    assert isinstance(refused, Refused)
    answer = json.loads(refused.answer)
    assert refused.answer.endswith(b"\n")
    assert (answer["jsonrpc"], answer["id"], answer["error"]["code"]) == ("2.0", call_id, -32601)
    assert peer.receive(_line({"id": 1, "result": 1})) == [Reply(1, 1)]


def test_a_notification_from_the_hook_is_noise_and_gets_no_answer() -> None:
    assert _peer().receive(_line({"jsonrpc": "2.0", "method": "log"})) == [Noise("notification log")]


@pytest.mark.parametrize(
    "line", [b"hello", b"[]", b"5", b'"x"', b"null", b"{", b"{}", b'{"jsonrpc":"2.0"}', b"[1,{}]"]
)
def test_a_line_that_is_no_message_is_noise_and_the_stream_goes_on(line: bytes) -> None:
    found = _peer().receive(line + b"\n" + _line({"id": 1, "result": 1}))
    assert found == [Noise(line.decode()), Reply(1, 1)]


def test_noise_is_cut_to_what_a_log_can_hold_and_need_not_be_utf8() -> None:
    (noise,) = _peer().receive(b"\xff" + b"y" * 5000 + b"\n")
    assert isinstance(noise, Noise)
    assert noise.line == "\ufffd" + "y" * 199


def test_blank_lines_mean_nothing() -> None:
    assert _peer().receive(b"\n  \n\r\n\t\n") == []


@pytest.mark.parametrize("start", ['{"jsonrpc":"2.0","id":2,', '{"id":2,', ' { "jsonrpc" : "2.0" , "id" : 2 , '])
def test_an_oversize_answer_fails_the_call_whose_id_it_begins_with(start: str) -> None:
    peer = _peer(cap=100)
    line = start.encode() + b'"result":"' + b"x" * 200 + b'"}\n'
    found = peer.receive(line + _line({"id": 1, "result": 1}))
    assert found == [ErrorReply(2, f"its answer of {len(line) - 1} bytes is over the limit"), Reply(1, 1)]


@pytest.mark.parametrize(
    "start",
    [
        '{"result":{"items":[{"id":2,',
        '{"jsonrpc":"2.0","result":{"call":{"id":2,',
        '{"jsonrpc":"2.0","id":2,"method":"log",',
        '{"id":2.5,',
        '{"id":99,',
        '{"id":1234567890123456789,',
    ],
)
def test_an_oversize_line_never_fails_a_call_it_does_not_answer(start: str) -> None:
    peer = _peer(cap=100)
    (lost,) = peer.receive(start.encode() + b'"x":"' + b"x" * 200 + b'"}\n')
    assert isinstance(lost, Oversize)
    assert peer.receive(_line({"id": 2, "result": 1})) == [Reply(2, 1)]


def test_frames_are_whole_lines() -> None:
    assert request_frame(7, "hook.hello", b'{"a":1}') == (
        b'{"jsonrpc":"2.0","id":7,"method":"hook.hello","params":{"a":1}}\n'
    )
    assert notification_frame("hook.cancel", b'{"id":5}') == (
        b'{"jsonrpc":"2.0","method":"hook.cancel","params":{"id":5}}\n'
    )
