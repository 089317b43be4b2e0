"""The Go SDK and its two example hooks: their own checks, then each as a real process spoken to line by line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.protocol.hook.answers import CONTINUE, Ask, Deny, Modify, parse_answer
from hookgate.protocol.hook.hello import parse_hello
from hookgate.protocol.hook.stages import Stage
from tests.gotool import run_go
from tests.wire import ErrorReply, open_child

ROOT = Path(__file__).parents[2]
MODULE = ROOT / "plugins" / "go"
OFFERED = ["before_llm", "after_llm", "before_tool", "approve_tool", "after_tool"]
HELLO = {"name": "go", "version": 1, "stages": OFFERED, "modes": ["observe", "llm", "tool", "approve"]}

# A hook that prints in every way that could reach the wire: early, by name, by descriptor, and from a child.
NOISY = """
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"

	"hookgate.internal/plugin/hook"
)

var early = log.New(os.Stdout, "early ", 0)

func main() {
	h := hook.New("noisy")
	fmt.Print("no newline here")
	h.BeforeTool(func(ctx context.Context, c hook.ToolCall) (hook.Answer, error) {
		early.Print("logged")
		fmt.Println("printed")
		child := exec.CommandContext(ctx, "sh", "-c", "echo from the child; cat")
		child.Stdin, child.Stdout = os.Stdin, os.Stdout
		if err := child.Run(); err != nil {
			return hook.Continue(), err
		}
		rest, err := io.ReadAll(os.Stdin)
		return hook.Deny(fmt.Sprintf("%s: stdin has %d bytes", c.Tool, len(rest))), err
	})
	h.ApproveTool(func(ctx context.Context, c hook.ToolCall) (hook.Approval, error) {
		if c.Text("command") == "wait" {
			fmt.Println("it waits")
			<-ctx.Done()
			fmt.Println("the wait is over")
		}
		return hook.Ask(hook.Question{Title: "Run " + c.Tool + "?", TTLSeconds: 60}), nil
	})
	h.Tool(hook.ToolSpec{Name: "count"}, func(context.Context, hook.ToolCall) (hook.ToolResult, error) {
		panic("not today")
	})
	os.Exit(h.Run())
}
"""


@pytest.fixture(scope="session")
def binaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the built examples, `redact` and `guard`."""
    folder = tmp_path_factory.mktemp("go")
    run_go("build", "-o", f"{folder}/", "./cmd/...", cwd=MODULE)
    return folder


@pytest.fixture(scope="session")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hook in a module of its own, as plugins/go/README.md says."""
    folder = tmp_path_factory.mktemp("noisy")
    (folder / "main.go").write_text(NOISY)
    needs = f"require hookgate.internal/plugin v0.0.0\n\nreplace hookgate.internal/plugin => {MODULE}\n"
    (folder / "go.mod").write_text(f"module noisy\n\ngo 1.21\n\n{needs}")
    run_go("build", "-o", "noisy", ".", cwd=folder)
    return folder / "noisy"


def about_bash(command: str, **members: object) -> dict[str, Any]:
    return {
        "meta": {"AgentID": "main", "TurnID": "main-turn-3", "SessionKey": "telegram:-42:7", "Iteration": 0},
        "tool": "bash",
        "arguments": {"command": command},
        "channel": "telegram",
        "chat_id": "-42",
        "tool_call_id": "call_1",
        "deadline_ms": 10_000,
        **members,
    }


def finished(for_llm: str, for_user: str = "") -> dict[str, Any]:
    result = {"for_llm": for_llm, "for_user": for_user, "silent": False, "is_error": False, "async": False}
    return about_bash("cat .env", result=result, duration=18_000_000)


def test_the_module_passes_its_own_checks() -> None:
    run_go("vet", "./...", cwd=MODULE)
    run_go("test", "./...", cwd=MODULE)


@pytest.mark.parametrize(("name", "stage"), [("guard", Stage.BEFORE_TOOL), ("redact", Stage.AFTER_TOOL)])
async def test_an_example_declares_its_one_stage(binaries: Path, name: str, stage: Stage) -> None:
    async with open_child([binaries / name]) as child:
        hello = parse_hello(await child.call("hook.hello", HELLO), frozenset(Stage))
    assert (hello.name, hello.stages, hello.events, hello.cancel) == (name, {stage}, (), True)


async def test_guard_denies_a_dangerous_command_and_passes_others(binaries: Path) -> None:
    async with open_child([binaries / "guard"]) as child:
        denied = await child.call("hook.before_tool", about_bash("sudo rm -rf / --no-preserve-root"))
        passed = await child.call("hook.before_tool", about_bash("df -h /"))
        other = await child.call("hook.before_tool", about_bash("rm -rf /", tool="read_file"))
    assert denied == {"action": "deny_tool", "reason": "'rm -rf' is not allowed here"}
    assert parse_answer(Stage.BEFORE_TOOL, denied) == Deny("'rm -rf' is not allowed here")
    assert passed == other == {"action": "continue"}


async def test_guard_takes_its_patterns_from_the_environment(binaries: Path) -> None:
    async with open_child([binaries / "guard"], env={"GUARD_PATTERNS": "^reboot\n\nhalt"}) as child:
        denied = await child.call("hook.before_tool", about_bash("halt now"))
        passed = await child.call("hook.before_tool", about_bash("rm -rf /"))
    assert (denied["action"], passed["action"]) == ("deny_tool", "continue")


@pytest.mark.parametrize("name", ["guard", "redact"])
async def test_a_bad_pattern_refuses_to_start_and_says_why(binaries: Path, name: str) -> None:
    async with open_child([binaries / name], env={f"{name.upper()}_PATTERNS": "("}) as child:
        assert await child.wait_exit() == 2
        await child.wait_stderr("missing closing )")
        assert await child.read_line() == b""


async def test_redact_masks_secrets_and_names_only_what_changes(binaries: Path) -> None:
    async with open_child([binaries / "redact"]) as child:
        masked = await child.call("hook.after_tool", finished("KEY=sk-aaaabbbbccccdddd1111\npassword=hunter2"))
        both = await child.call("hook.after_tool", finished("AKIAIOSFODNN7EXAMPLE", for_user="token: abc"))
        clean = await child.call("hook.after_tool", finished("nothing here", for_user="done"))
    assert masked == {"action": "modify", "result": {"for_llm": "KEY=[redacted]\npassword=[redacted]"}}
    changes = {"for_llm": "[redacted]", "for_user": "token: [redacted]"}
    assert parse_answer(Stage.AFTER_TOOL, both) == Modify(changes)
    assert parse_answer(Stage.AFTER_TOOL, clean) == CONTINUE


async def test_a_line_of_megabytes_comes_back_whole(binaries: Path) -> None:
    async with open_child([binaries / "redact"]) as child:
        text = "é" * 3_000_000

        async def read(result: list[Any]) -> None:
            result.append(await child.reply_to(7))

        async with trio.open_nursery() as nursery:
            replies: list[Any] = []
            nursery.start_soon(read, replies)
            await child.send("hook.after_tool", finished(text + " password=x"), id=7)
    assert replies == [{"action": "modify", "result": {"for_llm": text + " password=[redacted]"}}]


async def test_noise_on_stdin_is_skipped(binaries: Path) -> None:
    async with open_child([binaries / "guard"]) as child:
        await child.send_raw(b'garbage\n[]\n\n{"jsonrpc":"2.0","method":"hook.later","params":{}}\n{"broken":\n')
        assert await child.call("hook.before_tool", about_bash("ls")) == {"action": "continue"}
        await child.wait_stderr('"garbage"')
        with pytest.raises(ErrorReply, match="unknown method") as failure:
            await child.call("hook.nonsense", {})
        assert failure.value.code == -32601


async def test_a_burst_of_calls_is_answered_call_by_call(binaries: Path) -> None:
    async with open_child([binaries / "guard"]) as child:
        for number in range(1, 301):
            await child.send("hook.before_tool", about_bash("mkfs" if number % 3 else "ls"), id=number)
        actions = [(await child.reply_to(number))["action"] for number in range(1, 301)]
    assert actions == ["deny_tool" if number % 3 else "continue" for number in range(1, 301)]


async def test_the_end_of_stdin_ends_the_process_at_once_when_idle(binaries: Path) -> None:
    async with open_child([binaries / "guard"]) as child:
        await child.call("hook.hello", HELLO)
        await child.close_stdin()
        assert await child.wait_exit() == 0
        assert await child.read_line() == b""


async def test_a_last_call_without_newline_is_answered_before_the_end(binaries: Path) -> None:
    async with open_child([binaries / "guard"]) as child:
        await child.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"hook.before_tool","params":{"tool":"bash"}}')
        await child.close_stdin()
        assert await child.reply_to(1) == {"action": "continue"}
        assert await child.wait_exit() == 0


async def test_a_closed_reader_does_not_kill_the_process_by_signal(binaries: Path) -> None:
    async with open_child([binaries / "guard"]) as child:
        assert child.process.stdout
        await child.process.stdout.aclose()
        await child.send("hook.before_tool", about_bash("ls"), id=1)
        await child.close_stdin()
        assert await child.wait_exit() == 0


async def test_nothing_that_a_plugin_prints_reaches_the_wire(noisy: Path) -> None:
    async with open_child([noisy]) as child:
        hello = parse_hello(await child.call("hook.hello", HELLO), frozenset(Stage))
        answer = await child.call("hook.before_tool", about_bash("ls"))
        await child.wait_stderr("from the child")
        await child.close_stdin()
        assert await child.wait_exit() == 0
        assert await child.read_line() == b""
    assert [tool.name for tool in hello.tools] == ["count"]
    assert answer == {"action": "deny_tool", "reason": "bash: stdin has 0 bytes"}
    for text in ("no newline here", "early logged", "printed"):
        assert text in child.stderr


async def test_a_panic_is_an_error_reply_and_the_hook_goes_on(noisy: Path) -> None:
    async with open_child([noisy]) as child:
        with pytest.raises(ErrorReply, match="-32000: panic: not today"):
            await child.call("hook.before_tool", about_bash("", tool="count"))
        answer = await child.call("hook.approve_tool", about_bash("ls"))
    assert parse_answer(Stage.APPROVE_TOOL, answer) == Ask("Run bash?", ttl_s=60)


async def test_a_cancelled_call_ends_while_others_go_on(noisy: Path) -> None:
    async with open_child([noisy]) as child:
        await child.send("hook.approve_tool", about_bash("wait"), id=900)
        await child.wait_stderr("it waits")
        await child.call("hook.approve_tool", about_bash("ls"))
        await child.send("hook.cancel", {"id": 900})
        await child.wait_stderr("the wait is over")
        await child.close_stdin()
        assert await child.wait_exit() == 0
        assert await child.read_line() == b""


@pytest.fixture(scope="session")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("echo")
    run_go("build", "-o", f"{folder}/echo", ".", cwd=ROOT / "benchmarks" / "go" / "echo")
    return folder / "echo"


async def test_the_benchmark_floor_answers_requests_and_no_notification(echo: Path) -> None:
    head = b'{"jsonrpc":"2.0",'
    async with open_child([echo]) as child:
        await child.send_raw(head + b'"method":"hook.event","params":{"id":3}}\n' + head + b'"id":12,"method":"m"}\n')
        assert await child.read_message() == {"jsonrpc": "2.0", "id": 12, "result": {"action": "continue"}}
        await child.close_stdin()
        assert await child.wait_exit() == 0
