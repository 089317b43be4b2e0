"""What stands round an execution: the memo, the workspace lease, the record of changes, redaction."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from hookgate.loop.calls.execution_policy import Around, Compare
from hookgate.loop.sessions.transcript import NOT_RUN
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.events.payloads import ToolExecEnd, ToolExecSkipped, ToolExecStart
from hookgate.protocol.hook.answers import CONTINUE, Answer, Respond
from hookgate.protocol.hook.match import Globs
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import Access, Finished, Json, ToolCall, ToolResult, ToolSpec
from hookgate.protocol.values.effects import FileEffect
from hookgate.providers.scripted import ScriptedCall
from tests.loop.recording import OTHER, Bench, FunctionTool, asks_for, hook, says

SECRET = "hunter2hunter2"
MARK = "[REDACTED:ab12]"


class Pure(FunctionTool):
    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, "", self.parameters, mutates=False, affects_workspace=False, pure=True)


class Redactor:
    def text(self, text: str) -> str:
        return text.replace(SECRET, MARK)

    def value(self, value: Json) -> Json:
        match value:
            case str():
                return self.text(value)
            case dict():
                return {name: self.value(inner) for name, inner in value.items()}
            case list():
                return [self.value(inner) for inner in value]
            case _:
                return value

    def held_from(self, text: str) -> int:
        return len(text)

    def cut_from(self, text: str) -> int:
        return len(text)

    def marker(self, value: Json) -> bool:
        return "[REDACTED:" in str(value)


def watching(seen: list[Finished]) -> dict[Stage, object]:
    async def note(question: Question) -> Answer:
        assert isinstance(question.subject, Finished)
        seen.append(question.subject)
        return CONTINUE

    return {Stage.AFTER_TOOL: note}


async def test_a_pure_call_runs_once_a_turn_and_hooks_see_that_the_second_is_cached() -> None:
    tool, seen = Pure("look"), list[Finished]()
    bench = Bench(
        *(asks_for("look"), asks_for("look"), says("done"), asks_for("look"), says("again")),
        tools=[tool],
        hooks=[hook("watch", watching(seen))],
    )
    await bench.play("one", "two")
    assert len(tool.seen) == 2
    assert [finished.result.cached for finished in seen] == [False, True, False]
    assert [end.Cached for end in bench.payloads(ToolExecEnd)] == [None, True, None]
    assert bench.results() == ["look ran", "look ran", "look ran"]
    tally = bench.agent.tally
    assert (tally.executed, tally.cached, tally.balanced) == (2, 1, True)


async def test_any_call_that_may_change_something_voids_the_memo_even_if_it_fails() -> None:
    async def fail(_call: ToolCall) -> ToolResult:
        raise OSError("no")

    tool, change = Pure("look"), FunctionTool("change", fail)
    bench = Bench(asks_for("look", "change", "look"), says("done"), tools=[tool, change])
    await bench.play()
    assert len(tool.seen) == 2
    assert bench.agent.tally.cached == 0


async def test_an_answer_from_a_hook_voids_nothing_and_is_not_kept() -> None:
    async def answer(question: Question) -> Answer:
        return Respond(ToolResult("mocked")) if question.tool == "mock" else CONTINUE

    tool = Pure("look")
    bench = Bench(
        asks_for("look", "mock", "look"),
        says("done"),
        tools=[tool, FunctionTool("mock")],
        hooks=[hook("cache", {Stage.BEFORE_TOOL: answer})],
    )
    await bench.play()
    assert len(tool.seen) == 1
    assert bench.results() == ["look ran", "mocked", "look ran"]


async def test_the_operator_may_call_a_read_only_tool_pure_or_keep_nothing_at_all() -> None:
    for around, runs in (
        (Around(pure=Globs(("lo*",))), 1),
        (Around(), 2),
        (Around(memo=None, pure=Globs(("lo*",))), 2),
        (Around(pure=Globs(("lo*",)), busy=lambda _session: True), 2),
    ):
        tool = FunctionTool("look", reads_only=True)
        await Bench(asks_for("look", "look"), says("done"), tools=[tool], around=around).play()
        assert len(tool.seen) == runs


@pytest.mark.parametrize(
    ("access", "at_once"), [("write", [1, 2]), (None, [2, 2])], ids=["an edit waits for an edit", "others for nobody"]
)
async def test_calls_of_two_chats_that_change_something(access: Access | None, at_once: list[int]) -> None:
    go, seen = trio.Event(), list[Finished]()

    async def observe(_call: ToolCall) -> Compare:
        await trio.lowlevel.checkpoint()

        async def observed(result: ToolResult) -> ToolResult:
            await trio.lowlevel.checkpoint()
            return replace(result, effects=(FileEffect("modify", "f", source="observed"), FileEffect("read", "g")))

        return observed

    async def change(_call: ToolCall) -> str:
        await go.wait()
        return "changed"

    tool, look = FunctionTool("change", change, access=access), FunctionTool("look", reads_only=True)
    bench = Bench(
        *(asks_for("change"), asks_for("change"), asks_for("look"), says("read"), says("a"), says("b")),
        tools=[tool, look],
        hooks=[hook("watch", watching(seen))],
        around=Around(watches=(observe,)),
    )
    async with bench.opened():
        await bench.say("one")
        await bench.say("two", OTHER)
        await trio.testing.wait_all_tasks_blocked()
        # What only reads is there at once, whoever changes what.
        await bench.say("three", Chat("test", "third"))
        await bench.idle(Chat("test", "third"))
        assert len(look.seen) == 1
        counts = [len(tool.seen)]
        go.set()
        await bench.idle()
        await bench.idle(OTHER)
    assert [*counts, len(tool.seen)] == at_once
    assert bench.results() == bench.results(OTHER) == ["changed"]
    # Two that ran at once cannot tell whose change was seen; a claim stands as it was made.
    told = [[it.alone for it in done.result.effects if isinstance(it, FileEffect)] for done in seen[1:]]
    assert told == [[None if access else False, None]] * 2


async def test_a_call_that_is_stopped_while_it_waits_for_another_chat_did_not_run() -> None:
    go = trio.Event()

    async def change(_call: ToolCall) -> str:
        await go.wait()
        return "changed"

    tool = FunctionTool("change", change, access="write")
    bench = Bench(asks_for("change"), asks_for("change"), says("a"), tools=[tool])
    async with bench.opened():
        await bench.say("one")
        await trio.testing.wait_all_tasks_blocked()
        await bench.say("two", OTHER)
        await trio.testing.wait_all_tasks_blocked()
        await bench.say("/stop", OTHER)
        await bench.idle(OTHER)
        assert bench.results(OTHER) == [NOT_RUN]
        go.set()
        await bench.idle()
    assert (len(tool.seen), bench.results()) == (1, ["changed"])


async def test_what_a_changing_call_did_is_observed_and_recorded_and_reads_are_left_alone() -> None:
    log: list[str] = []

    async def record(call: ToolCall) -> Compare:
        log.append(f"before {call.name}")

        async def recorded(result: ToolResult) -> ToolResult:
            log.append(f"after {call.name} {len(result.effects)}")
            return result

        return recorded

    async def observe(call: ToolCall) -> Compare:
        async def observed(result: ToolResult) -> ToolResult:
            effect = FileEffect("create", f"{call.name}.txt", source="observed")
            return ToolResult(result.for_llm, effects=(effect,))

        return observed

    tools = [FunctionTool("change"), FunctionTool("look", reads_only=True)]
    around = Around(watches=(record, observe))
    bench = Bench(asks_for("change", "look"), says("done"), tools=tools, around=around)
    await bench.play()
    assert log == ["before change", "after change 1"]
    effects = [end.Effects for end in bench.payloads(ToolExecEnd)]
    assert effects == [({"kind": "file", "op": "create", "path": "change.txt", "source": "observed"},), None]


async def test_no_hook_model_or_chat_ever_sees_a_secret_but_the_tool_gets_it() -> None:
    seen: list[Finished] = []

    async def leak(call: ToolCall) -> ToolResult:
        return ToolResult(f"key {SECRET}", for_user=f"user {SECRET}", data={"key": [SECRET]})

    tool = FunctionTool("leak", leak)
    bench = Bench(
        asks_for(ScriptedCall("leak", f'{{"key": "{SECRET}"}}')),
        says(f"the answer is {SECRET}"),
        tools=[tool],
        hooks=[hook("watch", watching(seen))],
        around=Around(redactor=Redactor()),
    )
    await bench.play()
    assert tool.seen[0].arguments == {"key": SECRET}
    assert seen[0].call.arguments == {"key": MARK}
    assert seen[0].result.data == {"key": [MARK]}
    assert bench.results() == [f"key {MARK}"]
    assert bench.lines == [f"user {MARK}", f"the answer is {MARK}"]
    assert SECRET not in bench.room.streamed


async def test_a_mark_in_an_argument_never_reaches_a_tool() -> None:
    tool = FunctionTool("send")
    bench = Bench(
        asks_for(ScriptedCall("send", f'{{"key": "{MARK}"}}')),
        says("done"),
        tools=[tool],
        around=Around(redactor=Redactor()),
    )
    await bench.play()
    assert tool.seen == []
    assert bench.results()[0].startswith("ERROR (validation) send: an argument holds a mark")
    assert [skipped.ErrorKind for skipped in bench.payloads(ToolExecSkipped)] == ["validation"]


async def test_repairs_are_told_to_whoever_watches() -> None:
    bench = Bench(
        asks_for(ScriptedCall("look", '{"a": 1,}')), says("done"), tools=[FunctionTool("look", reads_only=True)]
    )
    await bench.play()
    start = bench.payloads(ToolExecStart)[0]
    assert start.Decode == {"steps": ("comma",), "truncated": False, "guessed": False}
