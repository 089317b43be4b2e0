"""hookgate inside another program: what a runtime does, tells, costs, and leaves behind."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

import hookgate
from hookgate.config import ConfigError
from hookgate.embedding import (
    AssistantMessage,
    Busy,
    CallBlock,
    CompactDone,
    Done,
    ErrorEvent,
    Event,
    Events,
    Runtime,
    Text,
    TextDelta,
    ToolCall,
    ToolProgress,
    ToolResult,
    TurnEnd,
    UsageEvent,
    UserMessage,
)
from hookgate.protocol.approval import ApprovalRequest, Decision
from tests.cli.program import none_left
from tests.cli.zot.zot_folders import extension
from tests.embedding.conftest import Scripted
from tests.model_server import open_model_server, says

DEADLINE_S = 60.0
ENDLESS = {"text": "This reply never comes to its end", "hang": True}
BASH = {"name": "bash", "arguments": {"command": "echo hi"}, "id": "c1"}


async def told(events: Events) -> list[Event]:
    with trio.fail_after(DEADLINE_S):
        return [event async for event in events]


def of(kind: type[Event], events: list[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


async def test_a_prompt_is_a_stream_of_values_that_ends_with_done(scripted: Scripted) -> None:
    async with hookgate.Runtime(scripted({"calls": [BASH]}, {"text": "It says hi."})) as runtime:
        events = await told(runtime.prompt("go"))
        assert isinstance(events[0], UserMessage)
        assert events[0].content == (Text("go"),)
        assert of(ToolCall, events) == [ToolCall("c1", "bash", {"command": "echo hi"})]
        assert of(ToolProgress, events) == [ToolProgress("c1", "hi\n")]
        (result,) = of(ToolResult, events)
        assert isinstance(result, ToolResult)
        assert (result.id, result.is_error) == ("c1", False)
        assert "".join(e.delta for e in events if isinstance(e, TextDelta)) == "It says hi."
        assert of(TurnEnd, events) == [TurnEnd("tool_use"), TurnEnd("end")]
        assert events[-1] == Done()
        messages = runtime.messages()
        assert [m.role for m in messages] == ["user", "assistant", "tool", "assistant"]
        assert messages[1].content == (CallBlock("c1", "bash", {"command": "echo hi"}),)


async def test_cost_counts_every_call_of_the_conversation_and_its_summaries(scripted: Scripted) -> None:
    config = scripted({"when": "Sum up", "text": "A summary."})
    async with Runtime(config) as runtime:
        for word in ("one", "two", "three"):
            events = await told(runtime.prompt(word))
        last = of(UsageEvent, events)[0]
        assert isinstance(last, UsageEvent)
        assert runtime.cost() == last.cumulative == runtime.state().usage
        assert last.cost_usd == pytest.approx((last.input + 2 * last.output) / 1e6)
        assert await told(runtime.compact()) == [CompactDone("A summary."), Done()]
        assert runtime.cost().cost_usd > last.cumulative.cost_usd
        assert runtime.state().message_count == 5


async def test_cancel_ends_what_runs_and_leaves_what_waits(scripted: Scripted) -> None:
    async with Runtime(scripted(ENDLESS)) as runtime:
        first, second = runtime.prompt("one"), runtime.prompt("two")
        with trio.fail_after(DEADLINE_S):
            async for event in first:
                if isinstance(event, TextDelta):
                    break
            await runtime.cancel()
        assert of(TurnEnd, await told(first)) == [TurnEnd("aborted", "context canceled")]
        assert of(TurnEnd, await told(second)) == [TurnEnd("end")]


async def test_leaving_a_stream_early_ends_its_turn(scripted: Scripted) -> None:
    async with Runtime(scripted(ENDLESS)) as runtime:
        with trio.fail_after(DEADLINE_S):
            async for event in runtime.prompt("one"):
                if isinstance(event, TextDelta):
                    break
        # Nothing but letting go of the stream has ended it, or this would wait for ever.
        gc.collect()
        assert of(TurnEnd, await told(runtime.prompt("two"))) == [TurnEnd("end")]


async def test_a_stream_that_is_left_is_over_when_its_block_is(scripted: Scripted) -> None:
    async with Runtime(scripted(ENDLESS)) as runtime:
        with trio.fail_after(DEADLINE_S):
            async with runtime.prompt("one") as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        break
        assert not runtime.state().busy
        assert await told(events) == []


async def test_a_stream_that_nobody_waits_for_is_taken_out_of_the_queue(scripted: Scripted) -> None:
    async with Runtime(scripted(ENDLESS)) as runtime:
        first, second = runtime.prompt("one"), runtime.prompt("skipped")
        with trio.fail_after(DEADLINE_S):
            while not isinstance(await anext(first), TextDelta):
                pass
            await second.aclose()
            await first.aclose()
        assert of(AssistantMessage, await told(runtime.prompt("two")))
        assert "skipped" not in str(runtime.messages())


async def test_who_does_not_read_holds_up_nobody_else(scripted: Scripted, tmp_path: Path) -> None:
    calls = [{"text": "x" * 600_000 + " y", "calls": [{**BASH, "id": f"c{n}"}]} for n in range(3)]
    async with Runtime(scripted(*calls)) as slow, Runtime(scripted()) as quick:
        with trio.fail_after(DEADLINE_S):
            async with slow.prompt("go") as unread:
                await _settled(slow)
                # It waits before its next model call, though the script has more.
                assert slow.state().message_count == 3
                assert of(TurnEnd, await told(quick.prompt("hello"))) == [TurnEnd("end")]
                assert len(of(TurnEnd, await told(unread))) == 4


async def _settled(runtime: Runtime) -> None:
    """Until the conversation has grown to its first result, and once more round the loop."""
    while runtime.state().message_count < 3:
        await trio.sleep(0.01)
    await trio.testing.wait_all_tasks_blocked(0.05)


async def test_another_model_is_asked_after_set_model_known_or_not(scripted: Scripted) -> None:
    async with Runtime(scripted(ENDLESS)) as runtime:
        assert [model.id for model in runtime.list_models()] == ["m", "other"]
        await runtime.set_model("other")
        assert runtime.state().model == "other"
        await runtime.set_model("nobody/knows:this")
        assert (runtime.state().provider, runtime.state().model) == ("p", "nobody/knows:this")
        with pytest.raises(ValueError, match="names no model"):
            await runtime.set_model("p/")
        async with runtime.prompt("go"):
            with pytest.raises(Busy):
                await runtime.set_model("m")
            with pytest.raises(Busy):
                await runtime.clear()
        await runtime.clear()
        assert runtime.messages() == ()


async def test_approvals_are_asked_for_where_the_program_answers_and_denied_where_not(scripted: Scripted) -> None:
    config = scripted({"calls": [BASH]}, {"text": "so"}, more='[[approvals]]\ntools = ["bash"]\n')
    asked: list[str] = []

    async def approve(request: ApprovalRequest) -> Decision:
        await trio.lowlevel.checkpoint()
        asked.append(request.call.name)
        return Decision(True, "a test")

    async with Runtime(config, approve=approve) as runtime:
        assert [r.is_error for r in await told(runtime.prompt("go")) if isinstance(r, ToolResult)] == [False]
    async with Runtime(config) as runtime:
        assert [r.is_error for r in await told(runtime.prompt("go")) if isinstance(r, ToolResult)] == [True]
    assert asked == ["bash"]


async def test_leaving_the_runtime_ends_what_runs_with_its_processes(scripted: Scripted, tmp_path: Path) -> None:
    call = {"name": "bash", "arguments": {"command": f"echo up; tail -n 0 -f {tmp_path}/script.json"}}
    with trio.fail_after(DEADLINE_S):
        async with Runtime(scripted({"calls": [call]})) as runtime:
            events = runtime.prompt("go")
            async for event in events:
                if isinstance(event, ToolProgress):
                    break
    await none_left(tmp_path)
    assert [type(it) for it in await told(events)] == [ToolResult, Done]


async def test_a_served_model_is_named_by_keyword(tmp_path: Path) -> None:
    async with open_model_server(says("From ", "afar.")) as server:
        named = Runtime(
            provider="openai",
            model="gpt-4.1",
            api_key="k",
            base_url=server.base_url,
            workspace=tmp_path,
            system="Be brief.",
            tools=(),
        )
        async with named as runtime:
            events = await told(runtime.prompt("hello"))
        assert of(AssistantMessage, events)
        assert server.requests[0].headers["authorization"] == "Bearer k"
        assert server.requests[0].body["messages"][0]["content"] == "Be brief."
        assert "tools" not in server.requests[0].body


async def test_a_failing_model_is_an_error_before_done(scripted: Scripted) -> None:
    failing = {"text": "Half a reply", "fail": {"kind": "auth", "reason": "no"}}
    async with Runtime(scripted(failing)) as runtime:
        events = await told(runtime.prompt("go"))
        assert events[-3:] == [
            TurnEnd("error", "p: no"),
            ErrorEvent("The model call failed (auth): p: no"),
            Done(),
        ]
        assert of(AssistantMessage, events)


async def test_what_cannot_be_opened_says_why(scripted: Scripted, tmp_path: Path) -> None:
    broken = Runtime(provider="nobody"), Runtime(tmp_path / "none.toml"), Runtime(scripted(), reasoning="x")
    for runtime in broken:
        with pytest.raises(ConfigError):
            async with runtime:
                raise AssertionError("it has opened")
    with pytest.raises(RuntimeError, match="not open"):
        Runtime(scripted()).prompt("go")


def test_a_keyword_that_there_is_not_is_refused_and_the_one_that_is_meant_is_named(scripted: Scripted) -> None:
    mistyped: dict[str, Any] = {"no_tool": True}
    with pytest.raises(TypeError, match=r"no keyword argument 'no_tool' \(did you mean 'no_tools'\?\)"):
        Runtime(scripted(), **mistyped)


def test_a_program_on_asyncio_is_told_that_a_runtime_needs_trio(scripted: Scripted) -> None:
    async def program() -> None:
        async with Runtime(scripted()):
            raise AssertionError("it has opened")

    with pytest.raises(RuntimeError, match=r"trio\.run\(main\)"):
        asyncio.run(program())


class OwnError(Exception):
    """Of the embedding program."""


@pytest.mark.parametrize(
    "error", [OwnError("mine"), SystemExit(3), ExceptionGroup("two", [OwnError("1"), OSError("2")])]
)
async def test_what_the_program_raises_in_its_block_leaves_it_as_it_was(
    scripted: Scripted, error: BaseException
) -> None:
    async def program() -> None:
        async with Runtime(scripted(ENDLESS)) as runtime:
            runtime.prompt("go")
            raise error

    with pytest.raises(type(error)) as raised:
        await program()
    assert raised.value is error


async def test_a_runtime_is_open_once_at_a_time(scripted: Scripted) -> None:
    runtime = Runtime(scripted({"when": "go", "text": "Gone."}))
    for _ in range(2):
        async with runtime:
            with pytest.raises(RuntimeError, match="open already"):
                await runtime.__aenter__()
            assert of(TextDelta, await told(runtime.prompt("go")))


@pytest.mark.parametrize(
    ("text", "images", "mistake"),
    [
        (None, (), "text must be a str, not NoneType"),
        ("look", ("photo.png",), "an image must be an http URL or a data: URL in base64, not 'photo.png'"),
        ("look", ("data:image/png;base64,!!",), "an image must be an http URL or a data: URL"),
        ("look", (b"PNG",), "an image must be a str, not bytes"),
    ],
)
async def test_what_is_no_message_never_joins_the_conversation(
    scripted: Scripted, text: Any, images: Any, mistake: str
) -> None:
    async with Runtime(scripted({"when": "go", "text": "Gone."})) as runtime:
        with pytest.raises((TypeError, ValueError), match=mistake):
            runtime.prompt(text, images)
        assert runtime.state().message_count == 0
        images = ("https://example.org/a.png", "data:image/png;base64,iVBORw==")
        assert not of(ErrorEvent, await told(runtime.prompt("go", images)))


# --- extensions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [str, Path, lambda path: [str(path)]])
async def test_extensions_are_named_by_paths_of_any_kind(
    scripted: Scripted, tmp_path: Path, given: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "zot"))
    wanted = {"name": "do", "arguments": {"do": "blocks", "blocks": [{"type": "text", "text": "fog"}]}, "id": "c1"}
    config = scripted({"calls": [wanted]}, {"text": "Fog."})
    with trio.fail_after(DEADLINE_S):
        async with hookgate.Runtime(config, extensions=given(extension(tmp_path, "ext"))) as runtime:
            (result,) = of(ToolResult, await told(runtime.prompt("weather?")))
    assert isinstance(result, ToolResult)
    assert result.content == (Text("fog"),)
    await none_left(tmp_path)


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"exec": ""}, "manifest: exec is required"),
        ({"exec": "./absent"}, "spawn: {folder}/absent: No such file or directory"),
        ({"mode": "exit_at_start"}, "extension exited before hello: exit status 3"),
        (None, "read manifest: {folder}/extension.json: No such file or directory"),
    ],
)
async def test_a_named_extension_that_does_not_come_up_is_a_mistake_with_path_and_reason(
    scripted: Scripted, tmp_path: Path, members: Any, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "zot"))
    folder = tmp_path / "ext" if members is None else extension(tmp_path, "ext", **members)
    with trio.fail_after(DEADLINE_S), pytest.raises(ConfigError) as mistake:
        async with hookgate.Runtime(scripted({"text": "Hi."}), extensions=(folder,)):
            pytest.fail("it opened")
    assert str(mistake.value) == f"extension load: {folder}: {reason.format(folder=folder)}"
    await none_left(tmp_path)
