"""A hook that fails and lets things through: whoever sits at the chat sees it, and so does whoever reads the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.control.client import call
from hookgate.hooks.stats import MOST_TOLD, Stats
from hookgate.protocol.events.payloads import HookFailed
from hookgate.protocol.hook.stages import Stage
from tests.cli.program import PROMPT, configured, open_pipes, open_terminal, run
from tests.model_server import calls, open_model_server, says

NOTE = 'guard: lets calls through when it fails; `on_failure = "deny"` refuses them'
TWO = '{"id": %d, "result": {"action": "deny_tool", "action": ""}}'
FAULTS = {
    "error": 'print(json.dumps({"id": message["id"], "error": {"code": 1, "message": "no licence"}}), flush=True)',
    "silence": "pass",
    "nonsense": 'print(json.dumps({"id": message["id"], "result": {"action": "dance"}}), flush=True)',
    "two answers": "print(TWO % message['id'], flush=True)",
    "death": 'sys.exit("out of luck")',
}
REASONS = {
    "error": "error 1: no licence",
    "silence": "no answer within 300 ms",
    "nonsense": "action 'dance' is not one of",
    "two answers": "its answer has the member 'action' twice",
    "death": "it exited with status 1",
}


def guard(folder: Path, fault: str, rest: str = "timeout_ms = 300") -> str:
    """It has that fault until there is a file `mended`."""
    (folder / "guard.py").write_text(
        "import json, os, sys\n"
        f"TWO = {TWO!r}\n"
        "for line in sys.stdin:\n"
        "    message = json.loads(line)\n"
        "    if 'id' not in message: continue\n"
        "    if message['method'] == 'hook.hello' or os.path.exists('mended'):\n"
        "        print(json.dumps({'id': message['id'], 'result': {'ok': True} if 'version' in message['params'] "
        "else {}}), flush=True)\n"
        f"    else:\n        {FAULTS[fault]}\n"
    )
    section = '[hooks.processes.guard]\ncommand = ["python3", "guard.py"]\ndir = "."\nintercept = ["before_tool"]\n'
    return f"{section}{rest}\n"


@pytest.mark.parametrize("fault", FAULTS)
async def test_the_chat_the_log_and_the_trace_say_what_was_let_through_and_why(tmp_path: Path, fault: str) -> None:
    replies = (calls(("1", "ls", "{}")), says("done"), calls(("2", "ls", "{}")), says("x"))
    async with open_model_server(*replies) as server:
        configured(tmp_path, server.base_url, guard(tmp_path, fault))
        plain = await run(tmp_path, "chat", "--once", "look")
        traced = await run(tmp_path, "chat", "--trace", "--once", "look")
    said, lines = plain.stderr.decode(), traced.stderr.decode()
    assert said.count(NOTE) == 1
    assert f"! guard failed at before_tool: {REASONS[fault]}" in said
    assert "; the call of ls was let through" in said
    logged = next(line for line in said.splitlines() if "hook_failed" in line)
    assert all(word in logged for word in ("warning", "guard", "before_tool", "the call of ls"))
    assert f"guard  FAILED: {REASONS[fault]}" in lines
    assert "-> continue: the call of ls was let through" in lines
    assert plain.stdout == b"done\n"


def over(rows: list[str], answer: str, prompt: str) -> bool:
    """Whether this answer stands there, and below all this prompt."""
    shown = [row.strip() for row in rows if row.strip()]
    return answer in shown and shown[-1] == prompt


async def test_the_prompt_and_the_lists_say_failing_until_it_succeeds_again(tmp_path: Path) -> None:
    replies = [it for n in range(3) for it in (calls((str(n), "ls", "{}")), says(f"done {n}"))]
    async with open_model_server(*replies) as server:
        configured(tmp_path, server.base_url, guard(tmp_path, "error"))
        socket = tmp_path / "control.sock"
        async with open_terminal(tmp_path, "chat", "--control", str(socket)) as screen:
            await screen.line("look")
            await screen.sees("! guard failed at before_tool: error 1: no licence; the call of ls was let through")
            # The prompt says so, before the answer or behind it.
            await screen.stands((50, 200), lambda rows: over(rows, "done 0", "[guard failing] >"))
            await screen.type("look\r")
            await screen.stands((50, 200), lambda rows: over(rows, "done 1", "[guard failing] >"))
            await screen.type("/hooks\r")
            await screen.sees("guard  failing  error 1: no licence (before_tool, 2 times)")
            [row] = [it for it in await _rows(socket) if it["name"] == "guard"]
            assert (row["state"], row["failures"], row["failing"]) == (
                *("up", 2),
                "error 1: no licence (before_tool, 2 times)",
            )
            (tmp_path / "mended").touch()
            await screen.type("look\r")
            await screen.stands((50, 200), lambda rows: over(rows, "done 2", ">"))
            await screen.type("/hooks\r")
            await screen.sees("guard  up")
        shown = screen.shown
    assert shown.count("! guard failed") == 2
    # The log stands on the same screen.
    assert "hook_failed" not in shown


async def test_each_other_thing_that_a_failing_hook_lets_through_is_told_at_once(tmp_path: Path) -> None:
    asked = (("1", "ls", "{}"), ("2", "ls", "{}"), ("3", "read", '{"path": "guard.py"}'), ("4", "ls", "{}"))
    async with open_model_server(*(calls(it) for it in asked), says("done")) as server:
        configured(tmp_path, server.base_url, guard(tmp_path, "error"))
        said = (await run(tmp_path, "chat", "--once", "look")).stderr.decode()
    passed = [line.partition("no licence; ")[2] for line in said.splitlines() if line.startswith("! guard failed")]
    # The second ls is in the count of what comes next.
    again = "the call of read was let through (2 failures since the last such line)"
    assert passed == ["the call of ls was let through", again, "the call of ls was let through"]
    assert said.count("hook_failed") == 3


async def test_what_was_counted_of_a_failing_hook_is_told_when_the_turn_ends(tmp_path: Path) -> None:
    asked = [calls((str(n), "ls", "{}")) for n in range(5)]
    async with open_model_server(*asked, says("done")) as server:
        configured(tmp_path, server.base_url, guard(tmp_path, "error"))
        said = (await run(tmp_path, "chat", "--once", "look")).stderr.decode().splitlines()
    line = "! guard failed at before_tool: error 1: no licence; the call of ls was let through"
    assert [it for it in said if it.startswith("! guard")] == [line, f"{line} (4 failures since the last such line)"]
    assert [it.partition("times=")[2] for it in said if "hook_failed" in it] == ["1", "4"]


def failure(tool: str, let_through: str | None = None) -> HookFailed:
    return HookFailed("guard", Stage.BEFORE_TOOL, f"no licence for {tool}", "continue", let_through)


def test_of_a_hook_that_fails_at_ever_other_tools_not_every_failure_is_a_line() -> None:
    stats = Stats()
    told = [stats.failed(failure(f"tool{n}"), f"tool{n}") for n in range(MOST_TOLD + 5)]
    assert told == [1] * MOST_TOLD + [0] * 5


def test_of_what_was_counted_one_that_let_something_through_is_told() -> None:
    stats = Stats()
    for one in (failure("ls"), failure("ls"), failure("read", "the call of read"), failure("ls")):
        stats.failed(one, "ls")
    counted = stats.counted()
    assert counted is not None
    assert (counted[0].let_through, counted[1]) == ("the call of read", 3)
    assert stats.counted() is None


async def test_a_hook_that_fails_closed_is_in_the_log_and_no_call_is_said_to_pass(tmp_path: Path) -> None:
    async with open_model_server(calls(("1", "ls", "{}")), says("done")) as server:
        configured(tmp_path, server.base_url, guard(tmp_path, "error", 'on_failure = "deny"'))
        async with open_pipes(tmp_path, "chat") as screen:
            await screen.line("look")
            await screen.sees(f"[guard failing] {PROMPT}")
        shown = screen.shown
    assert "hook_failed" in shown
    assert "let through" not in shown
    assert NOTE not in shown


@pytest.mark.parametrize("policy", ["deny", "abort"])
async def test_on_a_screen_what_becomes_of_a_hook_is_a_sentence_and_no_line_of_the_log(
    tmp_path: Path, policy: str
) -> None:
    async with open_model_server(calls(("1", "ls", "{}")), says("done")) as server:
        configured(tmp_path, server.base_url, guard(tmp_path, "death", f'on_failure = "{policy}"'))
        async with open_terminal(tmp_path, "chat", "--once", "look") as screen:
            await screen.sees(f"! guard failed at before_tool: it exited with status 1; policy: {policy}")
            await screen.sees(
                "! guard is restarting: it exited with status 1 (stderr: out of luck); it is started again"
            )
            assert await screen.ends() == int(policy == "abort")
    assert not {"hook_failed", "hook_down"} & {*screen.shown.split()}
    told = "hook guard failed at before_tool: it exited with status 1; the turn ends"
    assert (told in screen.shown, "aborted" in screen.shown) == (policy == "abort", False)


async def test_the_start_of_a_chat_names_a_guard_that_is_configured_to_stand_where_it_is_not_asked(
    tmp_path: Path,
) -> None:
    told = "it leaves out before_tool, where it is configured to stand"
    async with open_model_server(says("done"), says("done")) as server:
        configured(tmp_path, server.base_url, guard(tmp_path, "error"))
        file = tmp_path / "guard.py"
        file.write_text(file.read_text().replace("{'ok': True}", "{'stages': []}"))
        async with open_terminal(tmp_path, "chat", "--once", "look") as screen:
            await screen.sees(f"! guard: {told}")
            assert await screen.ends() == 0
        piped = await run(tmp_path, "chat", "--once", "look")
    line = next(line for line in piped.stderr.decode().splitlines() if told in line)
    assert all(word in line for word in ("warning", "hook_declines_stages", "hook=guard"))


async def test_a_program_that_is_missing_is_told_once_for_its_key_and_once_for_its_hook(tmp_path: Path) -> None:
    section = '[hooks.processes.guard]\ncommand = ["./gone"]\nobserve = ["*"]\n'
    async with open_terminal(configured(tmp_path, "http://127.0.0.1:9/v1", section), "chat", size=(24, 80)) as screen:
        await screen.sees("! hooks.processes.guard.command: './gone' cannot be found")
        await screen.sees("! hook guard is ")
        await screen.line("/quit")
        assert await screen.ends() == 0
    assert screen.shown.count("guard is restarting: ") <= 1
    assert not {"configured_but_missing", "hook_down"} & {*screen.shown.split()}


@pytest.mark.parametrize(
    ("section", "what"),
    [
        ('command = ["python3", "gone.py"]\n', "command: 'gone.py' is not there"),
        ('command = ["cat"]\n[hooks.processes.guard.match]\ntools = ["reed"]\n', "match.tools: 'reed' "),
    ],
)
async def test_a_log_says_of_what_is_configured_and_not_there_that_it_is_missing(
    tmp_path: Path, section: str, what: str
) -> None:
    async with open_model_server(says("done")) as server:
        configured(tmp_path, server.base_url, f'[hooks.processes.guard]\nobserve = ["*"]\n{section}')
        ended = await run(tmp_path, "chat", "--once", "look")
    (line,) = (it for it in ended.stderr.decode().splitlines() if f"hooks.processes.guard.{what}" in it)
    assert all(word in line for word in ("warning", "configured_but_missing"))


async def _rows(socket: Path) -> list[dict[str, Any]]:
    with trio.fail_after(20):
        return json.loads(json.dumps(await trio.to_thread.run_sync(call, socket, "hooks.list", {})))
