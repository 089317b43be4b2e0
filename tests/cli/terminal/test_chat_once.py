"""`hookgate chat --once` as a process: stdout is the answer and nothing else, a failure is one line on stderr."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from hookgate.config import ConfigError, parse
from tests.cli.program import DEADLINE_S, configured, hook, none_left, open_pipes, processes_of, run
from tests.model_server import Answer, calls, cut, fails, hang, open_model_server, says
from tests.processes import until

NOBODY = "http://127.0.0.1:9/v1"


async def test_the_answer_stands_alone_on_stdout(tmp_path: Path) -> None:
    async with open_model_server(calls(("1", "ls", "{}")), says("One ", "file.")) as server:
        ended = await run(configured(tmp_path, server.base_url), "chat", "--once", "What is here?")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"One file.\n", b"")
    assert "hookgate.toml" in server.requests[1].body["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("answers", "line"),
    [
        ((fails(401, "bad key"),), "The model call failed (auth): p: 127.0.0.1"),
        (
            (fails(500, "oops\nTraceback (most recent call last)"),) * 3,
            "The model call failed (server): p: 127.0.0.1",
        ),
        ((cut(says("half ", "an answer"), 2),) * 3, "The model call failed (network): p: 127.0.0.1"),
        ((says(), says()), "The model call failed (empty): p: 127.0.0.1"),
    ],
)
async def test_a_failure_is_exactly_one_line_on_stderr(
    tmp_path: Path, answers: tuple[Answer, ...], line: str
) -> None:
    async with open_model_server(*answers) as server:
        ended = await run(configured(tmp_path, server.base_url), "chat", "--once", "hello")
    assert (ended.returncode, ended.stdout) == (1, b"")
    [said] = ended.stderr.decode().splitlines()
    assert said.startswith(line)


async def test_an_endpoint_that_is_not_there_is_one_line_too(tmp_path: Path) -> None:
    ended = await run(configured(tmp_path, NOBODY), "chat", "--once", "hello")
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert ended.stderr == b"The model call failed (network): p: 127.0.0.1:9 cannot be reached: Connection refused\n"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("[tols]\n", "tols: unknown key (did you mean 'tools'?)"),
        ('[hooks.processes.h]\ncommand = ["true"]\nintercept = ["befor_tool"]\n', "'befor_tool' is no stage"),
        ('[[approvals]]\nname = "x"\n', "approvals.0: name the tools"),
        ('[providers.q]\nkind = "openai"\nbase_url = "ftp://x"\n', "providers.q.base_url: must start with http://"),
        ("[agent]\n", "hookgate.toml: "),
    ],
)
async def test_a_mistake_in_the_configuration_ends_with_2_and_names_its_place(
    tmp_path: Path, more: str, said: str
) -> None:
    ended = await run(configured(tmp_path, NOBODY, more), "chat", "--once", "hello")
    assert (ended.returncode, ended.stdout) == (2, b"")
    [line] = ended.stderr.decode().splitlines()
    assert line.startswith("hookgate: ")
    assert said in line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[approvals]]\nname = "x"\ntools = ["a"]\n' * 2, "approvals: there are two rules named 'x'"),
        (
            '[[approvals]]\ntools = ["*"]\norigins = ["txt"]\n',
            "approvals.0.origins: 'txt' is no origin of a call (did",
        ),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(text, Path("hookgate.toml"))
    assert said in str(refused.value)


async def test_a_missing_configuration_ends_with_2(tmp_path: Path) -> None:
    ended = await run(tmp_path, "chat", "--once", "hello")
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert b"there is no such file" in ended.stderr


async def test_a_required_hook_that_does_not_start_ends_with_1(tmp_path: Path) -> None:
    more = '[log]\nlevel = "error"\n[hooks.processes.h]\ncommand = ["false"]\nobserve = ["*"]\nrequired = true\n'
    ended = await run(configured(tmp_path, NOBODY, more), "chat", "--once", "hello")
    assert (ended.returncode, ended.stdout) == (1, b"")
    [line] = ended.stderr.decode().splitlines()
    assert line.startswith("hookgate: hook h is required but ")


async def test_the_event_file_has_every_event_and_gate_decision(tmp_path: Path) -> None:
    guard = hook(tmp_path, "guard", 'intercept = ["before_tool"]\non_failure = "deny"')
    wanted = calls(("1", "bash", '{"command": "rm -rf /x"}'))
    async with open_model_server(wanted, says("No.")) as server:
        folder = configured(tmp_path, server.base_url, guard)
        ended = await run(folder, "chat", "--once", "go", "--events", "events.jsonl")
    assert ended.returncode == 0
    rows = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert all(row.keys() == {"kind", "time", "meta", "payload"} for row in rows)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", row["time"]) for row in rows)
    [decision] = [row for row in rows if row["kind"] == "gate_decision"]
    assert decision["meta"]["SessionKey"] == "cli:terminal"
    payload = decision["payload"]
    assert (payload["hook"], payload["stage"], payload["action"], payload["tool"]) == (
        "guard",
        "before_tool",
        "deny_tool",
        "bash",
    )
    assert payload["duration_ns"] > 0
    kinds = [row["kind"] for row in rows if row["kind"] not in ("hook_state", "gate_decision", "stage_call")]
    assert kinds[0] == "turn_start"
    assert kinds[-1] == "turn_end"


async def test_an_event_file_that_cannot_be_opened_is_a_mistake(tmp_path: Path) -> None:
    ended = await run(configured(tmp_path, NOBODY), "chat", "--once", "go", "--events", "no/such/folder")
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr.count(b"\n") == 1


async def test_the_trace_goes_to_stderr_and_leaves_stdout_alone(tmp_path: Path) -> None:
    guard = hook(tmp_path, "guard", 'intercept = ["before_tool"]\non_failure = "deny"')
    wanted = calls(("1", "bash", '{"command": "rm -rf /x"}'))
    async with open_model_server(wanted, says("No.")) as server:
        ended = await run(configured(tmp_path, server.base_url, guard), "chat", "--once", "go", "--trace")
    assert ended.stdout == b"No.\n"
    trace = ended.stderr.decode()
    assert re.search(r"\| before_tool +guard \[bash\] +deny_tool +[\d.]+ ms", trace)
    assert trace.count("| model call") == 2


@pytest.mark.parametrize("shows_denials", [False, True])
async def test_a_call_that_needs_a_person_is_denied_when_nobody_can_be_asked_and_a_line_says_so(
    tmp_path: Path, shows_denials: bool
) -> None:
    rule = '[[approvals]]\ntools = ["bash"]\n'
    wanted = calls(("1", "bash", '{"command": "touch made"}'))
    async with open_model_server(wanted, says("I may not.")) as server:
        folder = configured(tmp_path, server.base_url, rule)
        if shows_denials:
            file = folder / "hookgate.toml"
            file.write_text(file.read_text().replace("[agent]", "[agent]\nshow_denials = true"))
        ended = await run(folder, "chat", "--once", "go")
    assert (ended.returncode, ended.stdout) == (0, b"I may not.\n")
    assert ended.stderr.count(b"nobody can be asked here: this is no terminal (--yes approves)\n") == 1
    assert (b"! bash is refused: nobody" in ended.stderr) is not shows_denials
    assert not (tmp_path / "made").exists()
    told = server.requests[1].body["messages"][-1]["content"]
    assert told == "Tool execution denied by approval: nobody can be asked here: this is no terminal (--yes approves)"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_with_one_line_and_leaves_no_process_behind(
    tmp_path: Path, number: signal.Signals
) -> None:
    guard = hook(tmp_path, "guard", 'intercept = ["before_tool"]\non_failure = "deny"')
    async with open_model_server(hang(says("I was"), 1)) as server:
        folder = configured(tmp_path, server.base_url, guard)
        async with open_pipes(folder, "chat", "--once", "go") as screen:
            await screen.hang_up()
            with trio.fail_after(DEADLINE_S):
                await server.arrived.wait()
            await until(lambda: processes_of(tmp_path))
            screen.process.send_signal(number)
            assert await screen.ends() == 130
            await screen.sees("hookgate: it was interrupted before an answer\n")
    await none_left(tmp_path)


# --- a third party's server ---------------------------------------------------------------------------------

RULES = """
version: 1
rules:
  - name: after a tool
    when: {tool_result_contains: "denied by hook"}
    respond: {content: "I was not allowed to."}
  - name: call
    when: {messages_contain: "clean up"}
    respond:
      tool_calls:
        - {name: bash, arguments: {command: "rm -rf releases"}}
  - name: greeting
    when: {messages_contain: "hello"}
    respond: {content: "Hi there."}
"""


@pytest.fixture(scope="module")
def fakellm_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    rules = tmp_path_factory.mktemp("fakellm") / "rules.yaml"
    rules.write_text(RULES, encoding="utf-8")
    command = [sys.executable, "-m", "fakellm.cli", "serve", "--port", "0", "--config", str(rules)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        deadline = threading.Timer(DEADLINE_S, process.kill)
        deadline.start()
        try:
            lines = process.stderr or ()
            yield next(found[1] for line in lines if (found := re.search(r"running on (http://\S+)", line)))
        finally:
            deadline.cancel()
            process.terminate()
            process.communicate(timeout=10)


@pytest.mark.parametrize(
    ("question", "answer"), [("hello", b"Hi there.\n"), ("clean up, please", b"I was not allowed to.\n")]
)
async def test_it_works_against_a_server_that_knows_nothing_of_hookgate(
    tmp_path: Path, fakellm_url: str, question: str, answer: bytes
) -> None:
    guard = hook(tmp_path, "guard", 'intercept = ["before_tool"]\non_failure = "deny"')
    ended = await run(configured(tmp_path, f"{fakellm_url}/v1", guard), "chat", "--once", question)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, answer, b"")
