"""Claude Code's commands as a hook: a real adapter process, real commands, asked as the gate asks."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.wire import Child, ErrorReply, open_child

HELLO = {"name": "claude", "version": 1, "stages": ["on_message", "before_tool", "approve_tool", "after_tool"]}
Groups = Mapping[str, list[dict[str, Any]]]


def group(command: str, matcher: str = "", **more: object) -> dict[str, Any]:
    return {"matcher": matcher, "hooks": [{"type": "command", "command": command, **more}]}


def printing(**members: object) -> str:
    return f"echo '{json.dumps(members)}'"


def deciding(**members: object) -> str:
    return printing(hookSpecificOutput={"hookEventName": "PreToolUse", **members})


@asynccontextmanager
async def adapter(folder: Path, hooks: Groups, **more: str) -> AsyncGenerator[Child]:
    """One that has said hello. Its commands run in `folder`. `more`: what it is told in its hello besides."""
    (folder / "settings.json").write_text(json.dumps({"hooks": hooks}))
    command = ["env", "-C", str(folder), sys.executable, "-P", "-m", "hookgate.claude", "settings.json"]
    async with open_child(command, {"CLAUDE_PROJECT_DIR": str(folder)}) as child:
        assert (await child.call("hook.hello", {**HELLO, **more}))["stages"] == HELLO["stages"]
        yield child


def params(tool: str = "bash", call: str = "c1", **arguments: object) -> dict[str, Any]:
    meta = {"SessionKey": "cli:terminal", "TurnID": "main-turn-1"}
    return {"meta": meta, "tool": tool, "arguments": arguments or {"command": "ls"}, "tool_call_id": call}


async def before(folder: Path, command: str, tool: str = "bash", **arguments: object) -> Any:
    async with adapter(folder, {"PreToolUse": [group(command)]}) as child:
        return await child.call("hook.before_tool", params(tool, **arguments))


# --- before a tool ------------------------------------------------------------------------------------------


SAYS = (
    ("true", {"action": "continue"}),
    ("echo not JSON", {"action": "continue"}),
    ("echo no >&2; exit 2", {"action": "deny_tool", "reason": "no"}),
    (deciding(permissionDecision="allow"), {"action": "continue"}),
    (
        deciding(permissionDecision="deny", permissionDecisionReason="not here"),
        {"action": "deny_tool", "reason": "not here"},
    ),
    (printing(decision="block", reason="old words"), {"action": "deny_tool", "reason": "old words"}),
    (
        printing(decision="block", reason="r", hookSpecificOutput={"permissionDecision": None}),
        {"action": "deny_tool", "reason": "r"},
    ),
    (
        f"printf '\\357\\273\\277'; {printing(decision='block', reason='r')}",
        {"action": "deny_tool", "reason": "r"},
    ),
    # Whoever prints may end after the shell has.
    (f"({{ sleep 0.3; {printing(decision='block', reason='r')}; }} &)", {"action": "deny_tool", "reason": "r"}),
    (printing(**{"continue": False, "stopReason": "enough"}), {"action": "abort_turn", "reason": "enough"}),
    (
        deciding(permissionDecision="allow", updatedInput={"command": "ls -l", "timeout": 5000}),
        {"action": "modify", "call": {"arguments": {"command": "ls -l", "timeout": 5.0}}},
    ),
)


async def test_what_a_command_says_of_a_call(tmp_path: Path) -> None:
    """Each of them of the calls of a tool; the last one's arguments have other names there."""
    tools = [*(f"tool{number}" for number in range(len(SAYS) - 1)), "bash"]
    groups = [group(command, tool.replace("bash", "Bash")) for tool, (command, _) in zip(tools, SAYS, strict=True)]
    async with adapter(tmp_path, {"PreToolUse": groups}) as child:
        for tool, (command, answer) in zip(tools, SAYS, strict=True):
            assert await child.call("hook.before_tool", params(tool)) == answer, command


FAILS: tuple[tuple[str, Mapping[str, Any], str], ...] = (
    ("echo broke >&2; exit 1", {}, "ended with status 1: broke"),
    ("no-such-program", {}, "ended with status 127"),
    ("kill -9 $$", {}, "was ended by signal 9"),
    ("sleep 600", {"timeout": 0.3}, "gave no answer within 0.3 s"),
    ("echo '{\"decision\": '", {}, "printed what begins as JSON and is none"),
    (
        f"echo checking; {deciding(permissionDecision='deny')}",
        {},
        "printed a decision among what is no JSON object",
    ),
    ('echo \'[{"decision": "block"}]\'', {}, "printed a decision among what is no JSON object"),
    ("sleep 600 & echo {}", {"timeout": 0.5}, "ended, but what it has started held its output open for 0.5 s"),
    ("head -c 1048577 /dev/zero", {}, "printed more than 1048576 bytes"),
    (printing(permissionDecision="deny"), {}, "gives a permissionDecision outside of hookSpecificOutput"),
    ('echo \'{"decision": "block", "decision": "approve"}\'', {}, "with the member 'decision' twice"),
    (deciding(permissionDecision="maybe"), {}, "decides 'maybe', which means nothing here"),
)


async def test_a_command_that_fails_fails_the_hook_so_that_its_policy_decides(tmp_path: Path) -> None:
    groups = [group(command, f"tool{number}", **more) for number, (command, more, _) in enumerate(FAILS)]
    async with adapter(tmp_path, {"PreToolUse": groups}) as child:
        for number, (command, _, why) in enumerate(FAILS):
            with pytest.raises(ErrorReply) as failed:
                await child.call("hook.before_tool", params(f"tool{number}"))
            assert why in failed.value.message, command
            assert failed.value.code == -32000


async def test_a_command_reads_the_call_in_the_words_that_it_knows(tmp_path: Path) -> None:
    edits = [{"oldText": "a", "newText": "b"}, {"oldText": "c", "newText": "d"}]
    await before(tmp_path, "cat > given.json", "edit", path="src/x.py", edits=edits)
    given = json.loads((tmp_path / "given.json").read_text())
    assert {name: given[name] for name in ("session_id", "hook_event_name", "tool_name", "tool_use_id", "cwd")} == {
        "session_id": "cli:terminal",
        "hook_event_name": "PreToolUse",
        "tool_name": "Edit",
        "tool_use_id": "c1",
        "cwd": str(tmp_path),
    }
    assert given["tool_input"]["file_path"] == str(tmp_path / "src/x.py")
    assert (given["tool_input"]["old_string"], given["tool_input"]["new_string"]) == ("a\nc", "b\nd")


async def test_a_path_counts_from_the_workspace_wherever_the_commands_run(tmp_path: Path) -> None:
    """Else a guard of files judges another file than the one that is written."""
    hooks = {"PreToolUse": [group("cat > given.json")]}
    async with adapter(tmp_path, hooks, workspace="/work") as child:
        await child.call("hook.before_tool", params("write", path="src/x.py"))
    given = json.loads((tmp_path / "given.json").read_text())
    assert (given["cwd"], given["tool_input"]["file_path"]) == ("/work", "/work/src/x.py")


async def test_a_way_up_behind_a_link_is_the_one_that_the_tool_goes(tmp_path: Path) -> None:
    (tmp_path / "kept/deep").mkdir(parents=True)
    (tmp_path / "src").symlink_to(tmp_path / "kept/deep")
    for path, told in (("src/../key", "kept/key"), ("src/./key", "src/key"), ("a/../key", "key"), ("..\0", "..\0")):
        await before(tmp_path, "cat > given.json", "write", path=path)
        given = json.loads((tmp_path / "given.json").read_text())
        assert given["tool_input"]["file_path"] == str(tmp_path / told), path


async def test_a_program_with_its_arguments_gets_them_as_they_are(tmp_path: Path) -> None:
    script = tmp_path / "look at.sh"
    script.write_text('printf "%s\n" "$@" >&2; exit 2')
    given = ("$HOME `id` *", "it's", "", "x; exit 0", "${CLAUDE_PROJECT_DIR}/a b")
    hook = group("sh", args=["${CLAUDE_PROJECT_DIR}/look at.sh", *given])
    async with adapter(tmp_path, {"PreToolUse": [hook]}) as child:
        answer = await child.call("hook.before_tool", params())
    assert answer["reason"].splitlines() == [*given[:-1], f"{tmp_path}/a b"]


MATCHERS = (
    *("Bash", "Ba", "Edit|Write", "Edit | Write ", "Write, Read", "MultiEdit", "mcp__.*__find", "(Ba){1,2}sh"),
    *("Web.*", "*", "weather"),
)


async def test_matchers_are_those_of_the_other_names(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    groups = [group(f"echo '{matcher}' >> ran", matcher) for matcher in MATCHERS]
    async with adapter(tmp_path, {"PreToolUse": groups}) as child:
        for tool, meant in (
            ("bash", {"Bash", "(Ba){1,2}sh", "*"}),
            ("read", {"Write, Read", "*"}),
            ("write", {"Edit|Write", "Edit | Write ", "Write, Read", "*"}),
            ("edit", {"Edit|Write", "Edit | Write ", "MultiEdit", "*"}),
            ("docs__find", {"mcp__.*__find", "*"}),
            ("web_fetch", {"Web.*", "*"}),
            ("weather", {"*", "weather"}),
        ):
            ran.write_text("")
            await child.call("hook.before_tool", params(tool, path="x"))
            assert sorted(ran.read_text().splitlines()) == sorted(meant), tool


async def test_a_matcher_is_looked_at_only_where_there_is_something_to_match(tmp_path: Path) -> None:
    async with adapter(tmp_path, {"UserPromptSubmit": [group("exit 2", "Bash")]}) as child:
        answer = await child.call("hook.on_message", {"meta": {}, "message": {"text": "hello"}})
        assert answer["action"] == "drop"


async def test_a_command_that_nobody_waits_for_elsewhere_is_waited_for_where_it_says_so(tmp_path: Path) -> None:
    groups = [group("exit 2", "Bash"), group("exit 2", **{"async": True})]
    async with adapter(tmp_path, {"PreToolUse": groups}) as child:
        assert (await child.call("hook.before_tool", params()))["action"] == "deny_tool"


async def test_a_person_is_asked_where_a_command_says_ask_and_others_are_approved(tmp_path: Path) -> None:
    ask = deciding(permissionDecision="ask", permissionDecisionReason="Sure?")
    hooks = {"PreToolUse": [group(f"grep -q push && {ask} || true")]}
    async with adapter(tmp_path, hooks) as child:
        for call, command, approval in (
            ("1", "git push", {"ask": {"title": "Sure?"}}),
            ("2", "ls", {"approved": True}),
        ):
            assert await child.call("hook.before_tool", params(call=call, command=command)) == {"action": "continue"}
            assert await child.call("hook.approve_tool", params(call=call, command=command)) == approval


async def test_a_call_that_others_have_changed_since_is_judged_again(tmp_path: Path) -> None:
    async with adapter(tmp_path, {"PreToolUse": [group("grep -q shred && exit 2 || true")]}) as child:
        assert (await child.call("hook.before_tool", params(command="ls")))["action"] == "continue"
        assert (await child.call("hook.approve_tool", params(command="shred x")))["approved"] is False


# --- the other events ---------------------------------------------------------------------------------------


async def test_words_after_a_tool_are_added_to_what_the_model_reads(tmp_path: Path) -> None:
    hooks = {
        "PostToolUse": [group("echo 'lint: line 3' >&2; exit 2", "Bash"), group("exit 1", "Read")],
        "PostToolUseFailure": [group(printing(hookSpecificOutput={"additionalContext": "try sudo"}))],
    }
    result = {"for_llm": "done", "is_error": False}
    async with adapter(tmp_path, hooks) as child:
        answer = await child.call("hook.after_tool", {**params(), "result": result})
        assert answer == {"action": "modify", "result": {"for_llm": "done\n\nlint: line 3"}}
        with pytest.raises(ErrorReply, match="status 1"):
            await child.call("hook.after_tool", {**params("read"), "result": result})
        answer = await child.call("hook.after_tool", {**params(), "result": {"for_llm": "no", "is_error": True}})
        assert answer["result"]["for_llm"] == "no\n\ntry sudo"


async def test_a_message_is_dropped_or_gets_what_a_command_prints(tmp_path: Path) -> None:
    hooks = {"UserPromptSubmit": [group("grep -q secret && { echo not that >&2; exit 2; }; date -u +%Z")]}
    async with adapter(tmp_path, hooks) as child:
        answer = await child.call("hook.on_message", {"meta": {}, "message": {"text": "my secret"}})
        assert answer == {"action": "drop", "reason": "not that"}
        answer = await child.call("hook.on_message", {"meta": {}, "message": {"text": "hello"}})
        assert answer == {"action": "modify", "message": {"text": "hello\n\nUTC"}}


async def test_commands_at_the_end_of_a_turn_run_and_what_has_no_effect_is_said(tmp_path: Path) -> None:
    hooks = {"Stop": [group("echo go on >&2; exit 2")], "SubagentStop": [group("touch below")], "SessionStart": []}
    async with adapter(tmp_path, hooks) as child:
        await child.send("hook.event", {"Kind": "turn_end", "Meta": {"ParentTurnID": ""}, "Payload": {}})
        await child.wait_stderr("wants to block, without effect: go on")
        assert "hooks.SessionStart: left out, nothing here is like it" in child.stderr
    assert not (tmp_path / "below").exists()


async def test_what_is_not_carried_over_is_one_line_at_each_start(tmp_path: Path) -> None:
    hooks = {"SessionStart": [], "PreCompact": [], "PreTooluse": [], "Stop": [group("true", once=True)]}
    async with adapter(tmp_path, hooks) as child:
        await child.wait_stderr("says why\n")
        places = "hooks.SessionStart, hooks.PreCompact, hooks.PreTooluse, hooks.Stop[0].hooks[0].once"
        assert child.stderr == f"not carried over: {places}; `hookgate migrate claude` says why\n"


async def test_what_is_told_last_has_its_time_once_stdin_has_ended_and_what_is_cut_off_is_said(
    tmp_path: Path,
) -> None:
    hooks = {"Stop": [group("sleep 0.2; touch told"), group("sleep 600")]}
    async with adapter(tmp_path, hooks) as child:
        await child.send("hook.event", {"Kind": "turn_end", "Meta": {}, "Payload": {}})
        await child.close_stdin()
        assert await child.wait_exit() == 0
        assert "<4>Stop: 'sleep 600' was cut off: hookgate ends\n" in child.stderr
        assert "touch told" not in child.stderr
    assert (tmp_path / "told").exists()


async def test_a_person_that_is_asked_is_a_notification_and_nobody_waits_for_what_is_asynchronous(
    tmp_path: Path,
) -> None:
    hooks = {
        "Notification": [group("cat > t; mv t told", "permission_prompt"), group("touch x", "idle_prompt")],
        "PreToolUse": [group("echo late >&2; exit 2", **{"async": True})],
    }  # fmt: skip
    async with adapter(tmp_path, hooks) as child:
        asked = {"tool": "bash", "title": "Sure?"}
        await child.send("hook.event", {"Kind": "approval_requested", "Meta": {}, "Payload": asked})
        assert await child.call("hook.before_tool", params()) == {"action": "continue"}
        await child.wait_stderr("wants to block, without effect: late")
        with trio.fail_after(30):
            while not await trio.Path(tmp_path / "told").exists():
                await trio.sleep(0.01)
    given = json.loads((tmp_path / "told").read_text())
    assert (given["hook_event_name"], given["message"]) == ("Notification", "A person is asked about bash: Sure?")
    assert not (tmp_path / "x").exists()


# --- how it dies --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["stdin", "SIGTERM", "SIGKILL", "cancel"])
async def test_no_command_outlives_the_adapter_or_the_call(tmp_path: Path, end: str) -> None:
    async with adapter(tmp_path, {"PreToolUse": [group("sleep 600 & echo $! $$ > pids; wait")]}) as child:
        await child.send("hook.before_tool", params(), id=77)
        with trio.fail_after(30):
            while not (pids := tmp_path / "pids").exists() or not pids.read_text().endswith("\n"):
                await trio.sleep(0.01)
            match end:
                case "stdin":
                    await child.close_stdin()
                    assert await child.wait_exit() == 0
                case "SIGTERM":
                    child.process.send_signal(signal.SIGTERM)
                    assert await child.wait_exit() == 0
                case "SIGKILL":
                    child.process.kill()
                case _:
                    await child.send("hook.cancel", {"id": 77})
                    assert json.loads(await child.read_line())["error"]["message"] == "it was cancelled"
            while not all(map(has_ended, pids.read_text().split())):
                await trio.sleep(0.01)


def has_ended(pid: str) -> bool:
    """A zombie has, whoever has to reap it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
    except OSError:
        return True


async def test_settings_that_cannot_be_read_keep_it_from_coming_up(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"hooks": ')
    command = [sys.executable, "-P", "-m", "hookgate.claude", os.fspath(tmp_path / "settings.json")]
    async with open_child(command) as child:
        assert await child.wait_exit() == 1
        assert "settings.json: is not JSON: " in child.stderr
