"""The conversation without I/O: ids, replies in any order, what is lost and whose it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.protocol.framing import Oversize
from hookgate.protocol.zot.frames import (
    Block,
    CommandReply,
    InterceptReply,
    Notify,
    Ready,
    ToolReply,
    ToolWanted,
    Unknown,
)
from hookgate.protocol.zot.peer import BadReply, Malformed, ReplyKind, Stray, ZotPeer


def line(**members: Any) -> bytes:
    return json.dumps(members).encode() + b"\n"


def pending(*kinds: ReplyKind, limit: int = 1 << 20) -> ZotPeer:
    peer = ZotPeer(limit)
    assert [peer.next_id(kind) for kind in kinds] == [str(n + 1) for n in range(len(kinds))]
    return peer


def test_replies_come_in_any_order_and_each_once() -> None:
    peer = pending(ToolReply, InterceptReply, CommandReply)
    assert peer.receive(
        line(type="command_response", id="3", action="noop")
        + line(type="tool_result", id="1")
        + line(type="event_intercept_response", id="2")
        + line(type="tool_result", id="1")
    ) == [CommandReply("3", "noop"), ToolReply("1"), InterceptReply("2"), Stray("tool_result", "1")]


@pytest.mark.parametrize("call_id", ["2", "0", "", "01", 2, 1.0, None, True, ["1"], {"id": "1"}])
def test_a_reply_with_an_id_that_was_never_given_is_stray(call_id: Any) -> None:
    (it,) = pending(ToolReply).receive(line(type="tool_result", id=call_id, content=[]))
    assert isinstance(it, Stray)


def test_a_reply_of_another_kind_answers_nobody() -> None:
    peer = pending(InterceptReply)
    assert peer.receive(line(type="tool_result", id="1")) == [Stray("tool_result", "1")]
    assert peer.receive(line(type="event_intercept_response", id="1")) == [InterceptReply("1")]


def test_a_forgotten_call_has_no_reply() -> None:
    peer = pending(ToolReply)
    peer.forget("1")
    peer.forget("1")
    assert peer.receive(line(type="tool_result", id="1")) == [Stray("tool_result", "1")]


def test_a_reply_that_cannot_be_read_fails_its_call_now() -> None:
    peer = pending(ToolReply, InterceptReply)
    assert peer.receive(line(type="tool_result", id="1", content="text")) == [
        BadReply("1", "content must be an array, not a string")
    ]
    assert peer.receive(line(type="event_intercept_response", id="2", block=[1])) == [
        InterceptReply("2", problem="block must be true or false, not an array")
    ]
    assert peer.receive(line(type="tool_result", id="1")) == [Stray("tool_result", "1")]


@pytest.mark.parametrize("member", ["block", "modified_args", "reason"])
def test_an_interception_that_is_answered_in_two_ways_at_once_is_a_failure(member: str) -> None:
    text = b'{"type":"event_intercept_response","id":"1","%b":true,"%b":false}\n' % (2 * (member.encode(),))
    problem = f"it has the member {member!r} twice"
    wanted = BadReply("1", problem) if member == "reason" else InterceptReply("1", problem=problem)
    assert pending(InterceptReply).receive(text) == [wanted]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"Starting up...", "not an object"),
        (b"[1]", "not an object"),
        (b'{"type":', "EOF"),
        (b"{not json}", "key must be a string"),
        (b'{"type":"notify"}', "notify: message is missing"),
        (b'{"type":"register_tool","name":"w","schema":"x"}', "register_tool: schema must be an object"),
        (b'{"type":["x"]}', "type must be a string"),
        (b"\xff\xfe", "not an object"),
    ],
)
def test_a_line_that_is_no_frame_is_named_and_the_next_is_read(text: bytes, reason: str) -> None:
    bad, good = ZotPeer().receive(text + b"\r\n\n  \n" + line(type="ready"))
    assert isinstance(bad, Malformed)
    assert reason in bad.reason
    assert good == Ready()


def test_frames_arrive_whole_however_they_are_cut() -> None:
    data = line(type="notify", level="warn", message="é\u2028x") + line(type="theme", id="9")
    peer = ZotPeer()
    found = [it for n in range(len(data)) for it in peer.receive(data[n : n + 1])]
    assert found == [Notify("warn", "é\u2028x"), Unknown("theme")]


@pytest.mark.parametrize(
    "head",
    [
        '{"type":"tool_result","id":"1",',
        '{"id":"1","type":"tool_result",',
        ' { "is_error" : false , "n":-1.5,"x":null, "type":"tool_result" , "id" : "1" ,',
    ],
)
def test_an_answer_over_the_limit_fails_its_call_if_the_id_stands_in_front(head: str) -> None:
    peer = pending(ToolReply, limit=1000)
    data = (head + '"content":[{"type":"text","text":"' + "x" * 2000 + '"}]}\n').encode()
    (it,) = peer.receive(data)
    assert it == BadReply("1", f"its answer of {len(data) - 1} bytes is over the limit")
    assert peer.receive(line(type="ready")) == [Ready()]


@pytest.mark.parametrize(
    "head",
    [
        '{"type":"tool_result","id":"7",',
        '{"type":"notify","message":"\\"id\\":\\"1\\"",',
        '{"type":"panel_render","panel":{"id":"1"},',
        '"id":"1",',
    ],
)
def test_a_line_over_the_limit_without_a_pending_id_is_lost_and_reported(head: str) -> None:
    peer = pending(ToolReply, limit=1000)
    data = (head + '"x":"' + "x" * 2000 + '"}\n').encode()
    (it,) = peer.receive(data)
    assert isinstance(it, Oversize)
    assert peer.receive(line(type="tool_result", id="1")) == [ToolReply("1")]


def test_what_nests_too_deep_is_answered_or_fails_its_call_at_once() -> None:
    deep = b'{"a":' * 300 + b"{}" + b"}" * 300
    wanted = b'{"type":"call_tool","id":"k1","name":"ls","args":%b,"parent_id":"1"}\n'
    peer = pending(ToolReply)
    (it,) = peer.receive(wanted % deep)
    assert it == ToolWanted("k1", "ls", None)
    (it,) = peer.receive(b'{"type":"tool_result","id":"1","content":%b}\n' % deep)
    assert it == BadReply("1", "it nests too deep")
    (it,) = peer.receive(b'{"x":%b}\n' % deep)
    assert isinstance(it, Malformed)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b'"content":[{"type":"text","text":"caf\xc3"}]}', ToolReply("1", (Block("text", "caf\ufffd"),))),
        (b'"content":[{"type":"text","text":"cut', "it is not JSON: "),
        (b'"content":[{"type":"text","text":"a\tb"}]}', "it is not JSON: "),
        (b'"content":\xff}', "it is not JSON: "),
    ],
)
def test_an_answer_that_cannot_be_read_fails_its_call_and_bytes_that_are_no_text_are_replaced(
    said: bytes, expected: ToolReply | str
) -> None:
    (it,) = pending(ToolReply).receive(b'{"type":"tool_result","id":"1",' + said + b"\n")
    if isinstance(expected, str):
        assert isinstance(it, BadReply)
        assert it.reason.startswith(expected)
    else:
        assert it == expected


def test_an_interception_with_bytes_that_are_no_text_counts_as_it_stands() -> None:
    said = b'{"type":"event_intercept_response","id":"1","block":true,"reason":"caf\xc3"}\n'
    assert pending(InterceptReply).receive(said) == [InterceptReply("1", block=True, reason="caf\ufffd")]
    (it,) = pending(InterceptReply).receive(said.replace(b"}", b',"block":false}'))
    assert it == InterceptReply("1", problem="it has the member 'block' twice")


def test_an_answer_that_has_a_number_for_its_id_fails_the_call_that_it_means() -> None:
    (it,) = pending(ToolReply).receive(line(type="tool_result", id=1))
    assert it == BadReply("1", "id must be a string, not a number")


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (b'"block":true,"reason":"a\tb"}', "it is not JSON: "),
        (b'"modified_args":%b}' % (b'{"a":' * 300 + b"{}" + b"}" * 300), "it nests too deep"),
        (b'"modified_args":{"command":"%b"}}' % (b"x" * 5000), "its answer of "),
    ],
)
def test_an_interception_that_cannot_be_read_and_would_have_restricted_the_call_lets_nothing_pass(
    said: bytes, problem: str
) -> None:
    (it,) = pending(InterceptReply, limit=4000).receive(
        b'{"type":"event_intercept_response","id":"1",' + said + b"\n"
    )
    assert isinstance(it, InterceptReply)
    assert it.problem.startswith(problem)


def test_a_call_that_is_over_the_limit_is_answered() -> None:
    data = b'{"type":"call_tool","id":"k1","name":"write","args":{"content":"%b"}}\n' % (b"x" * 2000)
    assert pending(ToolReply, limit=1000).receive(data) == [ToolWanted("k1", "write", None)]


def test_looking_for_an_id_in_a_hostile_line_takes_no_time() -> None:
    peer = pending(ToolReply, limit=1000)
    (it,) = peer.receive(b'{"a":"' + b'","a":"' * 3000 + b"\n")
    assert isinstance(it, Oversize)


NAMES = ["id", "name", "content", "is_error", "block", "modified_args", "action", "open_panel", "schema", "message"]
TYPES = ["hello", "register_tool", "tool_result", "event_intercept_response", "command_response", "notify", "x", 7]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["1", "2", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(st.tuples(st.sampled_from(TYPES), st.dictionaries(st.sampled_from(NAMES), VALUES))), st.integers(1, 40)
)
def test_no_frame_of_any_shape_raises_and_no_call_is_answered_twice(
    frames: list[tuple[Any, dict[str, Any]]], cut: int
) -> None:
    peer = pending(ToolReply, InterceptReply, CommandReply)
    data = b"".join(line(**members, type=kind) for kind, members in frames)
    found = [it for n in range(0, len(data), cut) for it in peer.receive(data[n : n + cut])]
    assert len(found) == len(frames)
    answered = [it.id for it in found if isinstance(it, (ToolReply, InterceptReply, CommandReply, BadReply))]
    assert len(set(answered)) == len(answered)


@given(st.binary(max_size=300))
def test_no_bytes_raise(data: bytes) -> None:
    peer = ZotPeer(100)
    peer.receive(data)
    assert peer.receive(b"\n" + line(type="ready"))[-1] == Ready()
