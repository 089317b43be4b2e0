"""How a hook process begins and ends: deaths, hellos that fail, and that nothing is left of it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import trio
import trio.testing

from hookgate.hooks.children.process import HelloFailed, open_process
from hookgate.processes import group
from hookgate.protocol.hook.answers import Failed
from tests.hooks.processes import (
    DEADLINE_S,
    alive,
    ask,
    gone,
    living,
    open_child,
    open_rounds,
    spec,
    told,
)

# --- the end ---


@pytest.mark.parametrize(
    ("do", "arguments", "reason"),
    [
        ("exit", {"status": 0}, "it exited with status 0"),
        ("exit", {"status": 7}, "it exited with status 7"),
        ("exit", {"last": '{"jsonrpc":"2.0","id":2,"resu'}, "it exited with status 0"),
        ("kill", {}, "it was killed by SIGKILL"),
        ("close_stdout", {}, "it closed its stdout"),
    ],
)
@pytest.mark.usefixtures("quick_end")
async def test_a_death_in_a_call_fails_it_at_once_with_the_reason(do: str, arguments: Any, reason: str) -> None:
    async with open_child() as child:
        assert await ask(child, do, **arguments) == Failed(reason)
        assert (child.ended.is_set(), child.end_reason) == (True, reason)
        assert await ask(child, "where") == Failed(reason)


async def test_every_caller_wakes_when_the_process_dies() -> None:
    async with open_child(max_in_flight=10) as child:
        answers: list[Any] = []

        async def one() -> None:
            answers.append(await ask(child, "silent"))

        async with trio.open_nursery() as nursery:
            for _ in range(30):
                nursery.start_soon(one)
            await trio.testing.wait_all_tasks_blocked()
            os.kill(child.pid, signal.SIGKILL)
        assert answers == [Failed("it was killed by SIGKILL")] * 30


async def test_an_answer_written_just_before_the_exit_counts() -> None:
    last = json.dumps({"id": 2, "result": {"action": "deny_tool", "reason": "last word"}}) + "\n"
    async with open_child() as child:
        assert getattr(await ask(child, "exit", last=last), "reason", "") == "last word"


async def test_a_grandchild_that_holds_stdout_does_not_hide_the_exit() -> None:
    async with open_child() as child:
        grandchild = await told(child, "fork", leave=True)
        with trio.fail_after(DEADLINE_S):
            await child.ended.wait()
        assert child.end_reason == "it exited with status 0"
        assert grandchild in living(child.pid)


@pytest.mark.usefixtures("quick_end")
async def test_a_hook_that_closes_its_stdin_is_at_its_end() -> None:
    async with open_child() as child:
        assert await told(child, "close_stdin") == "closed"
        assert await ask(child, "where") == Failed("it closed its stdin")


async def test_a_hook_that_heeds_the_end_of_its_input_ends_by_itself() -> None:
    async with open_child() as child:
        await alive(child)
    # Neither SIGTERM nor SIGKILL: it has ended by itself.
    assert child._child.pipes.process.returncode == 0


async def test_a_stubborn_hook_and_its_grandchildren_have_their_time_and_are_gone_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(group, "CLOSE_WAIT_S", 0.2)
    monkeypatch.setattr(group, "TERM_WAIT_S", 0.1)
    started = monotonic()
    async with open_child("stubborn") as child:
        leader = child.pid
        assert len(living(leader)) == 4
    assert monotonic() - started >= 0.3
    await gone(leader)


@pytest.mark.usefixtures("quick_end")
async def test_a_cancelled_owner_still_stops_and_reaps_the_whole_group() -> None:
    group = 0
    async with open_rounds() as rounds:
        with trio.CancelScope() as scope:
            async with open_process(spec("stubborn"), rounds) as child:
                group = child.pid
                scope.cancel()
                await trio.sleep_forever()
        assert scope.cancelled_caught
    await gone(group)


async def test_an_error_of_the_user_stops_the_process_and_is_raised() -> None:
    with pytest.RaisesGroup(pytest.RaisesExc(KeyError), flatten_subgroups=True):
        async with open_child() as child:
            raise KeyError(child.pid)


# --- hello ---


@pytest.mark.parametrize(
    ("mode", "hello", "reason"),
    [
        ("exit_at_start", None, "it exited with status 3"),
        ("exit_at_hello", None, "it exited with status 4"),
        ("error_at_hello", None, "error -32000: no licence"),
        ("plain", [], "the hello result must be an object, not an array"),
        ("plain", "ok", "the hello result must be an object, not a string"),
        ("plain", {"ok": False}, "the hook answered ok: false"),
        ("plain", {"ok": False, "reason": "no licence"}, "the hook refused: no licence"),
        ("plain", {"stages": ["nothing"]}, "hello.stages: 'nothing' was not offered"),
    ],
)
async def test_a_bad_hello_is_refused_and_leaves_nothing_running(mode: str, hello: Any, reason: str) -> None:
    with trio.fail_after(DEADLINE_S):
        async with open_rounds() as rounds:
            with pytest.raises(HelloFailed) as caught:
                async with open_process(spec(mode, hello), rounds):
                    pytest.fail("it must not open")
    assert str(caught.value) == reason


@pytest.mark.usefixtures("quick_end")
async def test_a_mute_hook_is_given_up_after_the_hello_timeout() -> None:
    async with open_rounds() as rounds:
        with (
            trio.fail_after(DEADLINE_S),
            pytest.raises(
                HelloFailed,
                match=r"no hello within 0\.1 s: it is silent, does not flush its stdout, or is still compil",
            ),
        ):
            async with open_process(spec("mute", hello_timeout_s=0.1), rounds):
                pytest.fail("it must not open")


@pytest.mark.usefixtures("quick_end")
async def test_what_a_hook_writes_instead_of_its_hello_is_in_the_reason_why_it_is_given_up() -> None:
    written = r'ready\n{"id":7,"result":{}}\n{"id":1'
    command = ("/bin/sh", "-c", 'printf "$0"; read -r hello; read -r rest', written)
    came = r"""'ready', 'an answer to 7', '{"id":1' without a line end"""
    async with open_rounds() as rounds:
        with trio.fail_after(DEADLINE_S), pytest.raises(HelloFailed) as caught:
            async with open_process(spec(command=command, hello_timeout_s=1.0), rounds):
                pytest.fail("it must not open")
    assert str(caught.value) == f"no hello within 1 s: this came, which answers nothing: {came}"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"command": ("/nonexistent/hook",)}, "cannot start '/nonexistent/hook'"),
        ({"directory": "/proc/nowhere"}, "No such file"),
        ({"command": (str(Path(__file__)),)}, "Permission denied"),
    ],
)
async def test_a_command_that_cannot_start_says_why(changes: dict[str, Any], text: str) -> None:
    async with open_rounds() as rounds:
        with pytest.raises(HelloFailed, match=text):
            async with open_process(spec(**changes), rounds):
                pytest.fail("it must not open")
