"""One conformance run over the three SDKs: the same hook in Python, Go and TypeScript gives the same answers and the
same errors, and answers as many calls at once. Answers are compared as hookgate reads them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import trio

from hookgate.check.run import check
from hookgate.protocol.hook.answers import parse_answer
from hookgate.protocol.hook.hello import parse_hello
from hookgate.protocol.hook.schema import json_schema
from hookgate.protocol.hook.stages import Stage
from tests.examples.programs import nodes
from tests.gotool import run_go
from tests.wire import ErrorReply, open_child

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "plugins"
WORDS = Path(__file__).parent / "words"
TSC = ROOT / ".venv" / "sdk" / "node_modules"
DEADLINE_S = 60.0
LANGUAGES = ("python", "go", "typescript")
HELLO = {"name": "words", "version": 1, "stages": [*Stage], "modes": ["observe", "llm", "tool", "approve", "message"]}
CALL = {
    "meta": {"AgentID": "main", "TurnID": "main-turn-3", "SessionKey": "telegram:7", "Iteration": 0},
    "tool": "bash",
    "channel": "telegram",
    "chat_id": "7",
    "tool_call_id": "call_1",
    "deadline_ms": 60_000,
}
Hook = Callable[[str], list[str]]


def call(do: str, **arguments: object) -> dict[str, Any]:
    return {**CALL, "arguments": {"do": do, **arguments}}


def stripping_node() -> str:
    """A Node that runs TypeScript as it is, without a flag."""
    for node in nodes().values():
        done = subprocess.run([node, "-p", "process.features.typescript"], capture_output=True, text=True, timeout=60)
        if done.stdout.strip() not in ("", "false", "undefined"):
            return node
    pytest.skip("no Node here that strips types: 22.18 or later")


@pytest.fixture(scope="session")
def hook(tmp_path_factory: pytest.TempPathFactory) -> Hook:
    """The command of the hook in a language: it lies in a folder of its own, beside its SDK."""
    known: dict[str, list[str]] = {}

    def made(language: str) -> list[str]:
        if language not in known:
            known[language] = _made(language, tmp_path_factory.mktemp(language))
        return known[language]

    return made


def _made(language: str, folder: Path) -> list[str]:
    match language:
        case "python":
            for file in (WORDS / "words.py", PLUGINS / "python" / "hookgate_plugin.py"):
                shutil.copy(file, folder)
            return [sys.executable, str(folder / "words.py")]
        case "typescript":
            node = stripping_node()
            for file in (WORDS / "words.mts", PLUGINS / "typescript" / "hookgate_plugin.mts"):
                shutil.copy(file, folder)
            return [node, str(folder / "words.mts")]
        case _:
            shutil.copy(WORDS / "main.go", folder)
            run_go("mod", "init", "words", cwd=folder)
            run_go("mod", "edit", f"-replace=hookgate.internal/plugin={PLUGINS / 'go'}", cwd=folder)
            run_go("build", "-o", "words", ".", cwd=folder)
            return [str(folder / "words")]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_same_hook_passes_the_check_without_a_warning(hook: Hook, language: str) -> None:
    command = hook(language)
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    with trio.fail_after(DEADLINE_S):
        report = await check(tuple(command), environment, str(ROOT))
    assert [(f.check, f.what) for f in report.findings if f.verdict in ("FAIL", "warn")] == []


@pytest.mark.parametrize("language", LANGUAGES)
async def test_it_declares_the_same(hook: Hook, language: str) -> None:
    async with open_child(hook(language), {"LIMIT": "5"}) as child:
        hello = parse_hello(await child.call("hook.hello", HELLO), frozenset(Stage))
    assert (hello.name, hello.stages, hello.events) == ("words", frozenset(Stage), ("tool_*", "turn_end"))
    assert (hello.cancel, hello.max_in_flight, [tool.name for tool in hello.tools]) == (True, 5, ["echo"])


def said(text: str, **members: object) -> dict[str, Any]:
    return {**CALL, "message": {"text": text, "media": [], "kind": "message"}, **members}


TOLD = {"for_llm": "for the model", "for_user": "for the user", "is_error": True, "media": ["data:,x"]}
ASKED = {
    "title": "Run?",
    "text": "this",
    "approvers": ["role:ops"],
    "ttl_s": 60,
    "required": 2,
    "self_approval": True,
}
MESSAGES = [
    {"role": "user", "content": "hi"},
    {"role": "tool", "content": "not found", "tool_call_id": "c1", "is_error": True},
]
DONE = {"for_llm": "ok", "for_user": "", "silent": False, "is_error": False, "async": False, "media": []}
ANSWERS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("on_message", said(""), {"action": "continue"}),
    ("on_message", said("modify"), {"action": "modify", "message": {"text": "changed"}}),
    ("on_message", said("reply"), {"action": "respond", "reply": {"text": "answered", "media": ["data:,x"]}}),
    ("on_message", said("drop"), {"action": "drop", "reason": "spam"}),
    ("on_message", said("silent"), {"action": "drop", "reason": "spam", "tell": ""}),
    ("on_message", said("abort"), {"action": "abort_turn", "reason": "enough"}),
    (
        "before_llm",
        {**CALL, "model": "p/m", "messages": MESSAGES, "tools": [], "options": {}},
        {
            "action": "modify",
            "request": {"model": "p/m!", "messages": [*MESSAGES, {"role": "user", "content": "also"}]},
        },
    ),
    (
        "after_llm",
        {**CALL, "model": "p/m", "response": {"role": "assistant", "content": "grün", "tool_calls": []}},
        {"action": "modify", "response": {"content": "GRÜN"}},
    ),
    ("before_tool", call(""), {"action": "continue"}),
    ("before_tool", call("deny"), {"action": "deny_tool", "reason": "bash call_1 7 main-turn-3"}),
    (
        "before_tool",
        call("modify", n=2**60 + 1),
        {"action": "modify", "call": {"arguments": {"do": "changed", "n": 2**60 + 1}}},
    ),
    ("before_tool", call("respond"), {"action": "respond", "result": TOLD}),
    ("before_tool", call("abort"), {"action": "abort_turn", "reason": "enough"}),
    ("before_tool", call("hard_abort"), {"action": "hard_abort", "reason": "enough"}),
    (
        "before_tool",
        {**CALL, "tool": "echo", "arguments": {"text": "again"}},
        {"action": "respond", "result": {"for_llm": "again"}},
    ),
    ("approve_tool", call("approve"), {"approved": True}),
    ("approve_tool", call("refuse"), {"approved": False, "reason": "no"}),
    ("approve_tool", call("ask"), {"ask": ASKED}),
    (
        "after_tool",
        {**call(""), "result": DONE, "duration": 7},
        {"action": "modify", "result": {"for_llm": "ok in 7 ns"}},
    ),
    ("before_send", said("", in_reply_to="311"), {"action": "continue"}),
    ("before_send", said("drop", in_reply_to="311"), {"action": "drop", "reason": "in reply to 311"}),
]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_every_word_means_the_same(hook: Hook, language: str) -> None:
    async with open_child(hook(language)) as child:
        given = [await child.call(f"hook.{stage}", params) for stage, params, _ in ANSWERS]
        hello = await child.call("hook.hello", HELLO)
    schema = {"$defs": json_schema()["$defs"]}
    assert jsonschema_rs.is_valid({"$ref": "#/$defs/HelloResult", **schema}, hello)
    for (stage, _, _), answer in zip(ANSWERS, given, strict=True):
        result = "".join(word.capitalize() for word in stage.split("_")) + "Result"
        assert jsonschema_rs.is_valid({"$ref": f"#/$defs/{result}", **schema}, answer), answer
    read = [parse_answer(Stage(stage), answer) for (stage, _, _), answer in zip(ANSWERS, given, strict=True)]
    assert read == [parse_answer(Stage(stage), answer) for stage, _, answer in ANSWERS]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_nothing_said_at_approve_tool_refuses(hook: Hook, language: str) -> None:
    async with open_child(hook(language)) as child:
        assert parse_answer(Stage.APPROVE_TOOL, await child.call("hook.approve_tool", call(""))).action == "refuse"


@pytest.mark.parametrize("language", ["python", "typescript"])
async def test_an_answer_without_an_action_ends_nothing_and_hides_nothing(hook: Hook, language: str) -> None:
    """In Go an answer has its action from the word that makes it, and a stage one function."""
    async with open_child(hook(language)) as child:
        unclear = await child.call("hook.before_tool", call("unclear"))
        checked = await child.call("hook.before_tool", call("checked"))
    assert unclear == {"decision": "deny_tool", "reason": "no"}
    assert checked == {"action": "deny_tool", "reason": "the second"}


ERRORS: list[tuple[str, Any, int, str]] = [
    ("hook.later", {}, -32601, "unknown method hook.later"),
    ("tools/list", {}, -32601, "unknown method tools/list"),
    ("hook.before_tool", [1], -32602, "params"),
    ("hook.before_tool", call("fail"), -32000, "not today"),
    ("hook.approve_tool", call("fail"), -32000, ""),
]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_what_cannot_be_answered_gets_the_same_error_and_the_next_call_its_answer(
    hook: Hook, language: str
) -> None:
    async with open_child(hook(language)) as child:
        await child.send_raw(b'garbage\n\n[1,2]\n\xff\xfe\n{"jsonrpc":"2.0","method":"hook.later","params":{}}\n')
        for method, params, code, words in ERRORS:
            with pytest.raises(ErrorReply) as error:
                await child.call(method, params)
            assert error.value.code == code
            assert words in error.value.message
        assert await child.call("hook.before_tool", call("")) == {"action": "continue"}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_calls_are_answered_side_by_side_and_no_more_of_them_than_are_allowed(
    hook: Hook, language: str
) -> None:
    async with open_child(hook(language)) as child:
        for number in range(1, 51):
            await child.send("hook.before_tool", call("hold"), id=number)
        await child.send("hook.before_tool", call("release"), id=51)
        assert await child.reply_to(51) == {"action": "continue"}
        held = [(await child.reply_to(number))["reason"] for number in range(1, 51)]
    assert held == ["held"] * 50
    async with open_child(hook(language), {"LIMIT": "3"}) as child:
        for number in range(1, 13):
            await child.send("hook.before_tool", call("count"), id=number)
        peaks = {(await child.reply_to(number))["reason"] for number in range(1, 13)}
    assert peaks == {"3"}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_cancelled_call_is_told_and_not_answered(hook: Hook, language: str) -> None:
    async with open_child(hook(language)) as child:
        await child.send("hook.before_tool", call("wait"), id=900)
        # One that has not begun would never begin.
        await child.wait_stderr("it waits")
        await child.call("hook.before_tool", call(""))
        await child.send("hook.cancel", {"id": 900})
        await child.wait_stderr("the wait is over")
        await child.close_stdin()
        assert await child.wait_exit() == 0
        assert await child.read_line() == b""


@pytest.mark.parametrize("language", LANGUAGES)
async def test_events_come_in_order_and_what_is_printed_does_not_reach_the_wire(hook: Hook, language: str) -> None:
    async with open_child(hook(language)) as child:
        for kind, dropped in (("turn_start", 0), ("tool_exec_start", 2), ("turn_end", 0)):
            params = {"Kind": kind, "Meta": {}, "Payload": {}, **({"Dropped": dropped} if dropped else {})}
            await child.send("hook.event", params)
        await child.send("hook.runtime_event", {"kind": "tool_x", "payload": {}})
        answer = await child.call("hook.before_tool", call("print"))
        for text in ("printed", "from a child", "heard tool_x after 0"):
            await child.wait_stderr(text)
        await child.close_stdin()
        assert await child.wait_exit() == 0
        assert await child.read_line() == b""
    assert answer == {"action": "deny_tool", "reason": "stdin has 0 bytes"}
    heard = [line.partition("heard ")[2] for line in child.stderr.splitlines() if "heard " in line]
    assert heard == ["tool_exec_start after 2", "turn_end after 0", "tool_x after 0"]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_call_that_runs_may_end_after_stdin_has(hook: Hook, language: str) -> None:
    async with open_child(hook(language)) as child:
        await child.send("hook.before_tool", call("hold"), id=1)
        await child.send("hook.before_tool", call("release"), id=2)
        await child.close_stdin()
        assert (await child.reply_to(1))["reason"] == "held"
        assert await child.wait_exit() == 0


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_call_that_never_ends_does_not_keep_the_process(hook: Hook, language: str) -> None:
    async with open_child(hook(language)) as child:
        await child.send("hook.before_tool", call("wait"), id=901)
        await child.call("hook.before_tool", call(""))
        await child.close_stdin()
        assert await child.wait_exit() == 0


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_reader_that_has_gone_ends_it_without_a_crash(hook: Hook, language: str) -> None:
    async with open_child(hook(language)) as child:
        await child.call("hook.before_tool", call(""))
        assert child.process.stdout
        await child.process.stdout.aclose()
        for number in range(1, 4):
            with contextlib.suppress(trio.BrokenResourceError):
                await child.send("hook.before_tool", call("deny"), id=number)
        await child.close_stdin()
        assert await child.wait_exit() == 0
        assert "EPIPE" not in child.stderr


# A Go program ends by the signal itself: it has nothing to write after it.
@pytest.mark.parametrize("language", ["python", "typescript"])
async def test_a_signal_lets_what_runs_end(hook: Hook, language: str) -> None:
    async with open_child(hook(language)) as child:
        await child.send("hook.before_tool", call("hold"), id=901)
        await child.call("hook.before_tool", call(""))
        child.process.terminate()
        await child.send("hook.before_tool", call("release"), id=902)
        assert (await child.reply_to(901))["reason"] == "held"
        assert await child.wait_exit() == 0


def test_the_typescript_sdk_its_example_and_what_anybody_would_write_have_no_mistake_of_types(tmp_path: Path) -> None:
    if not TSC.exists():
        pytest.skip("no TypeScript here: make .venv/.sdk")
    for file in (
        *(PLUGINS / "typescript").glob("*.mts"),
        *WORDS.glob("*.mts"),
        PLUGINS / "typescript" / "tsconfig.json",
    ):
        shutil.copy(file, tmp_path)
    command = [nodes()["bundled"], TSC / "typescript" / "bin" / "tsc", "-p", ".", "--typeRoots", TSC / "@types"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE_S * 2)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_example_guard_denies_what_destroys_and_nothing_else(tmp_path: Path, language: str) -> None:
    command = {
        "python": lambda: [sys.executable, str(PLUGINS / "python" / "guard.py")],
        "typescript": lambda: [stripping_node(), str(PLUGINS / "typescript" / "guard.mts")],
        "go": lambda: [_built_guard(tmp_path)],
    }[language]()
    commands = {
        "sudo rm -rf": "'rm -rf' is not allowed here",
        "rm -r x": "",
        "mkfs /dev/sda": "'mkfs' is not allowed here",
    }
    async with open_child(command) as child:
        for text, reason in commands.items():
            answer = await child.call("hook.before_tool", {**CALL, "arguments": {"command": text}})
            assert answer.get("reason", "") == reason
        other = {**CALL, "tool": "read", "arguments": {"command": "rm -rf /"}}
        assert await child.call("hook.before_tool", other) == {"action": "continue"}
    async with open_child(command, {"GUARD_PATTERNS": "^reboot\n\nhalt"}) as child:
        answer = await child.call("hook.before_tool", {**CALL, "arguments": {"command": "halt now"}})
    assert answer == {"action": "deny_tool", "reason": "'halt' is not allowed here"}


def _built_guard(folder: Path) -> str:
    run_go("build", "-o", f"{folder}/guard", "./cmd/guard", cwd=PLUGINS / "go")
    return str(folder / "guard")


async def test_the_hook_of_the_typescript_page_denies_what_it_says(tmp_path: Path) -> None:
    node = stripping_node()
    page = (PLUGINS / "typescript" / "README.md").read_text()
    (tmp_path / "my_hook.mts").write_text(page.partition("```typescript\n")[2].partition("```")[0])
    shutil.copy(PLUGINS / "typescript" / "hookgate_plugin.mts", tmp_path)
    async with open_child([node, tmp_path / "my_hook.mts"]) as child:
        denied = await child.call("hook.before_tool", {**CALL, "arguments": {"command": "rm -rf /"}})
        passed = await child.call("hook.before_tool", {**CALL, "arguments": {"command": "ls"}})
    assert (denied["action"], passed["action"]) == ("deny_tool", "continue")


def test_a_typescript_hook_on_sockets_keeps_its_own_prints_off_the_wire(hook: Hook) -> None:
    """As a program starts it whose pipes are sockets: those cannot be opened a second time."""
    command, (ours, theirs) = hook("typescript"), socket.socketpair()
    with ours, theirs:
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE)
        theirs.close()
        said = {"jsonrpc": "2.0", "id": 1, "method": "hook.before_tool", "params": call("deny")}
        ours.settimeout(DEADLINE_S)
        ours.sendall(json.dumps(said).encode() + b"\n")
        with ours.makefile("rb") as answers:
            assert json.loads(answers.readline())["result"]["action"] == "deny_tool"
            ours.shutdown(socket.SHUT_WR)
            assert answers.read() == b""
        assert process.wait(DEADLINE_S) == 0
        assert process.stderr
        process.stderr.close()
