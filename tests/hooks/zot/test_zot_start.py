"""How extensions start and stop: the handshake in every order, what is refused, and what is left of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.hooks.zot import handshake
from hookgate.hooks.zot.registered import MAX_REGISTERED
from hookgate.hooks.zot.spec import extension_environment
from hookgate.hooks.zot.start import open_extension
from hookgate.processes import group
from hookgate.processes.child import HelloFailed
from hookgate.processes.rounds import open_rounds
from hookgate.protocol.hook.stages import Stage
from tests.hooks.processes import DEADLINE_S, gone, living, until
from tests.hooks.zot.extensions import Theatre, open_ext, received, run, told

LATER = {"type": "register_tool", "name": "later", "schema": {"type": "object"}}


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where how a process is stopped is not the subject."""
    monkeypatch.setattr(group, "CLOSE_WAIT_S", 0.2)
    monkeypatch.setattr(group, "TERM_WAIT_S", 0.2)


# --- the handshake ---


@pytest.mark.parametrize(("mode", "how"), [("plain", "frame"), ("late", "frame"), ("unready", "silence")])
async def test_registrations_count_before_and_after_the_acknowledgement(mode: str, how: str) -> None:
    theatre = Theatre()
    async with open_ext(mode, theatre=theatre) as extension:
        assert [tool.spec.name for tool in extension.tools] == ["do"]
        assert [command.name for command in extension.commands] == ["Do"]
        assert extension.how_ready == how
        assert (await told(extension, "where"))["pid"] == extension.pid
    assert theatre.offers == [("ext", 0, ("do",)), ("ext", 0, ())]


async def test_the_acknowledgement_has_all_seven_members() -> None:
    async with open_ext() as extension:
        (ack,) = await received(extension, "hello_ack")
        directory = (await told(extension, "where"))["cwd"]
    assert ack == {
        "type": "hello_ack",
        "protocol_version": 1,
        "zot_version": "0.1",
        "provider": "openai",
        "model": "gpt",
        "cwd": "/project",
        "extension_dir": directory,
        "data_dir": directory,
    }


@pytest.mark.usefixtures("brisk")
async def test_an_extension_that_fails_closed_must_say_that_it_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshake, "READY_S", 0.6)
    async with open_ext("unready", fail_closed=True) as extension:
        assert extension.how_ready == "deadline"


async def test_the_manifests_name_counts_and_the_mismatch_is_logged() -> None:
    theatre = Theatre()
    async with open_ext(theatre=theatre, name="manifest") as extension:
        assert (extension.name, extension.extension) == ("zot:manifest", "manifest")
        assert extension.tools[0].spec.provider == "zot:manifest"
    assert "hello names it ext; its manifest says manifest, which counts" in theatre.journal.said


async def test_one_that_registers_without_end_gets_so_many_and_the_journal_says_so() -> None:
    """Every one more is an offer of all of them: without a bound a flood of them stands still."""
    theatre = Theatre()
    many = [{"type": kind, "name": f"n{n}"} for n in range(300) for kind in ("register_tool", "register_command")]
    async with open_ext(more=many, theatre=theatre) as extension:
        await told(extension, "where")
        assert (len(extension.tools), len(extension.commands)) == (MAX_REGISTERED, MAX_REGISTERED)
        assert "do" in {tool.spec.name for tool in extension.tools}
    said = [line for line in theatre.journal.said if "as many as it may" in line]
    assert said[0] == f"has {MAX_REGISTERED} tools, as many as it may: 'n255' is left out"
    assert len(said) == 10


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (['{"type":"notify","level":"info","message":"x"}'], 'first frame must be hello (got "notify")'),
        (['{"type":"notify"}'], 'first frame must be hello (got "notify")'),
        (['{"type":5}'], "parse hello: 5: type must be a string, not a number"),
        (['{"type":"tool_result","id":"1"}'], 'first frame must be hello (got "tool_result")'),
        (['{"type":"hi"}'], 'first frame must be hello (got "hi")'),
        (["", "Starting up...", '{"type":"hello","name":"x"}'], "parse hello: not an object"),
        (['{"type":"hello"}'], "parse hello: hello: name is missing"),
    ],
)
@pytest.mark.usefixtures("brisk")
async def test_what_does_not_begin_with_a_hello_is_killed_and_reaped(lines: list[str], reason: str) -> None:
    spec = Theatre().spec("first", lines)
    async with open_rounds() as rounds:
        with trio.fail_after(DEADLINE_S), pytest.raises(HelloFailed) as failed:
            async with open_extension(spec, rounds):
                pytest.fail("it must not open")
    assert str(failed.value) == reason


@pytest.mark.parametrize(
    ("mode", "changes", "reason"),
    [
        ("exit_at_start", {}, "extension exited before hello: exit status 3"),
        ("kill_at_start", {}, "extension exited before hello: signal: killed"),
        ("mute", {"start_timeout_s": 0.2}, "no hello within 0.2 s"),
        ("exit_after_hello", {}, "extension exited before it was ready: it exited with status 5"),
        ("plain", {"command": ("/nonexistent/ext",)}, "spawn: /nonexistent/ext: No such file or directory"),
        ("plain", {"directory": "/proc/nowhere"}, "spawn: "),
    ],
)
@pytest.mark.usefixtures("brisk")
async def test_an_extension_that_does_not_start_says_why(mode: str, changes: dict[str, Any], reason: str) -> None:
    spec = Theatre().spec(mode, **changes)
    async with open_rounds() as rounds:
        with trio.fail_after(DEADLINE_S), pytest.raises(HelloFailed) as failed:
            async with open_extension(spec, rounds):
                pytest.fail("it must not open")
    assert str(failed.value).startswith(reason)


async def test_a_tool_registered_late_is_offered_and_a_late_subscription_counts_at_once() -> None:
    theatre = Theatre()
    async with open_ext(theatre=theatre) as extension:
        assert extension.declared.stages == frozenset()
        subscribe = {"type": "subscribe", "intercept": ["tool_call", "turn_start", "nonsense"]}
        await told(extension, "say", frames=[LATER, subscribe])
        assert extension.declared.stages == {Stage.BEFORE_TOOL, Stage.BEFORE_LLM}
        await told(extension, "say", frames=[{"type": "subscribe", "intercept": ["assistant_message"]}])
        assert extension.declared.stages == {Stage.BEFORE_TOOL, Stage.BEFORE_LLM, Stage.AFTER_LLM}
    assert theatre.offers == [("ext", 0, ("do",)), ("ext", 0, ("do", "later")), ("ext", 0, ())]


async def test_a_tool_without_a_schema_takes_any_object_and_one_with_a_bad_schema_is_refused() -> None:
    theatre = Theatre()
    more = [{"type": "register_tool", "name": "any"}, {"type": "register_tool", "name": "bad", "schema": "object"}]
    async with open_ext("plain", more, theatre) as extension:
        assert {tool.spec.name: tool.spec.parameters for tool in extension.tools} == {
            "do": {"type": "object"},
            "any": {"type": "object"},
        }
    assert any("register_tool: schema must be an object" in text for text in theatre.journal.said)


async def test_the_first_of_two_commands_that_differ_in_case_counts() -> None:
    more = [{"type": "register_command", "name": "DO", "description": "second"}]
    async with open_ext("plain", more) as extension:
        assert [(it.name, it.description) for it in extension.commands] == [("Do", "does")]


# --- the environment, the log ---


def test_the_environment_has_the_home_and_never_the_token() -> None:
    assert extension_environment({"PATH": "/bin", "ZOTCORE_RPC_TOKEN": "s"}, "/zot", {"X": "1"}) == {
        "PATH": "/bin",
        "ZOT_HOME": "/zot",
        "X": "1",
    }


async def test_the_token_does_not_reach_the_process_even_if_it_is_configured() -> None:
    async with open_ext(environment={"PATH": "/bin", "ZOTCORE_RPC_TOKEN": "s", "X": "1"}) as extension:
        environment = (await told(extension, "where"))["env"]
    assert "ZOTCORE_RPC_TOKEN" not in environment
    assert environment["X"] == "1"


async def test_stderr_goes_to_the_journal_to_its_last_word() -> None:
    theatre = Theatre()
    async with open_ext(theatre=theatre) as extension:
        await run(extension, "exit", last="trace\nlast word")
        with trio.fail_after(DEADLINE_S):
            await extension.ended.wait()
    assert theatre.journal.stderr == [b"trace", b"last word"]


# --- the end ---


async def test_shutdown_comes_before_the_end_of_the_input(tmp_path: Path) -> None:
    async with open_ext("farewell", directory=str(tmp_path)):
        pass
    assert await trio.Path(tmp_path / "farewell").read_text() == "shutdown then b''"


@pytest.mark.usefixtures("brisk")
async def test_stubborn_extensions_and_what_they_forked_are_gone_together() -> None:
    groups: list[int] = []
    async with open_rounds() as rounds, trio.open_nursery() as nursery:

        async def stubborn(task_status: trio.TaskStatus[None]) -> None:
            async with open_extension(Theatre().spec("stubborn"), rounds) as extension:
                await told(extension, "fork")
                groups.append(extension.pid)
                task_status.started()
                await trio.sleep_forever()

        for _ in range(3):
            await nursery.start(stubborn)
        assert all(len(living(group)) == 2 for group in groups)
        nursery.cancel_scope.cancel()
    await gone(*groups)


async def test_a_crash_is_the_end_and_takes_the_tools_away() -> None:
    theatre = Theatre()
    async with open_ext(theatre=theatre) as extension:
        await run(extension, "exit", status=3)
        await until(lambda: theatre.offers[-1] == ("ext", 0, ()))
        assert extension.end_reason == "it exited with status 3"
        assert extension.ended.is_set()


async def test_cancelling_a_start_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "CLOSE_WAIT_S", 0.05)
    before = set(living_children())
    async with open_rounds() as rounds:
        with trio.move_on_after(0.3) as scope:
            async with open_extension(Theatre().spec("mute"), rounds):
                pytest.fail("it must not open")
    assert scope.cancelled_caught
    assert set(living_children()) == before


def living_children() -> list[int]:
    (text,) = [path.read_text() for path in Path("/proc/self/task").glob("*/children")][:1] or [""]
    return [int(pid) for pid in text.split()]
