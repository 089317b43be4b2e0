"""`hooks try` and `hooks check NAME`: what a configured hook would say, and what the gate would make of it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import trio

from hookgate.cli.hooks.subjects import Named, plan_of
from hookgate.hooks.rules import Rules
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.hook.answers import Failed
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import LLMReply, Step, ToolCall
from hookgate.rehearsal.verdict import judge, judge_owned
from tests.cli.program import DEADLINE_S, HOOKGATE, environment, hook, open_fifo, open_pipes, run
from tests.cli.zot.zot_folders import extension, installed

CHILD = Path(__file__).parents[2] / "children" / "hook.py"
CONFIG = f"""
[hooks.processes.child]
command = ["{sys.executable}", "child.py"]
dir = "hooks"
env = {{ LAST_WORDS = "no database" }}
intercept = ["before_tool", "approve_tool", "after_tool"]
match = {{ tools = ["bash", "read"], chats = ["!secret"] }}
may_modify = ["arguments"]
on_failure = "deny"
timeout_ms = 400
"""
HINTED = """
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    if call["method"] == "hook.hello":
        result = {"stages": ["before_llm", "before_tool"]}
    elif call["method"] == "hook.before_llm":
        spec = {"type": "function", "function": {"name": "ticket", "parameters": {"type": "object"}}}
        result = {"action": "modify", "request": {"tools": [*call["params"]["tools"], spec]}}
    else:
        result = {"action": "continue"}
    if "id" in call:
        print(json.dumps({"id": call["id"], "result": result}), flush=True)
"""


def answering(answers: dict[str, dict[str, object]]) -> str:
    """A hook that says this to each method, and else goes on."""
    return (
        f"import json, sys\nfor line in sys.stdin:\n    call, answers = json.loads(line), {answers!r}\n"
        "    if 'id' not in call:\n        continue\n"
        "    result = answers.get(call['method'], {'action': 'continue'})\n"
        "    print(json.dumps({'id': call['id'], 'result': result}), flush=True)\n"
    )


DENYING = """
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    denial = {"action": "deny_tool", "reason": json.dumps(call["params"])}
    result = {} if call["method"] == "hook.hello" else denial
    print(json.dumps({"id": call["id"], "result": result}), flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hookgate.toml").write_text(CONFIG)
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks/child.py").write_text(CHILD.read_text())
    return tmp_path


async def tried(folder: Path, *arguments: str) -> CompletedProcess[bytes]:
    return await run(folder, "hooks", "try", "child", *arguments)


def asking(**members: object) -> tuple[str, str]:
    return "--args", json.dumps(members)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ((), 0, 'before_tool bash {"command":"ls"}: allowed\n'),
        (asking(do="answer", result={"action": "deny_tool", "reason": "no\x1b[2J"}), 1, "denied (deny_tool): no"),
        (asking(do="echo", command="ls -l"), 0, "allowed"),
        (
            asking(do="answer", result={"action": "modify", "call": {"arguments": {"command": "ls -l"}}}),
            0,
            '+    "command": "ls -l"',
        ),
        (
            asking(do="answer", result={"action": "continue", "call": {"arguments": {"command": "ls -l"}}}),
            0,
            "allowed\nit says continue, so this beside it has no effect: call\n",
        ),
        (asking(do="answer", result={"action": "respond", "result": {"for_llm": "tea"}}), 0, "answered: tea"),
        (
            asking(do="answer", result={"action": "respond", "result": {"for_llm": "no tea", "is_error": True}}),
            0,
            "answered (error): no tea",
        ),
        (("--stage", "approve_tool", *asking(do="answer", result={"ask": {"title": "Sure?"}})), 3, "asked: Sure?"),
        (("--stage", "approve_tool"), 0, 'approve_tool bash {"command":"ls"}: allowed\n'),
        (("--tool", "write"), 0, "child is not asked: tools = ['bash', 'read'] does not cover 'write'"),
        (("--chat", "secret"), 0, "child is not asked: chats = "),
        (("--stage", "on_message"), 0, "child is not asked: on_message is not in its intercept"),
        # How it dies, and what the gate would make of that.
        (
            asking(do="exit", status=7),
            1,
            "no usable answer: it exited with status 7\nso its on_failure counts: denied",
        ),
        (asking(do="hang"), 1, "no usable answer: no answer within 400 ms\nso its on_failure counts: denied"),
        (asking(do="answer", result={"action": "allow"}), 1, "no usable answer: action 'allow' is not one of"),
        (
            asking(do="answer", result={"action": "modify", "call": {"tool": "read"}}),
            1,
            "no usable answer: it may not modify tool",
        ),
    ],
)
async def test_try_shows_what_the_gate_would_make_of_the_answer(
    folder: Path, arguments: tuple[str, ...], status: int, words: str
) -> None:
    ended = await tried(folder, *arguments)
    assert words in ended.stdout.decode(), ended
    assert ended.returncode == status
    assert b"\x1b" not in ended.stdout


async def test_try_shows_a_hook_that_does_not_come_up_as_the_gate_would_find_it(folder: Path) -> None:
    (folder / "hookgate.toml").write_text(CONFIG.replace('"child.py"]', '"child.py", "exit_at_start"]'))
    ended = await tried(folder)
    assert "no usable answer: it exited with status 3" in ended.stdout.decode()
    assert ended.returncode == 1
    assert ended.stderr.decode() == "child: no database\n"


FLOODING = """
import json, subprocess, sys
for line in sys.stdin:
    call = json.loads(line)
    if call["method"] == "hook.before_tool":
        subprocess.Popen(["yes"], stdout=sys.stderr)
    if "id" in call:
        print(json.dumps({"id": call["id"], "result": {"action": "continue"}}), flush=True)
"""


async def test_a_reader_of_what_a_hook_says_that_has_gone_ends_the_command_however_much_it_says(folder: Path) -> None:
    """As `2>&1 | head`; the hook goes on writing where nobody reads any more."""
    (folder / "hooks/child.py").write_text(FLOODING)
    read, write = os.pipe()
    os.close(read)
    command = [*HOOKGATE, "hooks", "try", "child"]
    with trio.fail_after(DEADLINE_S):
        ended = await trio.run_process(
            command, stdout=write, stderr=write, check=False, cwd=folder, env=environment(folder)
        )
    os.close(write)
    assert ended.returncode == 141


def test_a_failure_that_closes_lets_nothing_pass_in_a_verdict_as_at_the_gate_whatever_the_policy() -> None:
    step = Step("main", "turn", Inbound(Chat("cli", "terminal", "user"), "hello"))
    failed, call = Failed("it is starting", closes=True), ToolCall("1", "ticket", {})
    for weigh in (judge, judge_owned):
        verdict = weigh("guard", Rules(), Question(Stage.BEFORE_TOOL, step, call), failed)
        assert (verdict.decision, verdict.failed) == ("denied", "it is starting")
    reply = Question(Stage.AFTER_LLM, step, LLMReply("p/m", "tea"))
    withheld = judge("guard", Rules(), reply, failed)
    assert withheld.said["changes"] == {"shown": "", "withheld_by": "guard withheld the reply: it is starting"}
    assert (withheld.decision, getattr(withheld.after, "shown", None)) == ("changed", "")
    assert judge("guard", Rules(), reply, Failed("it died")).decision == "allowed"


async def test_try_takes_a_program_and_prints_json(folder: Path) -> None:
    given = ("--stage", "after_tool", "--text", "tea", "--json", "--", sys.executable, str(CHILD))
    ended = await run(folder, "hooks", "try", *given)
    shown = json.loads(ended.stdout)
    assert (shown["decision"], shown["answer"], ended.returncode) == ("allowed", {"action": "continue"}, 0)
    assert shown["ms"] > 0


TOOL = {"type": "function", "function": {"name": "ticket", "parameters": {"type": "object"}}}
GUARD = {"stages": ["before_tool", "approve_tool"], "tools": [TOOL]}


@pytest.mark.parametrize(
    ("hello", "given", "status", "words"),
    [
        (GUARD, ("--args", '{"do": "answer", "result": {"action": "deny_tool"}}'), 1, "denied (deny_tool)"),
        (GUARD, ("--stage", "approve_tool"), 0, "allowed"),
        (GUARD, ("--stage", "before_llm"), 0, "hook is not asked: it does not name before_llm in its hello"),
        (
            {"stages": ["before_tool"]},
            ("--stage", "approve_tool"),
            0,
            "hook is not asked: it does not name approve_to",
        ),
        ({}, ("--stage", "approve_tool"), 0, "allowed"),
        ({}, ("--stage", "on_message"), 0, "hook is not asked: it does not name on_message in its hello"),
    ],
)
async def test_a_program_is_offered_every_stage_and_asked_where_its_hello_says_it_stands(
    folder: Path, hello: dict[str, object], given: tuple[str, ...], status: int, words: str
) -> None:
    program = ("--", sys.executable, str(CHILD), "plain", json.dumps(hello))
    ended = await run(folder, "hooks", "try", *given, *program)
    assert words in ended.stdout.decode(), ended
    assert ended.returncode == status


UNANSWERED = "ERROR (fatal) hook: hook hook did not respond to the call of its own tool"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, f"before_tool ticket {{}}: unanswered, and the model reads: {UNANSWERED}\n"),
        ({"do": "answer", "result": {"action": "modify", "call": {"tool": "bash"}}}, f": {UNANSWERED}\n"),
        (
            {"do": "members", "members": {"error": {"code": 1, "message": "no"}}},
            f"own tool is unanswered, and the model reads: {UNANSWERED}\n",
        ),
        ({"do": "exit", "status": 7}, f"own tool is unanswered, and the model reads: {UNANSWERED}\n"),
    ],
)
async def test_the_call_of_a_tool_of_its_own_that_it_does_not_respond_to_fails_as_in_a_gateway(
    folder: Path, given: dict[str, object], words: str
) -> None:
    program = ("--", sys.executable, str(CHILD), "plain", json.dumps(GUARD))
    ended = await run(folder, "hooks", "try", "--tool", "ticket", "--args", json.dumps(given), *program)
    assert words in ended.stdout.decode(), ended
    assert ended.returncode == 1


async def test_the_call_of_a_tool_of_its_own_comes_to_a_hook_whose_match_does_not_cover_it(folder: Path) -> None:
    own = f'"child.py", "plain", {json.dumps(json.dumps(GUARD))}]'
    (folder / "hookgate.toml").write_text(
        CONFIG.replace('"child.py"]', own).replace(', "after_tool"]', "]").replace('"deny"', '"continue"')
    )
    for given, decision, status in (
        ({"do": "answer", "result": {"action": "respond", "result": {"for_llm": "tea"}}}, "answered", 0),
        ({"do": "answer", "result": {"action": "deny_tool"}}, "denied", 1),
        ({}, "unanswered", 1),
    ):
        ended = await tried(folder, "--tool", "ticket", "--json", *asking(**given))
        shown = json.loads(ended.stdout)
        assert (shown["decision"], ended.returncode) == (decision, status), ended
    assert shown["model_reads"] == UNANSWERED.replace("hook hook", "hook child").replace(" hook:", " child:")


@pytest.mark.parametrize(
    ("stages", "words", "status"),
    [
        (
            '"before_llm", "before_tool"',
            "unanswered, and the model reads: ERROR (fatal) added: hook added did not re",
            1,
        ),
        # Nothing that it could have added is known.
        ('"before_tool"', "allowed", 0),
    ],
)
async def test_the_call_of_a_tool_that_it_adds_to_requests_is_that_of_a_tool_of_its_own(
    folder: Path, stages: str, words: str, status: int
) -> None:
    (folder / "added.py").write_text(HINTED.replace('"before_llm", "before_tool"', stages))
    ended = await run(folder, "hooks", "try", "--tool", "ticket", "--", sys.executable, "added.py")
    assert f"before_tool ticket {{}}: {words}" in ended.stdout.decode(), ended
    assert ended.returncode == status


NEEDS_ID = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            ("--args", '{"comand": "rm -rf /"}'),
            "('comand' was unexpected) (did you mean command?); command is required",
        ),
        (("--stage", "approve_tool", "--args", '{"command": 3}'), 'command: 3 is not of type "string"'),
        (("--stage", "after_tool", "--tool", "read"), "path is required"),
        (("--tool", "ticket", "--args", '{"id": "one"}'), 'id: "one" is not of type "integer"'),
        (("--tool", "added", "--args", '{"ID": 1}'), "id is required"),
    ],
)
async def test_a_note_says_why_no_gateway_would_make_the_call(folder: Path, given: tuple[str, ...], why: str) -> None:
    """Of tools that are built in, that the hook declares, and that it adds to requests; it is asked all the same."""
    own, added = (
        {"type": "function", "function": {"name": it, "parameters": NEEDS_ID}} for it in ("ticket", "added")
    )
    answers = {
        "hook.hello": {"stages": ["before_llm", "before_tool", "approve_tool", "after_tool"], "tools": [own]},
        "hook.before_llm": {"action": "modify", "request": {"tools": [added]}},
        "hook.approve_tool": {"approved": True},
    }
    (folder / "tools.py").write_text(answering(answers))
    given = (*given, "--", sys.executable, "tools.py")
    shown, members = await run(folder, "hooks", "try", *given), await run(folder, "hooks", "try", "--json", *given)
    note = shown.stderr.decode()
    assert (note.startswith("note: no gateway makes this call of "), why in note) == (True, True), shown
    assert json.loads(members.stdout)["unfit"] in note
    # Of a tool of its own, that it does not answer.
    owned = not {"ticket", "added"}.isdisjoint(given)
    assert (shown.returncode, b"unanswered" in shown.stdout) == (int(owned), owned)


async def test_a_note_says_where_the_call_that_a_hook_leaves_fits_no_tool(folder: Path) -> None:
    """A `modify` replaces the arguments whole, so one that names a single member has lost the others."""
    changed = {"action": "modify", "call": {"arguments": {"cwd": "."}}}
    (folder / "child.py").write_text(answering({"hook.hello": {}, "hook.before_tool": changed}))
    given = ("--", sys.executable, "child.py")
    shown, members = await run(folder, "hooks", "try", *given), await run(folder, "hooks", "try", "--json", *given)
    assert shown.stderr.decode().startswith("note: no gateway makes the call that it leaves")
    left = json.loads(members.stdout)["left_unfit"]
    assert ("command is required" in left, left in shown.stderr.decode()) == (True, True)


async def test_a_call_is_asked_about_as_a_gateway_hands_it_to_hooks(folder: Path) -> None:
    aliases = '[tools.aliases.bash]\ncmd = "command"\n'
    (folder / "hookgate.toml").write_text(f"{aliases}{CONFIG}")
    ended = await tried(folder, "--args", '{"cmd": "ls -l"}')
    assert (ended.stdout.decode().splitlines()[0], ended.stderr) == (
        'before_tool bash {"command":"ls -l"}: allowed',
        b"",
    )
    # Nobody is asked, so nothing is amiss; and what was recorded has been made.
    assert (await tried(folder, "--tool", "write")).stderr == b""
    asked = '"stage": "before_tool", "params": {"tool": "bash", "arguments": {}}, "answer": {"action": "continue"}'
    (folder / "calls.jsonl").write_text(f'{{"kind": "stage_call", "payload": {{"hook": "child", {asked}}}}}')
    ended = await tried(folder, "--from", "calls.jsonl")
    assert (ended.stdout.decode().splitlines()[0], ended.stderr) == ("before_tool bash {}: allowed", b"")


async def test_a_tool_of_hookgates_own_is_not_looked_for_in_requests(folder: Path) -> None:
    (folder / "added.py").write_text(
        HINTED.replace(
            'elif call["method"] == "hook.before_llm":',
            'elif "tool" not in call["params"]:\n        sys.exit(9)\n    elif 0:',
        )
    )
    ended = await run(folder, "hooks", "try", "--tool", "bash", "--", sys.executable, "added.py")
    assert (ended.returncode, b'bash {"command":"ls"}: allowed' in ended.stdout) == (0, True), ended


async def test_a_program_with_an_sdk_says_nothing_of_stages_and_its_name_once(tmp_path: Path) -> None:
    hook(tmp_path, "guard", "")
    (tmp_path / "mine.py").write_text(
        "from hookgate_plugin import Plugin\nplugin = Plugin('mine')\n"
        "plugin.approve_tool(lambda call: True)\nplugin.after_llm(lambda reply: None)\n"
        "@plugin.before_tool\ndef look(call): plugin.log('seen')\nplugin.run()\n"
    )
    ended = await run(tmp_path, "hooks", "try", "--", sys.executable, "mine.py")
    assert (ended.returncode, ended.stderr) == (0, b"mine: seen\n")


async def test_what_stands_behind_the_dashes_goes_to_the_program_and_a_note_says_so(folder: Path) -> None:
    given = ("--", sys.executable, str(CHILD), "--args", '{"command": "rm -rf /"}')
    ended = await run(folder, "hooks", "try", *given)
    assert ended.stderr == b"note: --args stands behind -- and goes to the program\n"
    asked, took = ended.stdout.decode().splitlines()
    assert (asked, took.split(",")[0]) == ('before_tool bash {"command":"ls"}: allowed', "hook")


@pytest.mark.parametrize("words", [("child", "--", "node", "mine.mts"), ("child", "extra"), ()])
async def test_a_name_and_a_program_are_not_taken_for_one_command(folder: Path, words: tuple[str, ...]) -> None:
    ended = await run(folder, "hooks", "try", *words)
    assert f"NAME or -- COMMAND{', not both' if words else ''}: one name, or" in ended.stderr.decode()
    assert (ended.returncode, ended.stdout) == (2, b"")


async def test_a_bare_program_that_fails_is_not_said_to_be_well(folder: Path) -> None:
    (folder / "broken.py").write_text("import nothing_of_that_name\n")
    ended = await run(folder, "hooks", "try", "--", sys.executable, "broken.py")
    assert 'allowed (continue, the default: a guard wants on_failure = "deny")' in ended.stdout.decode()
    assert ended.returncode == 2


async def test_a_program_that_is_slow_to_start_is_waited_for_and_a_line_says_so(folder: Path) -> None:
    (folder / "slow.py").write_text(f"open('begun').read(1)\n{CHILD.read_text()}")
    async with (
        open_fifo(folder / "begun") as fifo,
        open_pipes(folder, "hooks", "try", "--", sys.executable, "slow.py") as screen,
    ):
        await screen.sees(
            "slow: no hello yet: it is silent, does not flush its stdout, or is still compiling or downloading "
            "something; waiting for "
        )
        await screen.sees("up to 60 s (--hello-timeout SECONDS)\n")
        await fifo.ring()
        await screen.sees('before_tool bash {"command":"ls"}: allowed\n')
        assert await screen.ends() == 0


@pytest.mark.parametrize("command", [("try",), ("check",), ("bench",), ("replay", "calls.jsonl")])
async def test_a_start_may_take_as_long_as_is_said_or_configured(folder: Path, command: tuple[str, ...]) -> None:
    asked = '"stage": "before_tool", "params": {"tool": "bash", "arguments": {}}, "answer": {"action": "continue"}'
    (folder / "calls.jsonl").write_text(f'{{"kind": "stage_call", "payload": {{"hook": "child", {asked}}}}}')
    mute = (sys.executable, str(CHILD), "mute")
    for given in (("--hello-timeout", "0.2", "--", *mute), ("child",)):
        (folder / "hookgate.toml").write_text(
            CONFIG.replace('"child.py"]', '"child.py", "mute"]') + "[hooks.defaults]\nhello_timeout_ms = 200\n"
        )
        ended = await run(folder, "hooks", *command, *given)
        assert "within 0.2 s" in f"{ended.stdout.decode()}{ended.stderr.decode()}", ended
        assert "compil" in f"{ended.stdout.decode()}{ended.stderr.decode()}"
        assert ended.returncode != 0
    ended = await run(folder, "hooks", *command, "--hello-timeout", "1", "child")
    assert b"--hello-timeout are for a program behind `--`" in ended.stderr


async def test_a_node_that_is_too_old_is_named_by_try_and_by_doctor_as_by_check(folder: Path) -> None:
    said = 'TypeError: Unknown file extension ".mts"'
    old = f"import sys\nprint({said!r}, '', 'Node.js v20', sep='\\n', file=sys.stderr)\nsys.exit(1)\n"
    (folder / "hooks/child.py").write_text(old)
    for command in (("hooks", "try", "child"), ("doctor",)):
        ended = await run(folder, *command)
        assert "this node is too old for TypeScript: take 22.18 or later" in ended.stdout.decode(), ended


@pytest.mark.parametrize("command", ["try", "check"])
async def test_a_guard_that_is_built_in_is_said_to_be(folder: Path, command: str) -> None:
    ended = await run(folder, "hooks", command, "guard:shell")
    told = b"hookgate: guard:shell is built in: [guards] sets it, and there is no program to ask\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, b"", told)


async def test_try_names_the_hooks_that_there_are(folder: Path) -> None:
    ended = await run(folder, "hooks", "try", "chidl")
    assert ended.returncode == 2
    assert "there is no hook 'chidl' (did you mean 'child'?)" in ended.stderr.decode()
    ended = await tried(folder, "--line", "3")
    assert (ended.returncode, ended.stderr) == (2, b"hookgate: --line is of a file: say --from FILE\n")


async def test_an_event_file_is_asked_again_by_line(folder: Path) -> None:
    def call(command: str) -> str:
        params = {"tool": "bash", "arguments": {"command": command}, "channel": "telegram", "future": {"x": 2**70}}
        payload = {"hook": "child", "stage": "before_tool", "params": params, "answer": {"action": "continue"}}
        return json.dumps({"kind": "stage_call", "time": "", "meta": {}, "payload": payload})

    (folder / "events.jsonl").write_text("\n".join([call("ls"), '{"kind":"turn_end","payload":{}}', "{", call("w")]))
    (folder / "hooks/child.py").write_text(DENYING)
    first = await tried(folder, "--from", "events.jsonl", "--line", "1", "--json")
    asked = json.loads(json.loads(first.stdout)["answer"]["reason"])
    assert (asked["arguments"], asked["future"], asked["deadline_ms"]) == ({"command": "ls"}, {"x": 2**70}, 400)
    last = await tried(folder, "--from", "events.jsonl")
    assert (last.returncode, b'"command": "w"' in last.stdout) == (1, True)
    other = await tried(folder, "--from", "events.jsonl", "--line", "2")
    assert other.stderr.endswith(b"there is no stage call in line 2; there is one in line 1, 4\n")
    broken = await tried(folder, "--from", "events.jsonl", "--line", "3")
    assert (broken.returncode, "hookgate: events.jsonl:3: " in broken.stderr.decode()) == (2, True)


# --- check by name ------------------------------------------------------------------------------------------


async def test_a_configured_hook_is_checked_in_its_folder_with_its_environment_at_its_stages(folder: Path) -> None:
    ended = await run(folder, "hooks", "check", "child", "--json")
    report = json.loads(ended.stdout)
    found = {it["check"]: it for it in report["checks"]}
    assert "before_llm" not in found, "it is not asked where it does not stand"
    assert found["approve_tool"]["what"] == "approve"
    assert report["command"] == [sys.executable, "child.py"]


async def test_check_calls_a_tool_that_is_injected_and_shows_what_came_beside_what_was_expected(folder: Path) -> None:
    (folder / "hooks/child.py").write_text(HINTED)
    (folder / "hookgate.toml").write_text(
        CONFIG.replace('"before_tool", "approve_tool", "after_tool"', '"before_llm", "before_tool"')
    )
    ended = await run(folder, "hooks", "check", "child")
    shown = ended.stdout.decode()
    assert "FAIL  injected tools" in shown
    assert "a call of ticket is answered with continue" in shown
    assert '      came:     {"action":"continue"}\n      expected: {"action":"respond",' in shown
    assert ended.returncode == 1


@pytest.mark.parametrize(
    ("intercept", "stages", "status"),
    [
        ('"before_llm"', {}, 1),
        ('"before_llm", "before_tool"', {"stages": ["before_llm"]}, 1),
        ('"before_llm", "before_tool"', {}, 0),
    ],
)
async def test_check_and_try_say_of_an_injected_tool_whose_calls_the_hook_is_not_asked_about_that_they_fail(
    folder: Path, intercept: str, stages: dict[str, object], status: int
) -> None:
    tool = {"type": "function", "function": {"name": "ticket", "parameters": {"type": "object"}}}
    answers: dict[str, dict[str, object]] = {
        "hook.hello": stages,
        "hook.before_llm": {"action": "modify", "request": {"tools": [tool]}},
        "hook.before_tool": {"action": "respond", "result": {"for_llm": "done"}},
    }
    (folder / "hooks/child.py").write_text(answering(answers))
    text = CONFIG.replace('"before_tool", "approve_tool", "after_tool"', intercept)
    (folder / "hookgate.toml").write_text(text.replace('"deny"', '"continue"').replace('["arguments"]', '["tools"]'))
    checked = await run(folder, "hooks", "check", "child", "--json")
    found = {it["check"]: it for it in json.loads(checked.stdout)["checks"]}["injected tools"]
    fails, words = bool(status), "each call of ticket fails: the hook is not asked at before_tool"
    assert (checked.returncode, found["verdict"] == "FAIL", found["what"] == words) == (status, fails, fails), found
    asked = await tried(folder, "--tool", "ticket")
    reads = "unanswered, and the model reads: ERROR (fatal) child: hook child takes no before_tool calls"
    assert (asked.returncode, reads in asked.stdout.decode()) == (status, fails), asked


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ({"name": "open ticket"}, "'open ticket' is no tool name"),
        ({"name": "ticket", "parameters": {"type": "objct"}}, "ticket: the schema does not compile"),
        ({"name": "ticket", "parameters": {"type": "array"}}, "ticket: its parameters are no object"),
    ],
)
@pytest.mark.parametrize("place", ["owned tools", "injected tools"])
async def test_check_and_try_name_a_tool_that_no_gateway_offers(
    folder: Path, tool: dict[str, object], why: str, place: str
) -> None:
    brought = {"tools": [{"type": "function", "function": tool}]}
    at_hello, at_request = (brought, {}) if place == "owned tools" else ({}, brought)
    hello = {"stages": ["before_llm", "before_tool"], **at_hello}
    request = {"action": "modify", "request": at_request} if at_request else {"action": "continue"}
    respond = {"action": "respond", "result": {"for_llm": "done"}}
    answers = {"hook.hello": hello, "hook.before_llm": request, "hook.before_tool": respond}
    (folder / "tools.py").write_text(answering(answers))
    program = ("--", sys.executable, "tools.py")
    checked = await run(folder, "hooks", "check", "--json", *program)
    failed = [it for it in json.loads(checked.stdout)["checks"] if it["verdict"] == "FAIL"]
    assert (checked.returncode, [it["check"] for it in failed], why in failed[0]["what"]) == (1, [place], True)
    tried = await run(folder, "hooks", "try", "--tool", str(tool["name"]), *program)
    assert why in tried.stderr.decode()


async def test_check_warns_of_a_tool_that_stands_behind_one_of_hookgate_s_own(folder: Path) -> None:
    tool = {"type": "function", "function": {"name": "grep", "parameters": {"type": "object"}}}
    respond = {"action": "respond", "result": {"for_llm": "done"}}
    answers = {"hook.hello": {"stages": ["before_tool"], "tools": [tool]}, "hook.before_tool": respond}
    (folder / "hooks/child.py").write_text(answering(answers))
    section = CONFIG.replace('"before_tool", "approve_tool", "after_tool"', '"before_tool"')
    for more, verdict in (("", "warn"), ('[tools]\nenabled = ["!grep"]\n', "ok")):
        (folder / "hookgate.toml").write_text(section + more)
        ended = await run(folder, "hooks", "check", "--json", "child")
        found = next(it for it in json.loads(ended.stdout)["checks"] if it["check"] == "owned tools")
        assert (ended.returncode, found["verdict"], "grep" in found["what"]) == (0, verdict, True)


async def test_check_says_of_a_hello_that_leaves_out_what_is_configured_what_a_gateway_would(folder: Path) -> None:
    (folder / "hooks/child.py").write_text(HINTED.replace('"before_llm", "before_tool"', '"before_tool"'))
    ended = await run(folder, "hooks", "check", "child")
    assert "it leaves approve_tool out of its stages, though it is configured to approve" in ended.stdout.decode()
    assert ended.returncode == 1


@pytest.mark.parametrize(
    ("rest", "verdict"), [("", "warn"), ('on_failure = "deny"', "FAIL"), ("required = true", "FAIL")]
)
async def test_check_says_of_a_guard_that_is_never_asked_what_doctor_and_a_chat_say(
    folder: Path, rest: str, verdict: str
) -> None:
    child = HINTED.replace('"before_llm", "before_tool"', '"after_tool"')
    (folder / "hooks/child.py").write_text(child)
    text = CONFIG.replace(', "approve_tool"', "").replace('on_failure = "deny"', rest)
    (folder / "hookgate.toml").write_text(text)
    ended = await run(folder, "hooks", "check", "child", "--json")
    found = {it["check"]: it for it in json.loads(ended.stdout)["checks"]}["configured stages"]
    assert found["what"].startswith("it leaves out before_tool, where it is configured to stand: it is not asked")
    assert (found["verdict"], ended.returncode) == (verdict, int(verdict == "FAIL"))


async def test_an_extension_is_asked_nothing_as_a_hook_and_the_refusal_says_what_checks_it(folder: Path) -> None:
    ended = await run(folder, "hooks", "try", "zot:guard")
    assert ended.returncode != 0
    assert "an extension speaks zot's protocol" in ended.stderr.decode()
    assert "`hookgate hooks check zot:guard` starts it" in ended.stderr.decode()


async def test_check_starts_the_extension_of_that_name_and_no_other(folder: Path) -> None:
    extension(installed(folder), "good", {"type": "register_command", "name": "good"})
    extension(installed(folder), "dies", mode="exit_at_start")
    ended = await run(folder, "hooks", "check", "good")
    lines = [line.split(maxsplit=2) for line in ended.stdout.decode().splitlines()]
    assert lines[0][:2] == ["ok", "start"]
    assert lines[0][2].startswith("it said hello, and was up after ")
    assert lines[3] == ["ok", "commands", "/Do, /good"]
    assert (ended.returncode, started(folder, "dies")) == (0, False)
    ended = await run(folder, "hooks", "check", "zot:dies", "--json")
    assert (ended.returncode, json.loads(ended.stdout)["checks"][0]["verdict"]) == (1, "FAIL")
    assert started(folder, "dies")
    ended = await run(folder, "hooks", "check", "zot:nobody")
    assert (ended.returncode, "there is no extension 'nobody'" in ended.stderr.decode()) == (2, True)
    # The name of the folder, say, and not that of the manifest.
    ended = await run(folder, "hooks", "check", "goood")
    assert (ended.returncode, "no hook (did you mean 'good'?) (there are: " in ended.stderr.decode()) == (2, True)


def started(folder: Path, name: str) -> bool:
    """Whether it ever was, by its log."""
    return any(folder.rglob(f"ext-{name}.log"))


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("python3.13 -u guard.py", "guard"),
        ("go run guard.py", "guard"),
        ("nodejs guard.py other.py", "guard"),
        ("zsh-5.9 guard.py", "guard"),
        ("env guard.py", "guard"),
        ("bin/judge --rules guard.py", "judge"),
    ],
)
def test_a_hook_is_called_after_what_an_interpreter_runs(tmp_path: Path, program: str, name: str) -> None:
    (tmp_path / "guard.py").touch()
    assert plan_of(Named("", tuple(program.split()), directory=str(tmp_path)))[0].name == name
