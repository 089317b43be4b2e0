"""bash with real processes: what it says, what it stops, and that nothing is left behind."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from hookgate.processes import command as command_module
from hookgate.processes.command import Command, run_command
from hookgate.protocol.values import Fault, ToolCall, ToolResult
from hookgate.tools.builtin.bash import Bash
from hookgate.tools.shell.capture import Capture
from hookgate.tools.shell.sandbox import Sandbox
from tests.processes import gone

Run = Callable[..., Awaitable[ToolResult]]


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short time of grace between SIGTERM and SIGKILL."""
    monkeypatch.setattr(command_module, "TERM_GRACE_S", 0.2)


def reaped(pid: int) -> bool:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


def content(path: str) -> str:
    return Path(path).read_text()


async def said(pipe: Path) -> str:
    """What a command writes into a named pipe, which it cannot do before this is called."""
    with trio.fail_after(30):
        return await trio.to_thread.run_sync(pipe.read_text, abandon_on_cancel=True)


async def test_the_result_shows_command_output_status_and_time(run: Run) -> None:
    result = await run("bash", command="echo out; echo err >&2; echo more")
    assert re.fullmatch(
        r"\$ echo out; echo err >&2; echo more\n\nout\nerr\nmore\n\n\[exit 0\]  Took \d+\.\ds", result.for_llm
    )
    assert result.error is None


async def test_a_silent_command_has_no_output_part(run: Run) -> None:
    assert re.fullmatch(r"\$ true\n\n\[exit 0\]  Took \d\.\ds", (await run("bash", command="true")).for_llm)


async def test_a_command_that_fails_is_an_error_of_unknown_kind_in_its_own_words(run: Run) -> None:
    result = await run("bash", command="echo no; exit 3")
    assert result.is_error
    assert result.error == Fault("unknown", "bash", "exit 3")
    assert re.fullmatch(r"\$ echo no; exit 3\n\nno\n\n\[exit 3\]  Took \d\.\ds", result.for_llm)


async def test_a_command_killed_by_a_signal_exits_with_minus_one(run: Run) -> None:
    result = await run("bash", command="kill -9 $$")
    assert "[exit -1]" in result.for_llm
    assert result.error == Fault("unknown", "bash", "killed by a signal")


@pytest.mark.parametrize("arguments", [{}, {"command": ""}])
async def test_a_command_is_required(run: Run, arguments: dict[str, str]) -> None:
    assert (await run("bash", **arguments)).error == Fault("validation", "bash", "command is required")


@pytest.mark.parametrize("timeout", [0, -1, 601, "long"])
async def test_a_timeout_out_of_bounds_is_refused(run: Run, timeout: object) -> None:
    result = await run("bash", command="true", timeout=timeout)
    assert result.error is not None
    assert result.error.kind == "validation"


async def test_it_runs_in_the_workspace_with_only_the_environment_it_is_given(
    root: Path, unconfined: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "do-not-leak")
    tool = Bash(unconfined, {"PATH": os.environ["PATH"], "HOME": "/home/somebody"})
    text = (await tool.execute(ToolCall("c", "bash", {"command": "pwd; env"}))).for_llm
    assert f"\n{root}\n" in text
    assert "HOME=/home/somebody" in text
    assert f"TMPDIR={unconfined.tmp}" in text
    assert "do-not-leak" not in text


async def test_stdin_is_empty(run: Run) -> None:
    assert "[exit 0]" in (await run("bash", command="cat", timeout=5)).for_llm


async def test_too_many_lines_are_cut_and_the_rest_is_in_a_file(run: Run) -> None:
    text = (await run("bash", command="seq 5000")).for_llm
    found = re.search(r"\n2000\n\.\.\. \[truncated at 2000 lines\] \(full output: (.+)\)\n\n\[exit 0\]", text)
    assert found
    assert "\n2001\n" not in text
    assert content(found[1]) == "".join(f"{n}\n" for n in range(1, 5001))


async def test_too_many_bytes_are_cut_between_characters(run: Run) -> None:
    text = (await run("bash", command="printf x; yes äääääääää | head -c 300000 | tr -d '\\n'")).for_llm
    shown = text.split("\n\n")[1]
    output, note = shown.split("\n")
    assert note.startswith("... [truncated at 51200 bytes] (full output: ")
    assert output == "x" + "ä" * 25_599


@pytest.mark.parametrize(
    ("command", "lines"), [("seq 1999", 1999), ("seq 2000", 2000), ("seq 2000; printf more", 2000)]
)
async def test_the_line_limit_is_exact(run: Run, command: str, lines: int) -> None:
    text = (await run("bash", command=command)).for_llm
    assert f"\n{lines}\n" in text
    assert ("[truncated at 2000 lines]" in text) == ("more" in command)


async def test_a_flood_costs_little_memory_and_little_disk(unconfined: Sandbox) -> None:
    tool = Bash(unconfined, {"PATH": os.environ["PATH"]})
    before = _resident_mib()
    command = f"head -c {80 * 1024 * 1024} /dev/zero"
    with trio.fail_after(60):
        result = await tool.execute(ToolCall("c", "bash", {"command": command, "timeout": 50}))
    assert "[truncated at 51200 bytes] (the first 64 MiB of the output: " in result.for_llm
    assert _resident_mib() - before < 50
    assert sum(log.stat().st_size for log in unconfined.tmp.iterdir()) < 66 * 1024 * 1024


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1024 / 1024


async def test_old_logs_make_room_for_new_ones(run: Run, unconfined: Sandbox) -> None:
    for number in range(20):
        log = unconfined.tmp / f"output-{number}.log"
        log.touch()
        os.utime(log, (number, number))
    await run("bash", command="seq 3000")
    names = sorted(os.listdir(unconfined.tmp))
    assert len(names) == 16
    assert "output-0.log" not in names
    assert "output-19.log" in names


async def test_a_log_that_cannot_be_written_costs_only_the_log(run: Run, unconfined: Sandbox) -> None:
    unconfined.tmp.rmdir()
    text = (await run("bash", command="seq 3000")).for_llm
    assert "[truncated at 2000 lines]\n\n[exit 0]" in text
    unconfined.tmp.mkdir()


async def test_a_huge_command_line_is_not_repeated_in_full(run: Run) -> None:
    text = (await run("bash", command=f"seq 3000; : {'x' * 100_000}")).for_llm
    assert len(text) < 20_000
    assert "[truncated at 2000 lines]" in text
    assert "[exit 0]" in text


async def test_a_timeout_kills_the_command_and_keeps_what_it_said(run: Run, root: Path) -> None:
    result = await run("bash", command="echo $$ > pid; echo begun; sleep 600", timeout=1)
    assert result.error is not None
    assert (result.error.kind, result.error.reason) == ("transient", "timed out after 1 s and was killed")
    assert "\n\nbegun\n\n[exit -1]  Took 1." in result.for_llm
    assert "s\n(timed out after 1 s and was killed)" in result.for_llm
    await gone(int((root / "pid").read_text()))


async def test_a_command_that_ignores_sigterm_is_killed_all_the_same(run: Run, root: Path, brief: None) -> None:
    command = "trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done"
    assert (await run("bash", command=command, timeout=1)).is_error
    await gone(int((root / "pid").read_text()))


async def test_children_left_in_the_background_neither_hold_the_call_nor_survive_it(run: Run, root: Path) -> None:
    result = await run("bash", command="sleep 600 & echo $! > pid; echo done")
    assert "\n\ndone\n\n[exit 0]" in result.for_llm
    await gone(int((root / "pid").read_text()))


async def test_a_child_that_left_the_group_does_not_hold_the_call(run: Run, root: Path) -> None:
    started = "while [ ! -s pid ]; do sleep 0.01; done"
    result = await run("bash", command=f"setsid sh -c 'echo $$ > pid; exec sleep 600' & {started}; echo done")
    assert "done\n\n[exit 0]" in result.for_llm
    # It still runs, or there would be nobody to kill.
    os.kill(int((root / "pid").read_text()), 9)


@asynccontextmanager
async def running(run: Run, **arguments: object) -> AsyncIterator[trio.CancelScope]:
    async with trio.open_nursery() as nursery:

        async def call() -> None:
            await run("bash", **arguments)

        nursery.start_soon(call)
        yield nursery.cancel_scope


async def test_cancelling_kills_the_whole_group_and_reaps_it(run: Run, root: Path) -> None:
    os.mkfifo(root / "pids")
    async with running(run, command="sleep 600 & echo $! $$ > pids; wait") as scope:
        pids = [int(pid) for pid in (await said(root / "pids")).split()]
        scope.cancel()
    for pid in pids:
        await gone(pid)
    assert reaped(pids[1])


async def test_cancelling_a_stubborn_flood_ends_with_the_grace_period(run: Run, root: Path, brief: None) -> None:
    os.mkfifo(root / "pid")
    async with running(run, command="trap '' TERM; echo $$ > pid; while :; do echo flood; done") as scope:
        pid = int(await said(root / "pid"))
        scope.cancel()
    await gone(pid)


async def test_a_command_that_cannot_start_is_a_failure_not_a_crash(unconfined: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await run_command(Command(["/no/such/program"], tmp_path, {}, 1), Capture(tmp_path))


async def test_many_commands_at_once_leave_no_descriptor_open(run: Run) -> None:
    before = len(os.listdir("/proc/self/fd"))
    async with trio.open_nursery() as nursery:

        async def one() -> None:
            assert "[exit 0]" in (await run("bash", command="seq 2500 | tail -1")).for_llm

        for _ in range(8):
            nursery.start_soon(one)
    assert len(os.listdir("/proc/self/fd")) <= before + 1
