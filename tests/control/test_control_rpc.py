"""JSON-RPC lines in, answers out, through the real jsonrpcserver: malformed requests, batches, failing methods."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from math import nan
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs

from hookgate.control import methods as methods_module
from hookgate.control.rpc import MAX_BATCH, dispatch
from hookgate.operations.refused import OperationRefused
from hookgate.protocol.codec import decode
from tests.control.methods import looking

PARSE, INVALID, UNKNOWN, PARAMS, FAILED = -32700, -32600, -32601, -32602, -32000
SECRET = "/home/me/.token sk-1234"


async def add(left: int, right: int = 0) -> int:
    return left + right


async def named(*, session: str) -> str:
    return f"stopped {session}"


async def refuse() -> None:
    raise OperationRefused("no session by that name")


async def crash() -> None:
    raise OSError(2, "No such file", SECRET)


async def crash_in_a_group() -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(crash)


async def taken(name: str, tools: dict[str, str], *, deep: bool = False) -> str:
    return f"{name} {len(tools)} {deep}"


def returns(value: object) -> Callable[[], Awaitable[Any]]:
    async def method() -> object:
        return value

    return method


def loop() -> list[object]:
    ring: list[object] = []
    ring.append(ring)
    return ring


FUNCTIONS = {
    "add": add,
    "turn.stop": named,
    "refuse": refuse,
    "crash": crash,
    "crash.group": crash_in_a_group,
    "crash.raw": returns(object()),
    "crash.ring": returns(loop()),
    "crash.set": returns({1, 2}),
    "crash.bytes": returns(b"x"),
    "nan": returns([nan]),
    "huge": returns(10**30),
    "none": returns(None),
    "taken": taken,
}
METHODS = looking(**FUNCTIONS)


async def ask(line: str | bytes) -> Any:
    """The decoded answer, strictly parsed; None for no answer."""
    with trio.fail_after(10):
        answer = await dispatch(line.encode() if isinstance(line, str) else line, METHODS)
    if answer is None:
        return None
    assert b"\n" not in answer
    return decode(answer)


def request(method: str, params: str = "[]", call_id: str = "1") -> str:
    return f'{{"jsonrpc":"2.0","id":{call_id},"method":"{method}","params":{params}}}'


@pytest.mark.parametrize(
    ("line", "code", "call_id"),
    [
        ("", PARSE, None),
        ("{", PARSE, None),
        (b"\xff\xfe\x00", PARSE, None),
        (b'{"\\u12', PARSE, None),
        ("\ufeff{}", PARSE, None),
        ("[" * 5000, PARSE, None),
        ('{"jsonrpc":"2.0","id":NaN,"method":"add"}', PARSE, None),
        ('{"jsonrpc":"2.0","id":Infinity,"method":"add"}', PARSE, None),
        ('{"jsonrpc":"2.0","id":1,"method":"add"} trailing', PARSE, None),
        ("[1, 2", PARSE, None),
        ("1", INVALID, None),
        ("null", INVALID, None),
        ('"add"', INVALID, None),
        ("{}", INVALID, None),
        ("[]", INVALID, None),
        ('{"id":7}', INVALID, 7),
        ('{"id":7,"method":"add"}', INVALID, 7),
        ('{"jsonrpc":2.0,"id":7,"method":"add"}', INVALID, 7),
        ('{"jsonrpc":"1.0","id":"x","method":"add"}', INVALID, "x"),
        ('{"jsonrpc":"2.0","id":7,"method":1}', INVALID, 7),
        ('{"jsonrpc":"2.0","id":7,"method":null}', INVALID, 7),
        ('{"jsonrpc":"2.0","method":1,"params":"bar"}', INVALID, None),
        ('{"jsonrpc":"2.0","id":7,"method":"add","params":"bar"}', INVALID, 7),
        ('{"jsonrpc":"2.0","id":7,"method":"add","params":null}', INVALID, 7),
        ('{"jsonrpc":"2.0","id":true,"method":"add"}', INVALID, None),
        ('{"jsonrpc":"2.0","id":[1],"method":"add"}', INVALID, None),
        ('{"jsonrpc":"2.0","id":{"a":1},"method":"add"}', INVALID, None),
        ('{"jsonrpc":"2.0","id":1e999,"method":"add"}', PARSE, None),
        ('{"jsonrpc":"2.0","id":7,"method":"add","parms":[1]}', INVALID, 7),
        ('{"jsonrpc":"2.0","id":7,"method":"add","result":1}', INVALID, 7),
        (request("nothing"), UNKNOWN, 1),
        (request("__class__"), UNKNOWN, 1),
        (request(""), UNKNOWN, 1),
        (request("add"), PARAMS, 1),
        (request("add", "[1,2,3]"), PARAMS, 1),
        (request("add", '{"left":1,"wrong":2}'), PARAMS, 1),
        (request("add", '{"self":1}'), PARAMS, 1),
        (request("turn.stop", '["telegram:1"]'), PARAMS, 1),
        (request("none", '{"x":1}'), PARAMS, 1),
        (request("refuse"), FAILED, 1),
        (request("crash", call_id='"a"'), FAILED, "a"),
    ],
)
async def test_what_cannot_be_served_is_an_error_with_the_id_where_it_was_readable(
    line: str | bytes, code: int, call_id: object
) -> None:
    with capture_logs():
        answer = await ask(line)
    assert answer["jsonrpc"] == "2.0"
    assert answer["error"]["code"] == code
    assert answer["id"] == call_id
    assert answer.keys() == {"jsonrpc", "error", "id"}


@pytest.mark.parametrize(
    ("line", "result", "call_id"),
    [
        (request("add", "[1,2]"), 3, 1),
        (request("add", '{"left":5}'), 5, 1),
        (request("turn.stop", '{"session":"web:1"}', '"s"'), "stopped web:1", "s"),
        ('{"jsonrpc":"2.0","id":1,"method":"none"}', None, 1),
        (request("add", "[1]", "null"), 1, None),
        (request("add", "[1]", "0"), 1, 0),
        (request("add", "[1]", "1.5"), 1, 1.5),
        (request("add", "[1]", str(10**30)), 1, 10**30),
        (request("huge"), 10**30, 1),
        (request("nan"), [None], 1),
        (request("add", "[1]", '"\\ud800"'), 1, "\ufffd"),
    ],
)
async def test_a_sound_request_gets_its_result_and_its_own_id(line: str, result: object, call_id: object) -> None:
    assert await ask(line) == {"jsonrpc": "2.0", "result": result, "id": call_id}


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"2.0","id":1,"result":3}',
        '{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid request"}}',
        '{"id":null,"error":null}',
        '{"result":null}',
        '[{"jsonrpc":"2.0","id":1,"result":3},{"jsonrpc":"2.0","id":2,"error":{}}]',
        '{"jsonrpc":"2.0","method":"add","params":[1]}',
        '{"jsonrpc":"2.0","method":"nothing"}',
        '{"jsonrpc":"2.0","method":"add","params":[]}',
        '{"jsonrpc":"2.0","method":"crash"}',
        '[{"jsonrpc":"2.0","method":"add","params":[1]},{"jsonrpc":"2.0","method":"refuse"}]',
    ],
)
async def test_responses_and_notifications_get_no_answer(line: str) -> None:
    with capture_logs():
        assert await ask(line) is None


async def test_two_servers_handed_each_others_answers_fall_silent() -> None:
    first = await dispatch(b'{"id":1}', METHODS)
    assert first is not None
    assert await dispatch(first, METHODS) is None


async def test_one_bad_entry_does_not_fail_the_batch() -> None:
    entries = [
        request("add", "[1,2]"),
        "1",
        '{"id":9}',
        request("nothing", call_id="2"),
        request("none", call_id="3"),
    ]
    answers = await ask(f'[{",".join(entries)},{{"jsonrpc":"2.0","method":"add","params":[1]}}]')
    outcomes = [(a["id"], a.get("error", {}).get("code", "ok")) for a in answers]
    assert outcomes == [(1, "ok"), (None, INVALID), (9, INVALID), (2, UNKNOWN), (3, "ok")]


async def test_a_result_that_is_no_json_spoils_only_its_own_entry() -> None:
    with capture_logs() as logs:
        answers = await ask(f"[{request('crash.raw')},{request('add', '[1]', '2')}]")
    assert answers[0] == {"jsonrpc": "2.0", "error": {"code": FAILED, "message": "internal error"}, "id": 1}
    assert answers[1]["result"] == 1
    assert [entry["event"] for entry in logs] == ["control_result_not_json"]


@pytest.mark.parametrize("method", ["crash.ring", "crash.set", "crash.bytes"])
async def test_whatever_a_method_returns_the_answer_is_json(method: str) -> None:
    with capture_logs():
        answer = await ask(request(method))
    assert answer["error"] == {"code": FAILED, "message": "internal error"}


async def test_the_entries_of_a_batch_run_at_the_same_time() -> None:
    arrived = 0
    both = trio.Event()

    async def meet() -> int:
        nonlocal arrived
        arrived += 1
        if arrived == 2:
            both.set()
        await both.wait()
        return arrived

    with trio.fail_after(10):
        answer = await dispatch(f"[{request('meet')},{request('meet', call_id='2')}]".encode(), looking(meet=meet))
    assert [entry["result"] for entry in decode(answer or b"")] == [2, 2]


@pytest.mark.parametrize(("size", "served"), [(MAX_BATCH, True), (MAX_BATCH + 1, False)])
async def test_a_batch_over_the_limit_runs_nothing(size: int, served: bool) -> None:
    ran: list[int] = []

    async def note(number: int) -> None:
        ran.append(number)

    batch = json.dumps([{"jsonrpc": "2.0", "id": n, "method": "note", "params": [n]} for n in range(size)])
    answer = decode(await dispatch(batch.encode(), looking(note=note)) or b"")
    assert len(ran) == (size if served else 0)
    assert isinstance(answer, list) == served
    if not served:
        assert (answer["error"]["code"], answer["id"]) == (INVALID, None)
        assert "50" in answer["error"]["data"]


@pytest.mark.parametrize("method", ["crash", "crash.group"])
async def test_the_text_of_an_exception_goes_to_the_log_and_not_to_the_caller(method: str) -> None:
    with capture_logs() as logs:
        answer = await dispatch(request(method).encode(), METHODS)
    assert answer == b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"internal error"},"id":1}'
    assert [(entry["event"], entry["method"], entry["exc_info"]) for entry in logs] == [
        ("control_method_failed", method, True)
    ]


async def test_a_refusal_says_why() -> None:
    answer = await ask(request("refuse"))
    assert answer["error"] == {"code": FAILED, "message": "no session by that name"}


async def test_wrong_params_say_which_and_do_not_call_the_method() -> None:
    answer = await ask(request("turn.stop", '{"sesion":"web:1"}'))
    assert "session" in answer["error"]["data"]


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("turn.stop", '{"session": {}}', "session: must be a valid string"),
        ("turn.stop", '{"session": null}', "session: must be a valid string"),
        ("turn.stop", '{"session": 7}', "session: must be a valid string"),
        ("add", '["1"]', "left: must be a valid integer"),
        ("add", '{"left": true}', "left: must be a valid integer"),
        ("taken", '{"name": "n", "tools": []}', "tools: must be a valid object"),
        ("taken", '{"name": "n", "tools": {"a": 1}}', "tools.a: must be a valid string"),
        (
            "taken",
            '{"name": [], "tools": {}, "deep": 0}',
            "name: must be a valid string; deep: must be a valid boolean",
        ),
    ],
)
async def test_params_of_another_type_say_which_and_do_not_call_the_method(
    method: str, params: str, said: str
) -> None:
    with capture_logs() as logs:
        answer = await ask(request(method, params))
    assert answer["error"] == {"code": PARAMS, "message": "Invalid params", "data": said}
    assert logs == []


async def test_params_of_the_right_types_are_taken() -> None:
    assert (await ask(request("taken", '{"name": "n", "tools": {"a": "b"}, "deep": true}')))["result"] == "n 1 True"


async def test_a_type_error_inside_a_method_is_not_taken_for_wrong_params() -> None:
    async def broken(**_: object) -> object:
        return len(3)  # type: ignore[arg-type]

    with capture_logs():
        answer = await dispatch(request("broken", "{}").encode(), looking(broken=broken))
    assert decode(answer or b"")["error"] == {"code": FAILED, "message": "internal error"}


async def test_a_call_that_takes_too_long_is_cancelled_and_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods_module, "CALL_TIMEOUT_S", 0.05)
    cancelled = trio.Event()

    async def stuck() -> None:
        try:
            await trio.sleep_forever()
        finally:
            cancelled.set()

    with trio.fail_after(10):
        answer = await dispatch(request("stuck").encode(), looking(stuck=stuck))
    assert cancelled.is_set()
    assert decode(answer or b"")["error"]["message"] == "stuck took longer than 0.05 s"


async def test_cancelling_a_dispatch_cancels_every_call_of_its_batch() -> None:
    started, ended = 0, 0
    running = trio.Event()

    async def wait() -> None:
        nonlocal started, ended
        started += 1
        if started == 2:
            running.set()
        try:
            await trio.sleep_forever()
        finally:
            ended += 1

    batch = f"[{request('wait')},{request('wait', call_id='2')}]".encode()
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(dispatch, batch, looking(wait=wait))
            await running.wait()
            nursery.cancel_scope.cancel()
    assert (started, ended) == (2, 2)


async def test_two_first_requests_at_once_are_both_answered() -> None:
    """In a fresh process, where both wait for the import of the library."""
    script = """
import sys, trio
import hookgate.control.serve
from hookgate.control.methods import Method
from hookgate.control.rpc import dispatch
assert not {"jsonrpcserver", "oslash", "jsonschema"} & set(sys.modules), "imported too early"
async def ping(): return "pong"
async def main():
    async def one(n):
        request = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % n
        print((await dispatch(request, {"ping": Method(ping, changes=False)})).decode())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one, 1)
        nursery.start_soon(one, 2)
    assert "jsonrpcserver" in sys.modules
trio.run(main)
"""
    with trio.fail_after(60):
        done = await trio.run_process([sys.executable, "-c", script], capture_stdout=True, stderr=subprocess.STDOUT)
    answers = [decode(line) for line in done.stdout.splitlines()]
    assert sorted(answer["id"] for answer in answers) == [1, 2]
    assert {answer["result"] for answer in answers} == {"pong"}
