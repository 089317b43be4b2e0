"""The conformance run against real hooks: good ones pass, and each defect is named by its own check."""

from __future__ import annotations

import json
import os
import sys
import uuid
from pathlib import Path

import pytest
import trio

from hookgate.check.golden import NUMBER, ODD_TEXT, changed_numbers, changed_texts, is_mangled, sample
from hookgate.check.mailbox import ErrorAnswer, Mailbox, Result, StrayOutput
from hookgate.check.printing import report_lines
from hookgate.check.probes import ascii_spelling
from hookgate.check.report import Finding, Report, failed, ok
from hookgate.check.run import LIMITS, CheckTimeouts, check
from hookgate.protocol.values import Json
from tests.cli.program import configured, hook, run
from tests.preloaded.running import run_preloaded
from tests.processes import none_left

ROOT = Path(__file__).parents[3]
CHILDREN = ROOT / "tests/children"
EXAMPLES = ROOT / "plugins/python"
DEADLINE_S = 60.0
HASTY = CheckTimeouts(hello_s=1.5, call_s=1.5, again_s=0.7, long_s=5.0)
"""For hooks that never answer something; the rest of what they are asked is answered at once."""


def broken(defect: str) -> tuple[str, ...]:
    return (sys.executable, str(CHILDREN / "check_broken.py"), defect)


async def checked(command: tuple[str, ...], limits: CheckTimeouts = LIMITS, **environment: str) -> Report:
    base = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    with trio.fail_after(DEADLINE_S):
        return await check(command, {**base, **environment}, str(CHILDREN), limits)


def failures(report: Report) -> dict[str, str]:
    return {finding.check: finding.what for finding in report.findings if finding.verdict == "FAIL"}


def finding(report: Report, name: str) -> Finding:
    return next(finding for finding in report.findings if finding.check == name)


# --- good hooks ---------------------------------------------------------------------------------------------


async def test_a_hook_that_uses_everything_passes_every_check() -> None:
    report = await checked((sys.executable, str(CHILDREN / "check_perfect.py")))
    assert {(f.check, f.verdict, f.what) for f in report.findings if f.verdict != "ok"} == set()
    assert [f.check for f in report.findings] == [
        "hello",
        "on_message",
        "before_llm",
        "after_llm",
        "before_tool",
        "approve_tool",
        "after_tool",
        "before_send",
        "unknown method",
        "unknown notification",
        "unknown members",
        "many calls",
        "split lines",
        "joined lines",
        "big line",
        "separators",
        "text",
        "cancel",
        "events",
        "owned tools",
        "injected tools",
        "end of input",
        "plain v1",
        "answers",
        "stdout",
    ]
    assert finding(report, "before_tool").what == "modify arguments, name"
    assert finding(report, "many calls").what.startswith("50 calls, 16 at once")
    assert finding(report, "owned tools").what == (
        'respond: echo; its configuration needs intercept = ["before_tool"]'
    )
    assert finding(report, "injected tools").what == "respond: echo_too"


@pytest.mark.parametrize(
    "name", ["guard", "approve", "weather", "weather_owned", "redact", "cache", "audit_log", "profanity"]
)
async def test_the_python_examples_pass_without_a_warning(name: str, tmp_path: Path) -> None:
    log = str(tmp_path / "audit.jsonl")
    report = await checked((sys.executable, str(EXAMPLES / f"{name}.py")), AUDIT_FILE=log)
    assert [(f.check, f.what) for f in report.findings if f.verdict in ("FAIL", "warn")] == []


async def test_an_example_on_a_foreign_json_rpc_library_passes() -> None:
    report = await checked((sys.executable, str(EXAMPLES / "jsonrpcserver_hook.py")))
    assert failures(report) == {}


async def test_a_plain_v1_hook_is_told_which_stages_to_leave_out() -> None:
    report = await checked(broken("knows_before_tool_alone"))
    assert failures(report) == {}
    assert finding(report, "after_llm").what.startswith("not offered")
    assert not {"on_message", "before_send"} & {found.check for found in report.findings}
    assert finding(report, "before_tool").what == "modify arguments, name"
    unnamed = finding(report, "on_message, before_send")
    assert (unnamed.verdict, unnamed.what) == ("skip", "not asked: its hello does not name them in stages")


async def test_a_hook_of_messages_that_names_no_stages_is_warned_that_nothing_is_asked_of_it(tmp_path: Path) -> None:
    (tmp_path / "om.py").write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    call = json.loads(line)\n"
        "    known = {'hook.hello': {'name': 'om'}, 'hook.on_message': {'action': 'continue'}}\n"
        "    error = {'code': -32601, 'message': 'unknown'}\n"
        "    said = {'result': known[call['method']]} if call['method'] in known else {'error': error}\n"
        "    if 'id' in call:\n"
        "        print(json.dumps({'id': call['id'], **said}), flush=True)\n"
    )
    report = await checked((sys.executable, str(tmp_path / "om.py")))
    assert failures(report) == {}
    warning = next(found for found in report.findings if found.verdict == "warn")
    assert warning.check == "on_message, before_send"
    assert warning.what.endswith("does not name them in stages, and no other stage gives a usable answer")
    assert "name all the stages it answers as `stages` in its hello" in warning.fix


# --- one defect each ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("defect", "name", "words"),
    [
        ("prints_noise", "stdout", "'ready!'"),
        ("prints_in_a_stage", "stdout", "(id 6), before that to after_tool (id 7)): 'looking', 'looking'"),
        ("answers_twice", "answers", "before_tool (id 5), after_tool (id 7) answered twice: '{"),
        (
            "answers_what_nobody_asked",
            "after_tool",
            "nobody asked for, after the answer to approve_tool (id 6), before that to after_tool (id 7): '{",
        ),
        ("crashes_at_start", "hello", "it exited with status 1"),
        ("refuses_hello", "hello", "wrong phase of the moon"),
        ("crosses_ids", "many calls", "is another call's"),
        ("dies_on_a_big_line", "big line", "it exited with status 7"),
        ("splits_where_str_does", "separators", "it exited with status 1"),
        ("answers_notifications", "unknown notification", "nobody asked for"),
        ("refuses_unknown_members", "unknown members", "error -32602: unknown member"),
        ("reads_latin_1", "text", "characters are lost"),
        ("reads_integers_as_doubles", "text", f"an integer came back as {float(NUMBER)!r}"),
        ("dies_of_cancel", "cancel", "it exited with status 1"),
        ("does_not_answer_its_tool", "owned tools", "echo is answered with continue"),
        ("modifies_nothing", "before_llm", "modify without 'request'"),
        ("approves_with_a_word", "approve_tool", "approved"),
        ("says_two_things", "approve_tool", "error in its JSON: the member 'approved' stands twice"),
        ("ignores_the_end_of_input", "end of input", "still runs 2 s after"),
        ("leaves_a_process", "end of input", "it left running: python"),
    ],
)
async def test_a_defect_fails_its_own_check_alone(defect: str, name: str, words: str) -> None:
    report = await checked(broken(defect))
    assert list(failures(report)) == [name]
    assert words in finding(report, name).what
    assert finding(report, name).fix


@pytest.mark.parametrize("defect", ["does_not_answer_its_tool", "answers_its_tool_with_a_word"])
async def test_of_a_call_of_its_own_tool_nothing_but_respond_is_expected(defect: str) -> None:
    found = finding(await checked(broken(defect)), "owned tools")
    assert (found.verdict, found.expected) == ("FAIL", '{"action":"respond","result":{"for_llm":"..."}}')
    assert found.came
    assert "with respond" in found.fix


SDK = "from hookgate_plugin import Plugin\nplugin = Plugin('first')\n@plugin.before_tool\ndef look(call):\n    "


@pytest.mark.parametrize(
    ("source", "what", "fix", "stderr"),
    [
        (f"{SDK}return call.nothing\nplugin.run()\n", "error", "the handler failed", "AttributeError"),
        (
            "import sys\nsys.exit(\"ModuleNotFoundError: No module named 'hookgate_plugin'\")\n",
            "it exited with status 1",
            "hookgate init --sdk python",
            "",
        ),
        (f"{SDK}return None\n", "it exited with status 0", "does it call plugin.run()?", ""),
        ("def look(:\n", "SyntaxError: ", "does it call plugin.run()?", "SyntaxError"),
        (
            "import sys\nsys.exit('TypeError: Unknown file extension \".mts\" for /x.mts')\n",
            "it exited with status 1",
            "this node is too old for TypeScript: take 22.18",
            "",
        ),
    ],
)
async def test_the_mistakes_of_a_first_hook_are_told_with_what_to_do(
    tmp_path: Path, source: str, what: str, fix: str, stderr: str
) -> None:
    (tmp_path / "first.py").write_text(source)
    report = await checked((sys.executable, str(tmp_path / "first.py")), PYTHONPATH=str(EXAMPLES))
    found = next(it for it in report.findings if it.verdict == "FAIL")
    assert what in found.what
    assert fix in found.fix
    assert stderr in "\n".join(found.stderr)


async def test_what_hangs_at_its_stage_is_not_said_to_answer_many_calls(tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text(f"{SDK}import time; time.sleep(60)\nplugin.run()\n")
    report = await checked((sys.executable, str(tmp_path / "first.py")), HASTY, PYTHONPATH=str(EXAMPLES))
    assert (finding(report, "before_tool").verdict, finding(report, "many calls").verdict) == ("FAIL", "skip")


async def test_a_go_hook_that_is_not_built_is_told_to_be(tmp_path: Path) -> None:
    (tmp_path / "main.go").write_text("package main\n")
    report = await checked((str(tmp_path / "guard"),))
    assert "it is not built yet: go build" in finding(report, "hello").fix


async def test_a_reply_to_an_event_fails_wherever_events_are_written() -> None:
    report = await checked(broken("answers_events"))
    assert list(failures(report)) == ["joined lines", "events"]
    assert "nobody asked for" in finding(report, "events").what


@pytest.mark.parametrize(
    ("defect", "names"),
    [
        ("is_mute", {"hello"}),
        ("ignores_unknown_methods", {"unknown method"}),
        ("reads_chunks_for_lines", {"split lines"}),
        ("writes_ids_as_text", {"after_llm"}),
    ],
)
async def test_silence_fails_the_check_that_met_it_alone(defect: str, names: set[str]) -> None:
    report = await checked(broken(defect), HASTY)
    assert set(failures(report)) == names
    assert all("no answer within 1.5 s" in what for what in failures(report).values())


async def test_a_hook_that_answers_only_its_first_call_fails_where_many_are_made() -> None:
    report = await checked(broken("answers_the_first_call_only"), CheckTimeouts(call_s=1.0, again_s=0.4, long_s=1.0))
    assert {"before_llm", "many calls"} <= set(failures(report))
    assert failures(report)["many calls"].startswith("1 of 50 calls answered")


async def test_a_hello_that_does_not_come_is_told_of_meanwhile_and_slow_starts_are_named_as_a_cause() -> None:
    told: list[str] = []
    limits = CheckTimeouts(hello_s=0.3, late_s=0.05)
    with trio.fail_after(DEADLINE_S):
        report = await check(broken("is_mute"), {}, str(CHILDREN), limits, late=told.append)
    assert told == ["it is silent, does not flush its stdout, or is still compiling or downloading something"]
    assert finding(report, "hello").came == "nothing"
    assert "compiles or downloads first (go run, npx)" in finding(report, "hello").fix
    assert "--hello-timeout" in finding(report, "hello").fix


@pytest.mark.parametrize(
    ("answer", "came"),
    [
        (r'{\n  "id": 1,\n  "result": {}\n}\n', """'{', '  "id": 1,', '  "result": {}'"""),
        (r'ready{"id": 1, "result": {}}\n', """'ready{"id": 1, "result": {}}'"""),
        (r'{"id": 1, "result": {}}', """'{"id": 1, "result": {}}' without a line end"""),
        (r'{"id": 2, "result": {}}\n', """'{"id": 2, "result": {}}'"""),
    ],
)
async def test_what_came_instead_of_a_hello_is_quoted_while_it_is_waited_for_and_after(
    answer: str, came: str
) -> None:
    told: list[str] = []
    program = ("sh", "-c", 'read -r hello; printf "$0"; read -r rest', answer)
    with trio.fail_after(DEADLINE_S):
        report = await check(
            program, {**os.environ}, str(CHILDREN), CheckTimeouts(hello_s=1, late_s=0.7), late=told.append
        )
    assert told == [f"this came, which answers nothing: {came}"]
    assert finding(report, "hello").came == came


async def test_a_hook_that_starts_later_than_a_gateway_would_wait_is_warned_and_checked_all_the_same() -> None:
    report = await checked((sys.executable, str(CHILDREN / "check_perfect.py")), CheckTimeouts(usual_hello_s=0.001))
    warned = [f for f in report.findings if f.verdict != "ok"]
    assert [f.check for f in warned] == ["hello"]
    assert "where a gateway waits for 0.001 s; name" in warned[0].what
    assert "hello_timeout_ms in [hooks.defaults]" in warned[0].fix


def test_what_has_started_once_is_given_less_time_to_start_again() -> None:
    assert CheckTimeouts(hello_s=60.0).started(0.5).hello_s == 10.0
    assert CheckTimeouts(hello_s=60.0).started(25.0).hello_s == 50.0
    assert CheckTimeouts(hello_s=3.0, usual_hello_s=3.0).started(2.0).hello_s == 3.0


@pytest.mark.parametrize(
    ("defect", "name", "words"),
    [
        ("answers_unknown_methods", "unknown method", "a result instead of error -32601"),
        ("exits_with_a_status", "end of input", "it exited with status 3"),
        ("asks_hookgate_first", "stdout", "host.ask"),
        ("needs_the_stages_of_hello", "plain v1", "without `stages` in the params of hello: it exited with status 1"),
    ],
)
async def test_what_hookgate_can_live_with_is_a_warning(defect: str, name: str, words: str) -> None:
    report = await checked(broken(defect))
    assert [(f.check, f.verdict) for f in report.findings if f.verdict in ("FAIL", "warn")] == [(name, "warn")]
    assert words in finding(report, name).what
    assert report.passed


async def test_a_hook_that_is_slow_at_many_calls_is_warned_rather_than_called_wrong() -> None:
    report = await checked(broken("is_slow"), CheckTimeouts(long_s=1.0))
    many = finding(report, "many calls")
    assert failures(report) == {}
    assert (many.verdict, "the rest is slow" in many.what) == ("warn", True)


# --- the edges ----------------------------------------------------------------------------------------------


async def test_a_command_that_does_not_exist_is_a_clear_line() -> None:
    report = await checked(("no-such-command-here",))
    assert list(failures(report)) == ["hello"]
    assert "cannot start 'no-such-command-here': No such file" in failures(report)["hello"]


async def test_a_hook_that_cannot_be_started_again_is_told_what_that_leaves_unchecked(tmp_path: Path) -> None:
    report = await checked(broken("starts_only_once"), LOCK=str(tmp_path / "lock"))
    assert [f.check for f in report.findings] == ["hello", "on_message", "before_llm", "hello", "answers", "stdout"]
    again = report.findings[3]
    assert again.what.startswith("when started again: it exited with status 1; not checked: after_llm, before_tool")
    assert again.stderr == ("already running",)


async def test_a_flood_on_stdout_is_cut_off_and_named() -> None:
    token = uuid.uuid4().hex
    report = await checked((*broken("floods_stdout"), token))
    assert failures(report)["hello"] == "it floods its stdout"
    assert finding(report, "hello").fix.startswith("write one line for each request that has an id")
    assert failures(report)["stdout"].endswith("'y', 'y', 'y'")
    await none_left(token)


async def test_what_a_crashed_hook_wrote_to_stderr_stands_beside_the_failure() -> None:
    report = await checked(broken("crashes_at_start"))
    assert finding(report, "hello").stderr == ("no such database: hooks.db",)


async def test_one_that_ends_a_line_where_there_is_no_newline_is_told_where_to_split() -> None:
    report = await checked(broken("splits_where_str_does"))
    assert finding(report, "separators").fix.startswith("split stdin at \\n only: U+2028, U+2029 and U+0085 stand in")


@pytest.mark.parametrize("defect", ["leaves_a_process", "ignores_the_end_of_input", "is_mute"])
async def test_nothing_is_left_running(defect: str) -> None:
    token = uuid.uuid4().hex
    await checked((*broken(defect), token), HASTY)
    await none_left(token)


async def test_a_run_that_takes_too_long_ends_says_what_is_unchecked_and_leaves_nothing_running() -> None:
    token = uuid.uuid4().hex
    report = await checked((*broken("is_slow"), token), CheckTimeouts(total_s=1.0))
    assert "not checked:" in failures(report)["time"]
    assert "plain v1" in failures(report)["time"]
    await none_left(token)


# --- what is printed ----------------------------------------------------------------------------------------


def test_a_failure_is_printed_with_its_fix_and_stderr() -> None:
    bad = Finding("many calls", "FAIL", "none came\x1b[2J", "answer them", ("Traceback", "KeyError: 'x'"))
    assert [*report_lines(Report(("x",), (ok("hello", "fine"), bad), None, 1.25))] == [
        "ok    hello       fine",
        "FAIL  many calls  none came\ufffd[2J",
        "      fix: answer them",
        "      stderr: Traceback",
        "      stderr: KeyError: 'x'",
        "1 ok, 1 FAIL in 1.2 s",
    ]


def test_the_json_report_holds_every_check() -> None:
    members = Report(("x",), (failed("hello", "no", "do"),), None, 1.0).members()
    assert (members["passed"], members["counts"]) == (False, {"ok": 0, "warn": 0, "FAIL": 1, "skip": 0})
    assert members["checks"] == [{"check": "hello", "verdict": "FAIL", "what": "no", "fix": "do", "stderr": ()}]


@pytest.mark.parametrize(("arguments", "status"), [([], 2), (["--", "no-such-command-here"], 1)])
async def test_the_command_exits_with_the_status_that_it_means(arguments: list[str], status: int) -> None:
    with trio.fail_after(DEADLINE_S):
        done = await run_preloaded(("hooks", "check", *arguments), ROOT, os.environ)
    assert done.returncode == status


@pytest.mark.parametrize(
    ("match", "verdict"),
    [
        ({"tools": ["Bash"]}, "FAIL"),
        ({"roles": ["role:ops"]}, "FAIL"),
        ({"agents": ["mian"]}, "warn"),
        ({"tools": ["bash"]}, ""),
    ],
)
async def test_of_a_configured_hook_a_match_that_no_gateway_starts_with_is_a_failure(
    tmp_path: Path, match: dict[str, list[str]], verdict: str
) -> None:
    table = ", ".join(f"{name} = {json.dumps(patterns)}" for name, patterns in match.items())
    guard = hook(tmp_path, "guard", f'intercept = ["before_tool"]\non_failure = "deny"\nmatch = {{ {table} }}')
    configured(tmp_path, "http://127.0.0.1:1", guard)
    done = await run(tmp_path, "hooks", "check", "guard", "--json")
    said = [it for it in json.loads(done.stdout)["checks"] if it["check"] == "match"]
    assert ([it["verdict"] for it in said], done.returncode) == ([verdict] if verdict else [], int(verdict == "FAIL"))
    assert all(it["what"].startswith(f"match.{next(iter(match))}: ") for it in said)


# --- the pure parts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "check"),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": ["number", "null"]}, 1),
        ({"enum": ["b", "a"]}, "b"),
        ({"type": "string", "default": "x"}, "x"),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, False),
        ({"type": "array", "items": {"type": "null"}, "minItems": 2}, [None, None]),
        ({"type": "object", "properties": {"a": {"const": 1}, "b": {}}, "required": ["a"]}, {"a": 1}),
        ({"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"a": "check"}),
        ({}, "check"),
    ],
)
def test_a_sample_fits_its_schema(schema: Json, value: Json) -> None:
    assert sample(schema) == value


def test_only_whole_echoes_are_judged() -> None:
    assert changed_texts({"a": [ODD_TEXT, ODD_TEXT[:20]], "b": json.dumps(ODD_TEXT)}) == []
    latin = ODD_TEXT.encode().decode("latin-1")
    assert changed_texts({"a": latin}) == [latin]
    assert is_mangled(latin)
    assert not is_mangled(ODD_TEXT.upper())


def test_a_number_that_is_no_integer_any_more_is_found_wherever_it_stands() -> None:
    echoed = {"a": {"check_number": NUMBER}, "b": [{"check_number": float(NUMBER)}, {"check_number": str(NUMBER)}]}
    assert changed_numbers(echoed) == [float(NUMBER), str(NUMBER)]


def test_the_escaped_spelling_is_ascii_and_means_the_same() -> None:
    params = json.dumps({"text": ODD_TEXT}, ensure_ascii=False).encode()
    spelled = ascii_spelling(params)
    assert spelled.isascii()
    assert json.loads(spelled) == json.loads(params)


def test_a_mailbox_keeps_answers_strays_and_noise_apart() -> None:
    heard = StrayOutput()
    box = Mailbox(heard)
    for _ in range(2):
        box.request("hook.x", b"{}")
    box.receive(b'{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}\n{"id":1,"result"')
    box.receive(b':true}\n{"id":"1","result":1}\n{"id":1,"result":2}\nhello\n[]\n{"id":9,"method":"m"}\n\n')
    assert box.answers == {2: ErrorAnswer(-1, "no"), 1: Result(True)}
    assert box.strays == [('{"id":"1","result":1}', "after the answer to x (id 1)")]
    assert (heard.twice, heard.second) == ({"hook.x": "x (id 1)"}, '{"id":1,"result":2}')
    assert heard.place == "after the answer to x (id 1)"
    assert (heard.noise, heard.lines, heard.methods, heard.unversioned) == (2, ["hello", "[]"], {"m"}, 3)
    assert [json.loads(frame)["error"]["code"] for frame in box.owed] == [-32601]
