"""`hooks record`, `hooks replay`: what hooks were asked is kept, asked again, and a looser policy does not pass."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import trio

from tests.cli.program import configured, hook, open_pipes, run
from tests.model_server import calls, open_model_server, says
from tests.serve import gateway
from tests.serve.started import says as message
from tests.serve.started import serving

CHILD = Path(__file__).parents[2] / "children" / "hook.py"
DENIED = {"action": "deny_tool", "reason": "no"}
ABORTED = {"action": "abort_turn", "reason": "no"}
CONTINUE = {"action": "continue"}
RESPOND = {"action": "respond", "result": {"for_llm": "tea"}}
RESPOND_ERROR = {"action": "respond", "result": {"for_llm": "no tea", "is_error": True}}


def call(answer: Mapping[str, Any], hook: str = "guard", **arguments: object) -> str:
    """A line of a recording: what was asked at before_tool, and what was said."""
    params = {
        "meta": {},
        "tool": "bash",
        "arguments": arguments,
        "tool_call_id": "c",
        "channel": "cli",
        "chat_id": "1",
    }
    payload = {"hook": hook, "stage": "before_tool", "params": params, "answer": answer, "duration_ns": 1}
    return json.dumps({"kind": "stage_call", "time": "", "meta": {}, "payload": payload})


async def replayed(folder: Path, lines: list[str], *options: str) -> CompletedProcess[bytes]:
    """By the child that does what the arguments say, else continues."""
    (folder / "calls.jsonl").write_text("\n".join(lines) + "\n")
    return await run(folder, "hooks", "replay", "calls.jsonl", *options, "--", sys.executable, str(CHILD))


# --- record -------------------------------------------------------------------------------------------------


async def test_an_event_file_becomes_a_recording_that_a_looser_version_does_not_pass(tmp_path: Path) -> None:
    guard = hook(tmp_path, "guard", 'intercept = ["before_tool"]\non_failure = "deny"')
    wanted = calls(("1", "bash", '{"command": "rm -rf /x"}'), ("2", "bash", '{"command": "echo hello"}'))
    async with open_model_server(wanted, says("No.")) as server:
        folder = configured(tmp_path, server.base_url, guard)
        assert (await run(folder, "chat", "--once", "go", "--events", "events.jsonl")).returncode == 0
    ended = await run(folder, "hooks", "record", "guard.jsonl", "--from", "events.jsonl")
    assert (ended.returncode, ended.stdout) == (0, b"2 calls in guard.jsonl.\n")
    assert stat.S_IMODE((folder / "guard.jsonl").stat().st_mode) == 0o600
    again = await run(folder, "hooks", "record", "guard.jsonl", "--from", "events.jsonl")
    assert (again.returncode, again.stderr) == (2, b"hookgate: guard.jsonl: there is such a file already\n")

    same = await run(folder, "hooks", "replay", "guard.jsonl", "guard")
    assert (same.returncode, same.stdout) == (0, b"2 calls of guard asked again, none answered differently.\n")
    looser = ("--env", "GUARD_PATTERNS=shred", "--", sys.executable, str(folder / "guard.py"))
    passed = await run(folder, "hooks", "replay", "guard.jsonl", *looser)
    shown = passed.stdout.decode()
    assert (
        "guard.jsonl:1: NOW ALLOWED  before_tool bash: denied ('rm -rf /x' is not allowed here) -> allowed" in shown
    )
    assert '{"command":"rm -rf /x"}' in shown
    assert passed.returncode == 1


async def test_a_running_gateway_is_recorded_until_it_is_interrupted_with_secrets_replaced(tmp_path: Path) -> None:
    watch = f'[hooks.processes.watch]\ncommand = ["{sys.executable}", "{CHILD}"]\n'
    watch += 'intercept = ["before_tool", "after_tool"]\n'
    script = {"steps": [{"calls": [{"name": "ls", "arguments": {"path": "ghp_" + "a1B2" * 9}}]}, {"text": "ok"}]}
    settings = gateway.configured(tmp_path, f'[channels.web]\nkind = "web"\n{watch}', json.dumps(script))
    assert settings.file is not None
    settings.file.write_text(settings.file.read_text().replace("[control]\nenabled = false\n", ""))
    async with serving(tmp_path) as (process, client), open_pipes(tmp_path, "hooks", "record", "c.jsonl") as recorder:
        await recorder.sees("Ctrl-C ends it")
        mistyped = await run(tmp_path, "hooks", "record", "d.jsonl", "--hook", "wach")
        assert b"hookgate: there is no hook 'wach' (did you mean 'watch'?) (there are: " in mistyped.stderr
        assert (mistyped.returncode, (tmp_path / "d.jsonl").exists()) == (2, False)
        await client.post("/api/chats/c/messages", json=message("list"))
        with trio.fail_after(60):
            while (tmp_path / "c.jsonl").read_bytes().count(b"\n") < 2:
                await trio.sleep(0.02)
        recorder.process.send_signal(signal.SIGINT)
        await recorder.sees("2 calls in c.jsonl.")
        assert await recorder.ends() == 0
        process.terminate()
    kept = [json.loads(line)["payload"] for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert [(it["stage"], it["answer"]) for it in kept] == [("before_tool", CONTINUE), ("after_tool", CONTINUE)]
    assert kept[0]["params"]["arguments"]["path"].startswith("[REDACTED:")
    assert "deadline_ms" not in kept[0]["params"]
    assert "In 2 of them marks" in recorder.shown


async def test_a_gateway_that_goes_away_leaves_no_recording_of_nothing(tmp_path: Path) -> None:
    settings = gateway.configured(tmp_path, '[channels.web]\nkind = "web"\n')
    assert settings.file is not None
    settings.file.write_text(settings.file.read_text().replace("[control]\nenabled = false\n", ""))
    async with serving(tmp_path) as (process, _), open_pipes(tmp_path, "hooks", "record", "c.jsonl") as recorder:
        await recorder.sees("Ctrl-C ends it")
        process.terminate()
        await recorder.sees("hookgate: the gateway answers no more: ")
        await recorder.sees("No call came: there is no c.jsonl.")
        assert await recorder.ends() == 1
    assert not (tmp_path / "c.jsonl").exists()


async def test_a_recording_that_is_ended_before_any_call_is_not_in_the_way_of_the_next(tmp_path: Path) -> None:
    settings = gateway.configured(tmp_path, '[channels.web]\nkind = "web"\n')
    assert settings.file is not None
    settings.file.write_text(settings.file.read_text().replace("[control]\nenabled = false\n", ""))
    async with serving(tmp_path) as (process, _):
        for _ in range(2):
            async with open_pipes(tmp_path, "hooks", "record", "c.jsonl") as recorder:
                await recorder.sees("Ctrl-C ends it")
                recorder.process.send_signal(signal.SIGINT)
                await recorder.sees("No call came: there is no c.jsonl.")
                assert await recorder.ends() == 0
            assert not (tmp_path / "c.jsonl").exists()
        process.terminate()


# --- replay -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "now", "looser", "words"),
    [
        (DENIED, CONTINUE, True, "NOW ALLOWED  before_tool bash: denied (no) -> allowed"),
        (DENIED, RESPOND, True, "NOW ANSWERED  before_tool bash: denied (no) -> answered"),
        ({"action": "ask", "ask": {}}, CONTINUE, True, "NOW ALLOWED  before_tool bash: asked"),
        (CONTINUE, DENIED, False, "before_tool bash: allowed -> denied (no)"),
        (DENIED, ABORTED, False, "before_tool bash: denied (no) -> denied by abort_turn (no)"),
        (ABORTED, DENIED, False, "before_tool bash: denied by abort_turn (no) -> denied (no)"),
        (ABORTED, CONTINUE, True, "NOW ALLOWED  before_tool bash: denied by abort_turn (no) -> allowed"),
        (CONTINUE, RESPOND, False, "allowed -> answered"),
        (RESPOND_ERROR, RESPOND, False, "answered"),
        (DENIED, RESPOND_ERROR, False, "denied (no) -> answered"),
        (RESPOND_ERROR, CONTINUE, True, "NOW ALLOWED  before_tool bash: answered"),
        (RESPOND, CONTINUE, True, "NOW ALLOWED  before_tool bash: answered"),
        ({"action": "modify", "changes": {"tool": "bash"}}, CONTINUE, False, ""),
        ({"action": "modify", "changes": {"tool": "ls"}}, CONTINUE, False, 'changed {"tool":"ls"} -> allowed'),
    ],
)
async def test_only_what_was_held_and_goes_on_now_ends_with_1(
    tmp_path: Path, before: Mapping[str, Any], now: Mapping[str, Any], looser: bool, words: str
) -> None:
    lines = [call(before, do="answer", result=now)]
    loose = await replayed(tmp_path, lines)
    strict = await replayed(tmp_path, lines, "--strict", "--json")
    assert (loose.returncode, strict.returncode) == (int(looser), int(bool(words)))
    assert words in loose.stdout.decode()
    *differences, tally = map(json.loads, strict.stdout.splitlines())
    assert (tally["looser"], tally["different"], len(differences)) == (int(looser), *(2 * [int(bool(words))]))


async def test_a_program_may_name_stages_and_bring_tools_that_nothing_recorded_is_about(tmp_path: Path) -> None:
    (tmp_path / "calls.jsonl").write_text(call(CONTINUE) + "\n")
    tool = {"type": "function", "function": {"name": "ticket", "parameters": {"type": "object"}}}
    for hello, kept in (
        ({"stages": ["before_tool", "approve_tool"], "tools": [tool]}, "1 call of guard asked again, none"),
        ({"stages": ["approve_tool"]}, "1 call of guard asked again, none"),
    ):
        program = ("--", sys.executable, str(CHILD), "plain", json.dumps(hello))
        ended = await run(tmp_path, "hooks", "replay", "calls.jsonl", *program)
        assert (ended.returncode, kept in ended.stdout.decode()) == (0, True), ended
    (tmp_path / "calls.jsonl").write_text(call(DENIED) + "\n")
    ended = await run(tmp_path, "hooks", "replay", "calls.jsonl", *program)
    assert "denied (no) -> allowed, since it is not asked: it does not name before_tool" in ended.stdout.decode()
    assert ended.returncode == 1


async def test_a_message_that_a_hook_answered_and_that_reaches_the_model_now_ends_with_1(tmp_path: Path) -> None:
    """That is how a hook says no to people: the office is closed, the budget is spent."""
    message = {"text": "hello", "media": [], "kind": "message"}
    params = {"meta": {}, "message": message, "channel": "cli", "chat_id": "1"}
    answer = {"action": "respond", "reply": {"text": "We are closed.", "media": []}}
    payload = {"hook": "hours", "stage": "on_message", "params": params, "answer": answer, "duration_ns": 1}
    line = json.dumps({"kind": "stage_call", "time": "", "meta": {}, "payload": payload})
    (tmp_path / "calls.jsonl").write_text(line + "\n")
    program = ("--", sys.executable, str(CHILD), "plain", json.dumps({"stages": ["on_message"]}))
    ended = await run(tmp_path, "hooks", "replay", "calls.jsonl", *program)
    assert (ended.returncode, b"NOW ALLOWED  on_message: answered" in ended.stdout) == (1, True), ended


SCANNER = """
import json, pathlib, sys
for line in sys.stdin:
    call = json.loads(line)
    if call["method"] == "hook.hello":
        files, result = pathlib.Path(call["params"]["media_dir"]), {"stages": ["on_message"]}
    else:
        [medium] = call["params"]["message"]["media"]
        hash_ = medium.split(":")[2]
        bad = b"virus" in (files / hash_[:2] / hash_).read_bytes()
        result = {"action": "drop", "reason": "a virus"} if bad else {"action": "continue"}
    if "id" in call:
        print(json.dumps({"id": call["id"], "result": result}), flush=True)
"""


async def test_a_program_reads_the_files_of_messages_that_were_recorded_where_it_is_tried(tmp_path: Path) -> None:
    content = b"a virus"
    hash_ = sha256(content).hexdigest()
    file = tmp_path / "journal.media" / hash_[:2] / hash_
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    (tmp_path / "scanner.py").write_text(SCANNER)
    (tmp_path / "hookgate.toml").write_text('[store]\njournal = "journal.db"\n')
    message = {"text": "", "media": [f"media:text/plain:{hash_}:x.txt"], "kind": "message"}
    params = {"meta": {}, "message": message, "channel": "cli", "chat_id": "1"}
    answer = {"action": "drop", "reason": "a virus"}
    payload = {"hook": "scan", "stage": "on_message", "params": params, "answer": answer, "duration_ns": 1}
    line = json.dumps({"kind": "stage_call", "time": "", "meta": {}, "payload": payload})
    (tmp_path / "calls.jsonl").write_text(line + "\n")
    ended = await run(tmp_path, "hooks", "replay", "calls.jsonl", "--", sys.executable, "scanner.py")
    assert (ended.returncode, ended.stdout) == (0, b"1 call of scan asked again, none answered differently.\n"), ended


@pytest.mark.parametrize("mode", ["audit", "off"])
async def test_a_hook_whose_answers_count_no_more_lets_pass_what_it_held(tmp_path: Path, mode: str) -> None:
    said = {"action": "deny_tool", "reason": "no"}
    held = call(said, do="answer", result=said)
    watched = json.loads(held)
    watched["payload"]["audit"] = True
    command = json.dumps([sys.executable, str(CHILD)])
    hooks = f'intercept = ["before_tool"]\nmode = "{mode}"\ncommand = {command}'
    (tmp_path / "hookgate.toml").write_text(f"[hooks.processes.guard]\n{hooks}\n")
    (tmp_path / "held.jsonl").write_text(held + "\n")
    (tmp_path / "watched.jsonl").write_text(json.dumps(watched) + "\n")
    ended = await run(tmp_path, "hooks", "replay", "held.jsonl", "guard")
    assert f'denied (no) -> allowed, since it is not asked: its mode is "{mode}"' in ended.stdout.decode()
    assert ended.returncode == 1
    same = await run(tmp_path, "hooks", "replay", "watched.jsonl", "guard")
    assert (same.returncode, same.stdout) == (0, b"1 call of guard asked again, none answered differently.\n")


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (CONTINUE, CONTINUE, "none answered differently"),
        (RESPOND, CONTINUE, '{"result":{"for_llm":"tea"}} -> unanswered\n'),
        (
            DENIED,
            CONTINUE,
            "NOT HELD  before_tool ticket: denied (no) -> unanswered, or run where the tool is not its",
        ),
        (
            DENIED,
            {"action": "allow"},
            "NOT HELD  before_tool ticket: denied (no) -> unanswered, or run where the tool is not its own, "
            "since it gave no usable answer: ",
        ),
        (CONTINUE, RESPOND, "before_tool ticket: unanswered -> answered"),
    ],
)
async def test_the_call_of_a_tool_of_its_own_may_be_unanswered_but_not_be_held_no_more(
    tmp_path: Path, before: Mapping[str, Any], now: Mapping[str, Any], words: str
) -> None:
    """The recording does not say whether another hook's tool of this name would run."""
    tool = {"type": "function", "function": {"name": "ticket", "parameters": {"type": "object"}}}
    asked = call(before, do="answer", result=now).replace('"bash"', '"ticket"')
    (tmp_path / "calls.jsonl").write_text(asked + "\n")
    program = (sys.executable, str(CHILD), "plain", json.dumps({"stages": ["before_tool"], "tools": [tool]}))
    ended = await run(tmp_path, "hooks", "replay", "calls.jsonl", "--", *program)
    assert (ended.returncode, words in ended.stdout.decode()) == (int("NOT HELD" in words), True), ended


async def test_a_tool_of_hookgate_s_own_stands_before_one_that_a_hook_declares_under_its_name(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
    hello = json.dumps({"stages": ["before_tool"], "tools": [tool]})
    (tmp_path / "calls.jsonl").write_text(call(DENIED) + "\n")
    program = ("--", sys.executable, str(CHILD), "plain", hello)
    ended = await run(tmp_path, "hooks", "replay", "calls.jsonl", *program)
    assert (ended.returncode, b"NOW ALLOWED  before_tool bash: denied (no) -> allowed" in ended.stdout) == (1, True)
    tried = await run(tmp_path, "hooks", "try", "--tool", "bash", "--args", '{"command": "ls"}', *program)
    assert (tried.returncode, b"unanswered" in tried.stdout) == (0, False), tried
    checked = json.loads((await run(tmp_path, "hooks", "check", "--json", *program)).stdout)["checks"]
    [found] = [it for it in checked if it["check"] == "owned tools"]
    assert (found["verdict"], found["what"]) == ("warn", "hookgate's own tool stands before it: bash")


async def test_broken_lines_are_named_and_other_events_passed_over(tmp_path: Path) -> None:
    lines = [call(CONTINUE), '{"kind":"turn_end","payload":{}}', "{oops", '{"kind":"stage_call","payload":{}}', "[1]"]
    ended = await replayed(tmp_path, lines, "--allow-broken", "--strict")
    shown = ended.stdout.decode()
    assert ended.returncode == 0
    for place in ("calls.jsonl:3: broken, left out: ", "calls.jsonl:4: broken", "calls.jsonl:5: broken"):
        assert place in shown
    assert shown.endswith("1 call of guard asked again, none answered differently.\n3 lines could not be read.\n")
    assert (await replayed(tmp_path, lines)).returncode == 1


async def test_what_has_no_end_or_nobody_at_its_other_one_is_no_recording(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", "/dev/zero"):
        for words in (("replay", name, "--", "true"), ("record", "c.jsonl", "--from", name)):
            ended = await run(tmp_path, "hooks", *words)
            assert (ended.returncode, ended.stderr.decode()) == (2, f"hookgate: {name}: it is no regular file\n")


async def test_a_hook_that_dies_in_the_middle_is_named_and_the_rest_is_asked_of_a_new_one(tmp_path: Path) -> None:
    ended = await replayed(tmp_path, [call(CONTINUE), call(CONTINUE, do="exit", status=9), call(DENIED)])
    shown = ended.stdout.decode()
    assert "calls.jsonl:2: the hook was lost here: it exited with status 9" in shown
    assert "calls.jsonl:3: NOW ALLOWED" in shown
    assert "3 calls of guard asked again" in shown
    assert ended.returncode == 1


async def test_a_hook_that_does_not_come_up_is_not_asked_and_does_not_pass(tmp_path: Path) -> None:
    (tmp_path / "calls.jsonl").write_text(f"{call(CONTINUE)}\n{call(CONTINUE)}\n")
    ended = await run(tmp_path, "hooks", "replay", "calls.jsonl", "--", "no-such-program")
    shown = ended.stdout.decode()
    assert "calls.jsonl:1: the hook was lost here: cannot start 'no-such-program'" in shown
    assert "2 calls could not be asked about" in shown
    assert ended.returncode == 1


async def test_whose_calls_are_meant_has_to_be_said_where_there_are_several(tmp_path: Path) -> None:
    lines = [call(CONTINUE, "a"), call(DENIED, "b"), call(CONTINUE, "b")]
    ended = await replayed(tmp_path, lines)
    assert (ended.returncode, b"--hook, one of a (1 call), b (2 calls)" in ended.stderr) == (2, True)
    assert b"2 calls of b asked again" in (await replayed(tmp_path, lines, "--hook", "b")).stdout


async def test_what_a_hook_was_never_asked_is_asked_of_it_where_that_is_said_alone(tmp_path: Path) -> None:
    configured(tmp_path, "http://127.0.0.1:1", hook(tmp_path, "guard", 'intercept = ["before_tool"]'))
    (tmp_path / "calls.jsonl").write_text(f"{call(CONTINUE, 'other', command='ls')}\n")
    replay = ("hooks", "replay", "calls.jsonl", "guard")
    ended = await run(tmp_path, *replay)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert b"no calls of 'guard': there are those of other (1 call); --hook NAME takes another one's" in ended.stderr
    ended = await run(tmp_path, *replay, "--hook", "other")
    assert (ended.returncode, b"1 call of other asked again" in ended.stdout) == (0, True)
    ended = await run(tmp_path, "hooks", "record", "mine.jsonl", "--from", "calls.jsonl", "--hook", "guard")
    assert (ended.returncode, (tmp_path / "mine.jsonl").exists()) == (1, False)
    assert b"no stage call of guard is in it: there are those of other" in ended.stderr


NARROW = '{"stages": ["before_tool", "after_llm"]}'


# --- bench --------------------------------------------------------------------------------------------------


async def test_bench_times_a_hook_beside_its_floor_and_names_one_that_fails(tmp_path: Path) -> None:
    program = ("--", sys.executable, str(CHILD))
    ended = await run(tmp_path, "hooks", "bench", "--calls", "100", "--json", *program)
    rows = json.loads(ended.stdout)
    assert [row["callers"] for row in rows] == [1, 8]
    assert all(row[side]["p99_us"] >= row[side]["p50_us"] > 0 for row in rows for side in ("hook", "floor"))
    assert (await run(tmp_path, "hooks", "bench", "--calls", "8", *program, "plain", NARROW)).returncode == 0
    failing = ("--args", '{"do": "answer", "result": {"action": "allow"}}')
    failed = await run(tmp_path, "hooks", "bench", "--calls", "100", *failing, *program)
    assert failed.returncode == 1
    assert b"hook gave no usable answer at before_tool: action 'allow'" in failed.stderr


ADDING = """
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    spec = {"type": "function", "function": {"name": "ticket", "parameters": {"type": "object"}}}
    result = {"action": "continue"}
    if call["method"] == "hook.hello":
        result = {"stages": ["before_llm", "before_tool"]}
    elif call["method"] == "hook.before_llm":
        result = {"action": "modify", "request": {"tools": [spec]}}
    print(json.dumps({"id": call["id"], "result": result}), flush=True)
"""


async def test_a_replay_knows_the_tools_that_the_hook_adds_to_requests_for_its_own(tmp_path: Path) -> None:
    (tmp_path / "guard.py").write_text(ADDING)
    request = {"meta": {}, "model": "p/m", "messages": [], "tools": [], "options": {}, "channel": "c", "chat_id": "1"}
    payload = {"hook": "guard", "stage": "before_llm", "params": request, "answer": CONTINUE, "duration_ns": 1}
    asked = json.dumps({"kind": "stage_call", "time": "", "meta": {}, "payload": payload})
    called = call(RESPOND).replace('"bash"', '"ticket"')
    (tmp_path / "calls.jsonl").write_text(f"{asked}\n{called}\n")
    ended = await run(tmp_path, "hooks", "replay", "calls.jsonl", "--", sys.executable, "guard.py")
    assert 'before_tool ticket: answered {"result":{"for_llm":"tea"}} -> unanswered' in ended.stdout.decode(), ended
