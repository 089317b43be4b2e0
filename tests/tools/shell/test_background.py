"""Commands in the background, with real processes: what is read of them, whose they are, and that all of them end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from walls import open_sandbox

from hookgate.processes import command as command_module
from hookgate.processes.command import Command
from hookgate.protocol import call_context
from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.protocol.values.effects import ProcessEffect
from hookgate.tools.builtin import bash as bash_module
from hookgate.tools.builtin.bash import Bash
from hookgate.tools.builtin.bash_kill import BashKill
from hookgate.tools.builtin.bash_output import MAX_WAIT_S, BashOutput
from hookgate.tools.dispatch import execute
from hookgate.tools.shell import background as module
from hookgate.tools.shell.background import Background, Job, open_background
from hookgate.tools.shell.sandbox import Sandbox, SandboxOptions
from tests.processes import gone, line_of

Run = Callable[..., Coroutine[Any, Any, ToolResult]]

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}


@pytest.fixture
async def room(unconfined: Sandbox) -> AsyncIterator[Background]:
    async with open_background(unconfined.tmp) as background:
        yield background


@pytest.fixture
def run(room: Background, unconfined: Sandbox) -> Run:
    return caller(room, unconfined)


def caller(room: Background, sandbox: Sandbox) -> Run:
    tools = {it.spec.name: it for it in (Bash(sandbox, ENVIRONMENT, room), BashOutput(room), BashKill(room))}

    async def run_tool(name: str, **arguments: Any) -> ToolResult:
        with trio.fail_after(30):
            return await execute(tools[name], ToolCall("call_1", name, arguments))

    return run_tool


@contextmanager
def of(session: str) -> Iterator[None]:
    token = call_context.session.set(session)
    try:
        yield
    finally:
        call_context.session.reset(token)


def content(path: str) -> str:
    return Path(path).read_text()


async def said(pipe: Path) -> str:
    """What a command writes into a named pipe, which it cannot do before this is called."""
    with trio.fail_after(30):
        return await trio.to_thread.run_sync(pipe.read_text, abandon_on_cancel=True)


async def tell(pipe: Path, text: str) -> None:
    """Returns once the command has opened the pipe to read it."""
    with trio.fail_after(30):
        await trio.to_thread.run_sync(pipe.write_text, text, abandon_on_cancel=True)


def data(result: ToolResult) -> dict[str, Any]:
    assert isinstance(result.data, dict)
    return result.data


def kind(result: ToolResult) -> str:
    assert result.error is not None
    return result.error.kind


# --- what is told -------------------------------------------------------------------------------------------


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end is waited for however slowly the machine runs a shell."""
    monkeypatch.setattr(bash_module, "FIRST_OUTPUT_S", 20.0)


async def test_it_answers_at_once_with_an_id_and_the_first_output(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bash_module, "FIRST_OUTPUT_S", 1.0)
    result = await run("bash", command="echo up; sleep 600", background=True)
    assert re.fullmatch(r"\$ echo up; sleep 600\n\nup\n\n\[bg1 running for \d\.\d s\]", result.for_llm)
    assert not result.is_error
    [effect] = result.effects
    assert isinstance(effect, ProcessEffect)
    assert effect.pid is not None
    assert effect == ProcessEffect("echo up; sleep 600", None, background=True, process_id="bg1", pid=effect.pid)
    assert data(result)["state"] == "running"
    assert data(result)["exit_code"] is None


async def test_output_is_read_once_and_the_end_is_told(run: Run, root: Path) -> None:
    os.mkfifo(root / "go")
    await run("bash", command="echo one; read x < go; echo two; exit 3", background=True)
    nothing = await run("bash_output", id="bg1")
    assert "(no new output)" in nothing.for_llm
    assert "[bg1 running for " in nothing.for_llm
    await tell(root / "go", "go\n")
    end = await run("bash_output", id="bg1", wait=20)
    assert "\n\ntwo\n\n[bg1 exited with 3 after " in end.for_llm
    assert not end.is_error
    assert (data(end)["state"], data(end)["exit_code"], data(end)["output"]) == ("exited", 3, "two\n")
    assert "(no new output)" in (await run("bash_output", id="bg1")).for_llm


async def test_waiting_ends_when_new_output_pauses(run: Run, root: Path) -> None:
    os.mkfifo(root / "go")
    await run("bash", command="read x < go; echo listening; sleep 600", background=True)
    results: list[ToolResult] = []

    async def wait() -> None:
        # Longer than a call may take here.
        results.append(await run("bash_output", id="bg1", wait=MAX_WAIT_S))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await tell(root / "go", "go\n")
    assert "\n\nlistening\n\n[bg1 running" in results[0].for_llm


async def test_waiting_for_a_silent_command_ends_when_the_time_is_up(run: Run) -> None:
    await run("bash", command="sleep 600", background=True)
    assert "(no new output)" in (await run("bash_output", id="bg1", wait=0.1)).for_llm


async def test_json_says_the_same_as_an_object(run: Run) -> None:
    await run("bash", command="read x; sleep 600", background=True)
    result = await run("bash_output", id="bg1", output="json")
    assert json.loads(result.for_llm) == data(result)
    assert data(result)["command"] == "read x; sleep 600"
    assert kind(await run("bash_output", id="bg1", output="yaml")) == "validation"


async def test_a_command_that_ends_at_once_is_told_as_such(run: Run, patient: None) -> None:
    result = await run("bash", command="echo no; exit 3", background=True)
    assert re.fullmatch(r"\$ echo no; exit 3\n\nno\n\n\[bg1 exited with 3 after \d\.\d s\]", result.for_llm)
    assert (result.is_error, kind(result)) == (True, "unknown")
    [effect] = result.effects
    assert isinstance(effect, ProcessEffect)
    assert (effect.exit_code, effect.background) == (3, True)


async def test_of_much_output_the_newest_is_told_and_all_of_it_is_in_a_file(run: Run, root: Path) -> None:
    os.mkfifo(root / "go")
    await run("bash", command="read x < go; seq 100000", background=True)
    await tell(root / "go", "go\n")
    result = await run("bash_output", id="bg1", wait=20)
    found = re.search(r"\.\.\. \[(\d+) bytes before this left out\] \(full output: (.+)\)\n", result.for_llm)
    assert found
    assert "\n100000\n\n[bg1 exited with 0" in result.for_llm
    everything = "".join(f"{n}\n" for n in range(1, 100_001))
    assert content(found[2]) == everything
    assert everything.encode()[int(found[1]) :] == data(result)["output"].encode()
    assert data(result)["truncated"]


async def test_json_of_much_output_is_whole(run: Run, root: Path) -> None:
    os.mkfifo(root / "go")
    await run("bash", command=r"read x < go; yes '\"\\\"' | head -c 200000", background=True)
    await tell(root / "go", "go\n")
    result = await run("bash_output", id="bg1", wait=20, output="json")
    told = json.loads(result.for_llm)
    assert told["truncated"]
    assert len(told["output"]) > 10_000


async def test_characters_that_come_in_pieces_are_whole(run: Run, root: Path) -> None:
    os.mkfifo(root / "go")
    await run("bash", command=r"printf '\303'; read x < go; printf '\244!\n'; sleep 600", background=True)
    await tell(root / "go", "go\n")
    result = await run("bash_output", id="bg1", wait=20)
    assert "\n\nä!\n\n" in result.for_llm


@pytest.mark.parametrize(("command", "status"), [("sleep 600", "timed out"), ("kill -9 $$", "ended by a signal")])
async def test_ends_that_were_not_its_own(run: Run, command: str, status: str) -> None:
    await run("bash", command=f"sleep 0.6; {command}", background=True, timeout=1)
    result = await run("bash_output", id="bg1", wait=20)
    assert f"[bg1 {status} after " in result.for_llm
    assert data(result)["timed_out"] == (status == "timed out")


# --- ending it ----------------------------------------------------------------------------------------------


async def test_killing_ends_the_whole_group_and_tells_what_was_not_read(run: Run, root: Path) -> None:
    os.mkfifo(root / "pids")
    await run("bash", command="sleep 600 & echo last words; echo $! $$ > pids; wait", background=True)
    pids = [int(pid) for pid in (await said(root / "pids")).split()]
    result = await run("bash_kill", id="bg1")
    assert "[bg1 killed after " in result.for_llm
    assert isinstance(result.effects[0], ProcessEffect)
    assert (result.effects[0].process_id, result.effects[0].exit_code) == ("bg1", -1)
    for pid in pids:
        await gone(pid)
    again = await run("bash_kill", id="bg1")
    assert (again.is_error, again.effects) == (False, ())


async def test_a_command_that_ignores_sigterm_is_killed_all_the_same(
    run: Run, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_module, "TERM_GRACE_S", 0.2)
    os.mkfifo(root / "pid")
    command = "trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done"
    await run("bash", command=command, background=True)
    pid = int(await said(root / "pid"))
    await run("bash_kill", id="bg1")
    await gone(pid)


async def test_leaving_the_room_ends_everything_in_it(unconfined: Sandbox, root: Path) -> None:
    os.mkfifo(root / "pids")
    async with open_background(unconfined.tmp) as room:
        run = caller(room, unconfined)
        await run("bash", command="sleep 600 & echo $! $$ > pids; wait", background=True)
        pids = [int(pid) for pid in (await said(root / "pids")).split()]
    for pid in pids:
        await gone(pid)
    assert not room.alive("")
    assert kind(await run("bash", command="true", background=True)) == "transient"


async def test_a_call_that_is_cancelled_before_its_answer_leaves_nothing(
    run: Run, root: Path, room: Background
) -> None:
    os.mkfifo(root / "pid")
    async with trio.open_nursery() as nursery:

        async def call() -> None:
            await run("bash", command="echo $$ > pid; sleep 600", background=True)

        nursery.start_soon(call)
        pid = int(await said(root / "pid"))
        nursery.cancel_scope.cancel()
    await gone(pid)
    assert kind(await run("bash_output", id="bg1")) == "not_found"


async def test_what_it_started_ends_with_the_command(run: Run, root: Path) -> None:
    os.mkfifo(root / "pid")
    await run("bash", command="sleep 600 & echo $! > pid", background=True)
    await gone(int(await said(root / "pid")))


KILLED = """
import os, sys, trio
from pathlib import Path
from hookgate.tools.shell.background import open_background
from hookgate.processes.command import Command

async def main():
    async with open_background(Path(sys.argv[1])) as room:
        line = "sleep 600 & echo $! $$; wait"
        command = Command(["/bin/sh", "-c", line], Path("/"), dict(PATH=sys.argv[2]), 600, guarded=True)
        job = await room.start("s", line, command)
        while not job.output:
            await job.output.news.wait()
        print(job.output.read().text, flush=True)
        await trio.sleep_forever()

trio.run(main)
"""


async def test_it_dies_with_a_hookgate_that_is_killed_outright(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", KILLED, str(tmp_path), os.environ["PATH"]]
    process = await trio.lowlevel.open_process(argv, stdout=subprocess.PIPE)
    assert process.stdout is not None
    async with process.stdout as output:
        pids = [int(pid) for pid in (await line_of(output)).split()]
        assert len(pids) == 2
        for pid in pids:
            os.kill(pid, 0)
        process.send_signal(signal.SIGKILL)
        await process.wait()
    for pid in pids:
        await gone(pid)


@pytest.mark.needs("bwrap")
async def test_it_runs_inside_the_same_walls(root: Path, tmp_path: Path) -> None:
    async with (
        open_sandbox(root, ENVIRONMENT, SandboxOptions()) as sandbox,
        open_background(sandbox.tmp) as room,
    ):
        assert sandbox.kind == "bwrap"
        run = caller(room, sandbox)
        outside = tmp_path / "outside"
        result = await run("bash", command=f"echo x > {outside}; echo x > inside; sleep 600", background=True)
        assert "[bg1 running for " in result.for_llm
        assert not outside.exists()
        assert (root / "inside").exists()
        # The thread that started it may idle out meanwhile: the process must not mind.
        assert "running" in (await run("bash_output", id="bg1")).for_llm
        killed = await run("bash_kill", id="bg1")
        assert "[bg1 killed after " in killed.for_llm


# --- whose it is --------------------------------------------------------------------------------------------


async def test_a_session_sees_only_its_own(run: Run, room: Background) -> None:
    with of("a:1"):
        await run("bash", command="sleep 600", background=True)
    with of("b:2"):
        await run("bash", command="sleep 600", background=True)
        for name in ("bash_output", "bash_kill"):
            result = await run(name, id="bg1")
            assert kind(result) == "not_found"
            assert "bg2" in result.for_llm
    assert room.alive("a:1")
    assert room.alive("b:2")
    assert not room.alive("c:3")


async def test_a_new_conversation_ends_the_processes_of_the_old_one(run: Run, room: Background, root: Path) -> None:
    os.mkfifo(root / "pid")
    with of("a:1"):
        await run("bash", command="echo $$ > pid; sleep 600", background=True)
    pid = int(await said(root / "pid"))
    with of("b:2"):
        await run("bash", command="sleep 600", background=True)
    assert room.forget("a:1") == 1
    with of("a:1"):
        assert kind(await run("bash_output", id="bg1")) == "not_found"
    await gone(pid)
    with of("b:2"):
        assert "running" in (await run("bash_output", id="bg2")).for_llm


def sleeping(root: Path) -> Command:
    return Command(["sleep", "600"], root, ENVIRONMENT, 600)


async def test_there_is_room_for_eight_of_a_session_and_for_thirty_two(
    run: Run, room: Background, root: Path
) -> None:
    jobs = [await room.start("a", "x", sleeping(root)) for _ in range(module.MAX_PER_SESSION)]
    with of("a"):
        refused = await run("bash", command="sleep 600", background=True)
        assert kind(refused) == "budget"
        assert "bash_kill" in refused.for_llm
        await run("bash_kill", id=jobs[0].id)
        assert not (await run("bash", command="sleep 600", background=True)).is_error
    for session in "bcd":
        for _ in range(8):
            await room.start(session, "x", sleeping(root))
    with of("e"):
        assert kind(await run("bash", command="sleep 600", background=True)) == "budget"


async def test_what_has_ended_makes_room_and_takes_its_file_along(
    run: Run, room: Background, root: Path, unconfined: Sandbox
) -> None:
    async def ended() -> Job:
        job = await room.start("a", "x", Command(["echo", "x"], root, ENVIRONMENT, 60))
        await job.finished.wait()
        return job

    for _ in range(40):
        await ended()
    assert len(list(unconfined.tmp.glob("background-*.log"))) == module.MAX_IN_ALL
    with of("a"):
        assert kind(await run("bash_output", id="bg1")) == "not_found"
        assert "x" in (await run("bash_output", id="bg40")).for_llm
    room.forget("a")
    assert not list(unconfined.tmp.glob("background-*.log"))


async def test_one_that_cannot_start_fails_its_call_alone(room: Background, root: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await room.start("a", "x", Command(["/no/such/program"], root, {}, 1))
    assert not room.alive("a")
    await room.start("a", "x", sleeping(root))
    assert room.alive("a")


async def test_a_flood_costs_little_memory(room: Background, root: Path, unconfined: Sandbox) -> None:
    before = _resident_mib()
    job = await room.start("a", "x", Command(["cat", "/dev/zero"], root, ENVIRONMENT, 1))
    with trio.fail_after(20):
        await job.finished.wait()
    assert job.state == "timed out"
    assert _resident_mib() - before < 50
    assert sum(log.stat().st_size for log in unconfined.tmp.iterdir()) < 66 * 1024 * 1024


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1024 / 1024


async def test_without_a_room_there_is_no_background(unconfined: Sandbox) -> None:
    tool = Bash(unconfined, ENVIRONMENT)
    result = await execute(tool, ToolCall("c", "bash", {"command": "true", "background": True}))
    assert kind(result) == "validation"


async def test_reading_is_read_only_and_never_kept_killing_is_neither(room: Background) -> None:
    reading, killing = BashOutput(room).spec, BashKill(room).spec
    assert (reading.read_only, reading.pure, reading.lease) == (True, False, "none")
    assert (killing.read_only, killing.lease) == (False, "none")


async def test_nothing_stays_open(unconfined: Sandbox, root: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    async with open_background(unconfined.tmp) as room:
        await (await room.start("a", "x", Command(["true"], root, ENVIRONMENT, 60, guarded=True))).finished.wait()
        await room.start("a", "x", Command(["sleep", "600"], root, ENVIRONMENT, 60, guarded=True))
    assert len(os.listdir("/proc/self/fd")) <= before + 1
