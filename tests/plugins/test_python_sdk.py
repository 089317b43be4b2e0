"""The Python SDK over its wire: each test starts a real hook process and reads what it writes, line by line."""

from __future__ import annotations

import ast
import json
import signal
import sys
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import trio

from hookgate.protocol.hook.hello import parse_hello
from hookgate.protocol.hook.stages import Stage
from tests.wire import Child, ErrorReply, open_child

SDK = Path(__file__).parents[2] / "plugins" / "python" / "hookgate_plugin.py"
ALL_STAGES = ["before_llm", "after_llm", "before_tool", "approve_tool", "after_tool"]
HELLO = {"name": "py", "version": 1, "stages": ALL_STAGES, "modes": ["observe", "llm", "tool", "approve"]}

META = (
    '"meta":{"AgentID":"main","TurnID":"main-turn-3","ParentTurnID":"","SessionKey":"telegram:-42:7",'
    '"Iteration":0,"TracePath":"runTurn","Source":"turn.tool.before"}'
)
WHERE = (
    '"channel":"telegram","chat_id":"-42","tool_call_id":"call_1","context":{"inbound":{"channel":"telegram",'
    '"chat_id":"-42","chat_type":"group","topic_id":"7","sender_id":"501","message_id":"88"}},"deadline_ms":5000'
)

OpenHook = Callable[[str], AbstractAsyncContextManager[Child]]


@pytest.fixture
def open_hook(tmp_path: Path) -> OpenHook:
    """A hook process whose plugin has the handlers given as source text."""

    def opened(handlers: str) -> AbstractAsyncContextManager[Child]:
        source = f"from hookgate_plugin import *\nplugin = Plugin('t')\n{dedent(handlers)}\nplugin.run()\n"
        path = tmp_path / "hook.py"
        path.write_text(source)
        return open_child([sys.executable, path], env={"PYTHONPATH": str(SDK.parent), "PYTHONUNBUFFERED": ""})

    return opened


def bash(command: str, **members: object) -> dict[str, Any]:
    return {"tool": "bash", "arguments": {"command": command}, **members}


# --- hello ----------------------------------------------------------------------------------------------------


async def test_hello_declares_exactly_what_has_handlers(open_hook: OpenHook) -> None:
    handlers = """
        @plugin.before_tool(tools=["bash"])
        def a(call): ...
        @plugin.event(["tool_*", "turn_end"])
        def b(event): ...
        @plugin.tool("Adds.", name="add")
        def add(a: int, b: float = 0.5): return str(a + b)
        """
    async with open_hook(handlers) as child:
        hello = await child.call("hook.hello", HELLO)
    properties = {"a": {"type": "integer"}, "b": {"type": "number"}}
    schema = {"type": "object", "properties": properties, "required": ["a"], "additionalProperties": False}
    assert hello == {
        "ok": True,
        "name": "t",
        "stages": ["before_tool"],
        "events": ["tool_*", "turn_end"],
        "tools": [{"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": schema}}],
        "cancel": True,
        "max_in_flight": 64,
    }
    assert parse_hello(hello, frozenset(Stage)).tools[0].name == "add"


async def test_a_stage_that_is_not_offered_is_not_declared_but_mentioned(open_hook: OpenHook) -> None:
    async with open_hook("plugin.before_tool(print); plugin.after_tool(print)") as child:
        hello = await child.call("hook.hello", {**HELLO, "stages": ["after_tool"]})
        await child.wait_stderr("does not ask this hook at before_tool")
    assert hello["stages"] == ["after_tool"]


async def test_a_host_that_names_no_stages_is_told_all_that_have_handlers(open_hook: OpenHook) -> None:
    async with open_hook("plugin.before_llm(print); plugin.approve_tool(print)") as child:
        hello = await child.call("hook.hello", {"name": "py", "version": 1, "modes": ["tool"]})
    assert hello["stages"] == ["before_llm", "approve_tool"]


# --- answers --------------------------------------------------------------------------------------------------

ANSWERS = [
    ("before_tool", "None", {"action": "continue"}),
    ("before_tool", "{}", {"action": "continue"}),
    ("before_tool", "deny('no')", {"action": "deny_tool", "reason": "no"}),
    ("before_tool", "modify(arguments={'a': 1})", {"action": "modify", "call": {"arguments": {"a": 1}}}),
    ("before_tool", "respond('x')", {"action": "respond", "result": {"for_llm": "x", "for_user": ""}}),
    ("before_tool", "abort('stop')", {"action": "abort_turn", "reason": "stop"}),
    ("after_tool", "hard_abort('stop')", {"action": "hard_abort", "reason": "stop"}),
    ("after_tool", "modify(for_llm='x')", {"action": "modify", "result": {"for_llm": "x"}}),
    ("before_llm", "modify(model='m')", {"action": "modify", "request": {"model": "m"}}),
    ("after_llm", "plugin.modify(content='c')", {"action": "modify", "response": {"content": "c"}}),
    ("after_llm", "{'decision': 'modify'}", {"decision": "modify"}),
    ("on_message", "reply('x')", {"action": "respond", "reply": {"text": "x", "media": []}}),
    ("on_message", "modify(text='x')", {"action": "modify", "message": {"text": "x"}}),
    ("on_message", "drop('spam', tell='')", {"action": "drop", "reason": "spam", "tell": ""}),
    ("before_send", "drop('a name')", {"action": "drop", "reason": "a name"}),
    ("approve_tool", "approve()", {"approved": True}),
    ("approve_tool", "refuse('no')", {"approved": False, "reason": "no"}),
    ("approve_tool", "None", {"approved": False, "reason": "t gave no answer"}),
    (
        "approve_tool",
        "ask('T', 'x', approvers=['ann'], ttl_s=60)",
        {"ask": {"title": "T", "text": "x", "approvers": ["ann"], "ttl_s": 60}},
    ),
]


@pytest.mark.parametrize(("stage", "answer", "result"), ANSWERS)
async def test_an_answer_goes_over_the_wire_as_the_page_writes_it(
    open_hook: OpenHook, stage: str, answer: str, result: dict[str, Any]
) -> None:
    async with open_hook(f"plugin.{stage}(lambda subject: {answer})") as child:
        assert await child.call(f"hook.{stage}", bash("ls")) == result


async def test_the_golden_line_is_answered_byte_for_byte(open_hook: OpenHook) -> None:
    line = (
        f'{{"jsonrpc":"2.0","id":4,"method":"hook.before_tool","params":{{{META},"tool":"bash",'
        f'"arguments":{{"command":"df -h /"}},{WHERE}}}}}\n'
    )
    handler = """
        @plugin.before_tool
        def show(call):
            members = [call.tool, call.arguments["command"], call.meta["TurnID"], call.channel, call.chat_id,
                       call.tool_call_id, call.context["inbound"]["sender_id"], str(call.deadline_ms)]
            return deny(" ".join(members))
        """
    async with open_hook(handler) as child:
        await child.send_raw(line.encode())
        answer = await child.read_line()
    reason = "bash df -h / main-turn-3 telegram -42 call_1 501 5000"
    assert answer.decode() == (f'{{"jsonrpc":"2.0","id":4,"result":{{"action":"deny_tool","reason":"{reason}"}}}}')


async def test_handlers_of_one_stage_see_what_the_ones_before_changed(open_hook: OpenHook) -> None:
    handlers = """
        @plugin.after_tool(tools=["bash"])
        def first(done): return modify(for_llm=done.result["for_llm"] + " one")
        @plugin.after_tool(tools=["other"])
        def never(done): return modify(for_llm="wrong")
        @plugin.after_tool
        def second(done):
            return {"action": "modify", "result": {"result": {"for_llm": done.result["for_llm"] + " two"}}}
        """
    async with open_hook(handlers) as child:
        answer = await child.call("hook.after_tool", bash("ls", result={"for_llm": "zero", "is_error": False}))
    assert answer == {"action": "modify", "result": {"for_llm": "zero one two"}}


async def test_the_first_answer_that_ends_the_chain_is_the_answer(open_hook: OpenHook) -> None:
    handlers = """
        plugin.before_tool(lambda call: modify(arguments={"command": "pwd"}))
        plugin.before_tool(lambda call: deny(call.arguments["command"]))
        plugin.before_tool(lambda call: abort("never asked"))
        """
    async with open_hook(handlers) as child:
        answer = await child.call("hook.before_tool", bash("ls"))
    assert answer == {"action": "deny_tool", "reason": "pwd"}


@pytest.mark.parametrize(
    ("answers", "approved"),
    [
        ("approve() ask('t') refuse('no')", {"approved": False, "reason": "no"}),
        ("approve() ask('t') approve()", {"ask": {"title": "t"}}),
        ("ask('first') ask('second')", {"ask": {"title": "first"}}),
        ("approve() {'approved':1}", {"approved": 1}),
        ("ask('t') {'approved':False,'ask':{}}", {"approved": False, "ask": {}}),
    ],
)
async def test_refuse_beats_ask_and_ask_beats_approve(
    open_hook: OpenHook, answers: str, approved: dict[str, Any]
) -> None:
    handlers = "\n".join(f"plugin.approve_tool(lambda call: {answer})" for answer in answers.split(" "))
    async with open_hook(handlers) as child:
        assert await child.call("hook.approve_tool", bash("ls")) == approved


async def test_an_approver_has_no_objection_to_tools_it_does_not_judge(open_hook: OpenHook) -> None:
    async with open_hook("plugin.approve_tool(tools='bash')(lambda call: refuse('no'))") as child:
        answer = await child.call("hook.approve_tool", {"tool": "read", "arguments": {}})
    assert answer == {"approved": True}


# --- owned tools ----------------------------------------------------------------------------------------------

TOOLS = """
    from typing import Annotated, Any, Literal, Optional, Union
    @plugin.tool()
    def pick(call: Call, names: list[str], how: Literal["any", "all"] = "any",
             n: Annotated[Optional[int], "count"] = None, by: Union[int, str, None] = None, more: Any = None):
        "Picks names."
        return {"picked": names[:n], "for": call.chat_id, "how": how}
    plugin.tool("Fails.", parameters={"type": "object"}, name="fail")(lambda: 1 / 0)
    plugin.tool("Shows.", {"type": "object"}, name="show")(lambda: respond("for the model", "for the user"))
    """


async def test_an_owned_tool_gets_its_schema_from_the_annotations(open_hook: OpenHook) -> None:
    async with open_hook(TOOLS) as child:
        function = (await child.call("hook.hello", HELLO))["tools"][0]["function"]
    assert function["description"] == "Picks names."
    assert function["parameters"]["required"] == ["names"]
    assert function["parameters"]["properties"] == {
        "names": {"type": "array", "items": {"type": "string"}},
        "how": {"type": "string", "enum": ["any", "all"]},
        "n": {"type": "integer", "description": "count"},
        "by": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "more": {},
    }


async def test_an_owned_tool_answers_its_calls_by_respond(open_hook: OpenHook) -> None:
    async with open_hook(TOOLS) as child:
        params = {"tool": "pick", "arguments": {"names": ["a", "b"], "n": 1}, "chat_id": "7"}
        picked = await child.call("hook.before_tool", params)
        shown = await child.call("hook.before_tool", {"tool": "show", "arguments": {}})
        other = await child.call("hook.before_tool", bash("ls"))
    assert picked["action"] == "respond"
    assert json.loads(picked["result"]["for_llm"]) == {"picked": ["a"], "for": "7", "how": "any"}
    assert shown["result"] == {"for_llm": "for the model", "for_user": "for the user"}
    assert other == {"action": "continue"}


async def test_arguments_that_do_not_fit_an_owned_tool_are_a_result_and_a_crash_is_an_error(
    open_hook: OpenHook,
) -> None:
    async with open_hook(TOOLS) as child:
        answer = await child.call("hook.before_tool", {"tool": "pick", "arguments": {"nmaes": []}})
        with pytest.raises(ErrorReply, match="ZeroDivisionError"):
            await child.call("hook.before_tool", {"tool": "fail", "arguments": {}})
    assert answer["result"]["is_error"] is True
    assert "names" in answer["result"]["for_llm"]


async def test_the_plugins_own_before_tool_handler_is_asked_before_its_owned_tool(open_hook: OpenHook) -> None:
    handlers = """
        plugin.before_tool(lambda call: modify(arguments={"x": call.arguments["x"] + 1}))
        plugin.tool("", {"type": "object"}, name="show")(lambda x: str(x))
        """
    async with open_hook(handlers) as child:
        answer = await child.call("hook.before_tool", {"tool": "show", "arguments": {"x": 1}})
    result = {"for_llm": "2", "for_user": ""}
    assert answer == {"call": {"arguments": {"x": 2}}, "action": "respond", "result": result}


async def test_a_tool_whose_schema_cannot_be_derived_stops_at_the_decorator(open_hook: OpenHook) -> None:
    async with open_hook("@plugin.tool('')\ndef odd(x: object): ...") as child:
        assert await child.wait_exit() == 1
        await child.wait_stderr("give parameters=")


# --- the wire -------------------------------------------------------------------------------------------------


async def test_print_and_child_processes_cannot_write_between_the_lines(open_hook: OpenHook) -> None:
    handlers = """
        import subprocess, sys, os
        print("while loading")
        @plugin.before_tool
        def noisy(call):
            print("from print")
            sys.__stdout__.write("from the old stdout\\n"); sys.__stdout__.flush()
            os.write(1, b"from fd 1\\n")
            subprocess.run("echo from a child; cat", shell=True)
            return deny(repr(sys.stdin.read()))
        """
    async with open_hook(handlers) as child:
        await child.send("hook.before_tool", bash("ls"), id=1)
        first = await child.read_message()
        noise = ("while loading", "from print", "from the old stdout", "from fd 1", "from a child")
        for text in noise:
            await child.wait_stderr(text)
    assert first == {"jsonrpc": "2.0", "id": 1, "result": {"action": "deny_tool", "reason": "''"}}


@pytest.mark.parametrize("kind", ["def", "async def"])
async def test_fifty_calls_at_once_are_answered_in_the_order_they_finish(open_hook: OpenHook, kind: str) -> None:
    """Call n only returns after call n + 1 did, so anything but full concurrency stands still for ever."""
    if kind == "def":
        wait, tell, made = "done[n + 1].wait()", "done[n].set()", "threading.Event()"
    else:
        wait, tell, made = "await done[n + 1].wait()", "done[n].set()", "asyncio.Event()"
    handlers = f"""
        import asyncio, threading
        done = [{made} for _ in range(51)]
        @plugin.before_tool
        {kind} wait_for_the_next(call):
            n = call.arguments["n"]
            if n < 49:
                {wait}
            {tell}
            return deny(str(n))
        """
    async with open_hook(handlers) as child:
        for n in range(50):
            await child.send("hook.before_tool", {"tool": "t", "arguments": {"n": n}}, id=n)
        replies = [await child.read_message() for _ in range(50)]
    assert {reply["id"]: reply["result"]["reason"] for reply in replies} == {n: str(n) for n in range(50)}
    assert replies[0]["id"] != 0


async def test_no_more_than_max_in_flight_handlers_run_at_once(open_hook: OpenHook) -> None:
    handlers = """
        import threading
        plugin.max_in_flight = 3
        running, peak, lock, together = 0, 0, threading.Lock(), threading.Barrier(3)
        @plugin.before_tool
        def count(call):
            global running, peak
            with lock: running += 1; peak = max(peak, running)
            together.wait(10)
            with lock: running -= 1
            return deny(str(peak))
        """
    async with open_hook(handlers) as child:
        for n in range(12):
            await child.send("hook.before_tool", bash("ls"), id=n)
        reasons = {(await child.read_message())["result"]["reason"] for _ in range(12)}
    assert reasons == {"3"}


async def test_calls_beyond_max_in_flight_wait_and_each_is_answered(open_hook: OpenHook) -> None:
    handlers = """
        import threading
        plugin.max_in_flight = 2
        @plugin.before_tool
        def brief(call):
            threading.Event().wait(call.arguments["n"] % 3 / 1000)
            return deny(str(call.arguments["n"]))
        """
    async with open_hook(handlers) as child:
        for n in range(600):
            await child.send("hook.before_tool", {"tool": "t", "arguments": {"n": n}}, id=n)
        replies = [await child.read_message() for _ in range(600)]
    assert {reply["id"]: reply["result"]["reason"] for reply in replies} == {n: str(n) for n in range(600)}


async def test_a_line_of_five_megabytes_goes_both_ways(open_hook: OpenHook) -> None:
    text = "é😀x" * 700_000
    async with open_hook("plugin.after_tool(lambda done: modify(for_llm=done.result['for_llm'][::-1]))") as child:
        message = {"jsonrpc": "2.0", "id": 1, "method": "hook.after_tool", "params": {"result": {"for_llm": text}}}
        line = json.dumps(message, ensure_ascii=False).encode() + b"\n"
        assert len(line) > 4_900_000
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child.send_raw, line)
            answer = await child.read_message()
    assert answer["result"]["result"]["for_llm"] == text[::-1]


async def test_many_large_answers_at_once_are_never_mixed(open_hook: OpenHook) -> None:
    async with open_hook("plugin.before_tool(lambda call: deny(call.arguments['c'] * 300_000))") as child:
        for n in range(20):
            await child.send("hook.before_tool", {"tool": "t", "arguments": {"c": chr(97 + n)}}, id=n)
        replies = [await child.read_message() for _ in range(20)]
    assert all(reply["result"]["reason"] == chr(97 + reply["id"]) * 300_000 for reply in replies)


@pytest.mark.parametrize(
    "junk", [b"hello\n", b"[1,2]\n", b"7\n", b"\xff\xfe\n", b'{"id":1\n', b"[" * 100_000 + b"\n"]
)
async def test_a_line_that_is_no_message_is_logged_and_skipped(open_hook: OpenHook, junk: bytes) -> None:
    async with open_hook("plugin.before_tool(lambda call: None)") as child:
        await child.send_raw(junk + b"\n\r\n")
        assert await child.call("hook.before_tool", bash("ls")) == {"action": "continue"}
        await child.wait_stderr("skipped a line")


async def test_unknown_notifications_and_replies_are_ignored(open_hook: OpenHook) -> None:
    async with open_hook("plugin.before_tool(lambda call: None)") as child:
        await child.send("hook.new_thing", {})
        await child.send("hook.before_tool", {})
        await child.send("hook.cancel", {"id": 99})
        await child.send_raw(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
        await child.send("hook.before_tool", bash("ls"), id=5)
        assert (await child.read_message())["id"] == 5


ERRORS = [
    ("hook.unknown", {}, "None", -32601, "unknown method hook.unknown"),
    ("tools/list", {}, "None", -32601, "unknown method tools/list"),
    ("hook.before_tool", [1], "None", -32602, "params must be an object"),
    ("hook.before_tool", {"arguments": {}}, "1 / 0", -32000, "ZeroDivisionError: division by zero"),
    ("hook.before_tool", {"arguments": {}}, "exit(3)", -32000, "SystemExit: 3"),
    ("hook.before_tool", {"arguments": {}}, "thrown(KeyboardInterrupt('x'))", -32000, "KeyboardInterrupt: x"),
    ("hook.before_tool", {"arguments": {}}, "thrown(asyncio.CancelledError('x'))", -32000, "CancelledError: x"),
    ("hook.before_tool", {"arguments": {}}, "leaving()", -32000, "RuntimeError: SystemExit: 3"),
    ("hook.before_tool", {"arguments": {}}, "'deny'", -32000, "TypeError: <lambda> returned 'deny', which is no "),
    ("hook.before_tool", {"arguments": {}}, "deny({1})", -32000, "TypeError: Object of type set is not JSON"),
    ("hook.before_tool", {"arguments": {}}, "modify(x=float('nan'))", -32000, "ValueError: Out of range float"),
    ("hook.approve_tool", {"arguments": {}}, "modify(x=1)", -32000, "TypeError"),
]


@pytest.mark.parametrize(("method", "params", "answer", "code", "message"), ERRORS)
async def test_what_cannot_be_answered_gets_an_error_and_the_next_call_an_answer(
    open_hook: OpenHook, method: str, params: Any, answer: str, code: int, message: str
) -> None:
    handlers = f"""
        import asyncio
        def thrown(error): raise error
        async def leaving(): exit(3)
        async def later(value): return value
        plugin.before_tool(lambda call: later(None) if call.tool else {answer})
        plugin.approve_tool(lambda call: {answer})
        """
    async with open_hook(handlers) as child:
        with pytest.raises(ErrorReply) as error:
            await child.call(method, params)
        assert await child.call("hook.before_tool", bash("ls")) == {"action": "continue"}
        if code == -32000:
            await child.wait_stderr("Traceback")
    assert error.value.code == code
    assert error.value.message.startswith(message)


async def test_a_long_exception_is_cut(open_hook: OpenHook) -> None:
    async with open_hook("@plugin.before_llm\ndef fail(request): raise KeyError('x' * 9_000)") as child:
        with pytest.raises(ErrorReply) as error:
            await child.call("hook.before_llm", {})
    assert len(error.value.message) == 300


# --- cancel ---------------------------------------------------------------------------------------------------


async def test_a_cancelled_handler_learns_it_and_is_not_answered_for(open_hook: OpenHook) -> None:
    handlers = """
        @plugin.before_tool(tools=["slow"])
        def slow(call):
            plugin.log("waiting")
            call.cancelled.wait()
            plugin.log("cancelled")
            return deny("too late")
        """
    async with open_hook(handlers) as child:
        await child.send("hook.before_tool", {"tool": "slow", "arguments": {}}, id=7)
        await child.wait_stderr("waiting")
        await child.send("hook.cancel", {"id": 7})
        await child.wait_stderr("cancelled")
        await child.send("hook.before_tool", bash("ls"), id=8)
        assert (await child.read_message())["id"] == 8


async def test_a_cancelled_coroutine_ends_at_its_await(open_hook: OpenHook) -> None:
    handlers = """
        import asyncio
        @plugin.approve_tool
        async def slow(call):
            plugin.log("waiting")
            try:
                await asyncio.Event().wait()
            finally:
                plugin.log("cleaned up")
        """
    async with open_hook(handlers) as child:
        await child.send("hook.approve_tool", bash("ls"), id=7)
        await child.wait_stderr("waiting")
        await child.send("hook.cancel", {"id": 7})
        await child.wait_stderr("cleaned up")
        await child.close_stdin()
        assert await child.wait_exit() == 0
        assert await child.read_line() == b""
    assert "Traceback" not in child.stderr


async def test_a_call_that_is_cancelled_while_it_waits_for_a_thread_never_runs(open_hook: OpenHook) -> None:
    handlers = """
        plugin.max_in_flight = 1
        @plugin.before_tool
        def one(call):
            plugin.log("ran " + call.arguments["command"])
            call.cancelled.wait()
        """
    async with open_hook(handlers) as child:
        for n in (1, 2, 3):
            await child.send("hook.before_tool", bash(f"n{n}"), id=n)
        await child.wait_stderr("ran n1")
        await child.send("hook.cancel", {"id": 2})
        await child.send("hook.cancel", {"id": 1})
        await child.wait_stderr("ran n3")
    assert "ran n2" not in child.stderr


# --- events ---------------------------------------------------------------------------------------------------


async def test_events_arrive_in_order_and_only_those_that_match(open_hook: OpenHook) -> None:
    handlers = """
        @plugin.event(["tool_*"])
        async def see(event): plugin.log(f"saw {event.payload['n']} {event.meta['TurnID']} {event.dropped}")
        @plugin.event("agent.*")
        def runtime(event): plugin.log(f"{event.kind} {event.meta['turn_id']} {event.payload['n']}")
        """
    async with open_hook(handlers) as child:
        for n in range(100):
            params = {"Kind": "tool_x", "Meta": {"TurnID": "t"}, "Payload": {"n": n}, "Dropped": n // 99 * 4}
            await child.send("hook.event", params, **({"id": 0} if n % 2 else {}))
            await child.send("hook.event", {"Kind": "turn_start", "Meta": {}, "Payload": {}})
        params = {"id": "evt-1", "kind": "agent.x", "scope": {"turn_id": "t"}, "payload": {"n": 1}}
        await child.send("hook.runtime_event", params)
        await child.wait_stderr("agent.x t 1")
    seen = [line for line in child.stderr.splitlines() if "saw" in line]
    assert seen == [f"t: saw {n} t {n // 99 * 4}" for n in range(100)]


async def test_an_observer_that_fails_sees_the_next_event(open_hook: OpenHook) -> None:
    handlers = """
        @plugin.event
        def see(event):
            if event.kind == "a": raise ValueError("first")
            plugin.log("second")
        """
    async with open_hook(handlers) as child:
        await child.send("hook.event", {"Kind": "a", "Meta": {}, "Payload": {}})
        await child.send("hook.event", {"Kind": "b", "Meta": {}, "Payload": {}})
        await child.wait_stderr("t: second")
    assert "ValueError: first" in child.stderr


async def test_a_stuck_observer_delays_no_call_and_is_told_what_it_lost(open_hook: OpenHook) -> None:
    handlers = """
        import hookgate_plugin, threading
        hookgate_plugin.MAX_EVENTS, go_on = 10, threading.Event()
        @plugin.event
        def see(event):
            plugin.log(f"saw {event.kind} {event.dropped}")
            go_on.wait()
        plugin.before_tool(lambda call: go_on.set() if call.tool == "go" else None)
        """
    async with open_hook(handlers) as child:
        await child.send("hook.event", {"Kind": "e0"})
        await child.wait_stderr("saw e0")
        for n in range(1, 31):
            await child.send("hook.event", {"Kind": f"e{n}"})
        assert await child.call("hook.before_tool", bash("ls")) == {"action": "continue"}
        await child.call("hook.before_tool", {"tool": "go"})
        await child.wait_stderr("saw e30 0")
    assert "saw e21 20" in child.stderr
    assert "saw e20" not in child.stderr


# --- the end --------------------------------------------------------------------------------------------------

FINISHING = """
    import threading
    @plugin.before_tool
    def slow(call):
        plugin.log("begun")
        threading.Event().wait(0.3)
        return deny("finished")
    """


@pytest.mark.parametrize("how", ["eof", "sigterm"])
async def test_the_end_waits_for_a_running_handler_and_exits_with_0(open_hook: OpenHook, how: str) -> None:
    async with open_hook(FINISHING) as child:
        await child.send("hook.before_tool", bash("ls"), id=1)
        await child.wait_stderr("begun")
        if how == "eof":
            await child.close_stdin()
        else:
            child.process.send_signal(signal.SIGTERM)
        assert (await child.read_message())["result"]["reason"] == "finished"
        assert await child.wait_exit() == 0


@pytest.mark.parametrize("stuck", ["plugin.before_tool(lambda call: forever())", "plugin.event(lambda e: forever())"])
async def test_a_handler_that_never_ends_cannot_keep_the_process(open_hook: OpenHook, stuck: str) -> None:
    handlers = f"""
        import threading
        def forever():
            plugin.log("begun")
            threading.Event().wait()
        {stuck}
        """
    async with open_hook(handlers) as child:
        await child.send("hook.before_tool", bash("ls"), id=1)
        await child.send("hook.event", {"Kind": "a"})
        await child.wait_stderr("begun")
        started = time.monotonic()
        await child.close_stdin()
        assert await child.wait_exit() == 0
        assert time.monotonic() - started > 1.0


async def test_an_idle_process_ends_at_once_when_stdin_ends(open_hook: OpenHook) -> None:
    async with open_hook("import atexit; atexit.register(plugin.log, 'atexit ran')") as child:
        await child.call("hook.hello", HELLO)
        await child.close_stdin()
        assert await child.wait_exit() == 0
        # One that has to be cut short does not come to that.
        await child.wait_stderr("atexit ran")


async def test_events_and_a_last_line_without_newline_are_handled_before_the_end(open_hook: OpenHook) -> None:
    async with open_hook("plugin.event(lambda event: plugin.log(event.kind))") as child:
        await child.send("hook.event", {"Kind": "first"})
        await child.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{}}')
        await child.close_stdin()
        assert (await child.read_message())["result"]["ok"] is True
        assert await child.wait_exit() == 0
        await child.wait_stderr("t: first")


async def test_a_broken_pipe_ends_the_process_quietly(open_hook: OpenHook) -> None:
    async with open_hook("plugin.before_tool(lambda call: None)") as child:
        await child.call("hook.hello", HELLO)
        assert child.process.stdout
        await child.process.stdout.aclose()
        await child.send("hook.before_tool", bash("ls"), id=1)
        assert await child.wait_exit() == 0
    assert child.stderr == ""


# --- the file -------------------------------------------------------------------------------------------------


def test_the_sdk_is_written_in_the_grammar_of_python_3_9_and_imports_only_the_standard_library() -> None:
    tree = ast.parse(SDK.read_text(), feature_version=(3, 9))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert {module.partition(".")[0] for module in modules} <= sys.stdlib_module_names
