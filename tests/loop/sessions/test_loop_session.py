"""Conversations: /stop and /new at every moment, full queues, and conversations side by side."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from hookgate.hooks.rules import Mount
from hookgate.loop.calls.execution_policy import Around
from hookgate.loop.gateway import BUSY
from hookgate.loop.sessions.carried import MAX_NEWS
from hookgate.loop.sessions.claims import LEASE_S
from hookgate.loop.sessions.jobs import MAX_QUEUED
from hookgate.loop.sessions.transcript import NO_RESULT, NOT_RUN
from hookgate.protocol import call_context
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.events.payloads import SteeringInjected, TurnEnd
from hookgate.protocol.hook.answers import CONTINUE, Answer, Ask
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.journal.values import Arrival, ArrivalKind, Claim, Unfinished
from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.providers.scripted import ScriptStep
from hookgate.redaction import Redactor
from hookgate.store.journal import open_journal
from hookgate.store.memory import MemoryJournal
from hookgate.store.memory.intake import Intake
from hookgate.store.memory.work import Work
from tests.loop.recording import CHAT, OTHER, Bench, FunctionTool, asks_for, hook, says

MakeBench = Callable[..., Bench]

NOTHING = "Nothing is running here."


class Late(Intake):
    """Says late what is left."""

    def __init__(self, journal: MemoryJournal) -> None:
        super().__init__(journal._tables)
        self.looked, self.go_on = trio.Event(), trio.Event()

    async def unfinished(self, kind: ArrivalKind = "message", session: str = "") -> tuple[Unfinished, ...]:
        self.looked.set()
        await self.go_on.wait()
        return await super().unfinished(kind, session)


async def test_what_comes_while_what_was_left_is_taken_up_is_answered_once(bench: MakeBench) -> None:
    journal = MemoryJournal()
    journal.intake = late = Late(journal)
    await journal.intake.accept(Arrival(Inbound(CHAT, "left"), "main", ""))
    made = bench(says("once"), says("twice"), journal=journal)
    with capture_logs() as logged:
        async with made.opened(), trio.open_nursery() as nursery:
            await late.looked.wait()
            nursery.start_soon(made.say, "go")
            await trio.testing.wait_all_tasks_blocked()
            late.go_on.set()
            await made.idle()
            await made.idle()
    assert (made.lines, len(made.provider.requests)) == (["once", "twice"], 2)
    assert await journal.intake.unfinished() == ()
    assert logged == []


class Renewing(Work):
    """A store that does not take the first renewal of a lease."""

    def __init__(self, journal: MemoryJournal) -> None:
        super().__init__(journal._tables)
        self.tried, self.renewed = False, trio.Event()

    async def renew(self, claim: Claim, lease_s: float) -> Claim:
        if not self.tried:
            self.tried = True
            raise StoreFailed("the disk is full")
        self.renewed.set()
        return await super().renew(claim, lease_s)


async def test_a_lease_that_could_not_be_renewed_is_tried_again_and_ends_nothing(
    bench: MakeBench, autojump_clock: trio.testing.MockClock
) -> None:
    journal = MemoryJournal()
    journal.work = work = Renewing(journal)

    async def until_renewed(_call: ToolCall) -> str:
        await work.renewed.wait()
        return "worked"

    made = bench(asks_for("t"), says("done"), tools=[FunctionTool("t", until_renewed)], journal=journal)
    with trio.fail_after(4 * LEASE_S), capture_logs() as logged:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(made.gateway.run)
            await made.say("go")
            await made.idle()
            nursery.cancel_scope.cancel()
    assert made.lines == ["done"]
    assert [it["event"] for it in logged] == ["lease_not_renewed"]


# --- /stop --------------------------------------------------------------------------------------------------


async def stopped_while(made: Bench, running: Callable[[], Awaitable[None]]) -> None:
    """Say something, wait until it is under way, stop it, and ask something else."""
    async with made.opened():
        await made.say("go")
        await running()
        await made.say("/stop")
        await made.idle()
        assert made.lines[-1] == "Stopped."
        assert made.messages()[0].content == "go"
        assert made.payloads(TurnEnd)[0].Status == "aborted"
        sent = len(made.lines)
        await made.say("and now?")
        await made.idle()
    # The stopped turn says nothing more, and the next one is an ordinary one.
    assert made.lines[sent:] == ["later"]
    assert [message.content for message in made.messages() if message.role == "user"] == ["go", "and now?"]


async def test_stop_before_the_turn_has_begun_asks_neither_hooks_nor_the_model(bench: MakeBench) -> None:
    asked: list[str] = []

    async def note(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        asked.append(question.step.inbound.text)
        return CONTINUE

    made = bench(says("later"), hooks=[hook("h", {Stage.BEFORE_LLM: note})])

    async def at_once() -> None:
        assert made.kinds == []

    await stopped_while(made, at_once)
    assert asked == ["and now?"]
    assert len(made.provider.requests) == 1


async def test_stop_while_the_model_talks(bench: MakeBench) -> None:
    made = bench(ScriptStep("I was about to", hang=True), says("later"))
    await stopped_while(made, made.provider.asked.wait)
    assert len(made.provider.requests) == 2


async def test_stop_while_a_hook_thinks(bench: MakeBench) -> None:
    thinking = trio.Event()

    async def think(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        if question.step.inbound.text == "go":
            thinking.set()
            await trio.sleep_forever()
        return CONTINUE

    made = bench(says("later"), hooks=[hook("h", {Stage.BEFORE_LLM: think})])
    await stopped_while(made, thinking.wait)


async def test_stop_while_a_tool_runs_cancels_the_tool(bench: MakeBench) -> None:
    running, cancelled = trio.Event(), trio.Event()

    async def work(_call: ToolCall) -> str:
        running.set()
        try:
            await trio.sleep_forever()
        finally:
            cancelled.set()
        return ""

    tool = FunctionTool("t", work)
    made = bench(asks_for("t", "t"), says("later"), tools=[tool])
    await stopped_while(made, running.wait)
    assert cancelled.is_set()
    assert len(tool.seen) == 1
    assert made.results() == [NO_RESULT, NOT_RUN]


@pytest.mark.parametrize(
    ("hooks", "told"), [((), "half of it"), ((hook("h", {Stage.AFTER_TOOL: CONTINUE}),), NO_RESULT)]
)
async def test_what_a_stopped_call_had_come_to_is_told_unless_a_hook_would_have_had_to_see_it(
    bench: MakeBench, hooks: Sequence[Mount], told: str
) -> None:
    running = trio.Event()

    async def work(_call: ToolCall) -> str:
        running.set()
        try:
            await trio.sleep_forever()
        finally:
            call_context.work.get().cut_short(ToolResult("half of it"))
        return ""

    made = bench(asks_for("t"), says("later"), tools=[FunctionTool("t", work)], hooks=list(hooks))
    await stopped_while(made, running.wait)
    assert made.results() == [told]


async def test_stop_while_a_person_is_asked_runs_nothing(bench: MakeBench) -> None:
    tool = FunctionTool("t")
    made = bench(asks_for("t"), says("later"), tools=[tool], hooks=[hook("h", {Stage.APPROVE_TOOL: Ask()})])
    await stopped_while(made, made.room.asking.wait)
    assert tool.seen == []


async def test_stop_without_a_turn_says_so(bench: MakeBench) -> None:
    assert await bench(says("hello")).play("/stop", "hi", " /STOP ") == [NOTHING, "hello", NOTHING]


async def test_stop_ends_the_running_turn_and_the_next_message_is_answered(bench: MakeBench) -> None:
    made = bench(ScriptStep("", hang=True), says("second"))
    async with made.opened():
        await made.say("one")
        await made.provider.asked.wait()
        await made.say("two")
        await made.say("/stop")
        await made.idle()
    assert made.lines == ["Stopped.", "second"]


async def test_a_second_stop_has_nothing_left_to_stop(bench: MakeBench) -> None:
    made = bench(ScriptStep("", hang=True))
    async with made.opened():
        await made.say("one")
        await made.provider.asked.wait()
        await made.say("/stop")
        await made.idle()
        await made.say("/stop")
    assert made.lines == ["Stopped.", NOTHING]


# --- /new ---------------------------------------------------------------------------------------------------


async def test_new_forgets_what_was_said(bench: MakeBench) -> None:
    made = bench(says("first"), says("second"))
    assert await made.play("one", "/new", "two") == ["first", "A new conversation.", "second"]
    assert [message.content for message in made.provider.requests[1].messages] == ["two"]


async def test_new_ends_the_running_turn_and_drops_what_waits(bench: MakeBench) -> None:
    made = bench(ScriptStep("", hang=True), says("fresh"))
    async with made.opened():
        await made.say("one")
        await made.provider.asked.wait()
        await made.say("two")
        await made.say("/new")
        await made.say("three")
        await made.idle()
    assert made.lines == ["A new conversation. Waiting messages dropped: 1.", "fresh"]
    assert [message.content for message in made.messages()] == ["three", "fresh"]


@pytest.mark.parametrize(("typed", "seen"), [("/stop", "I say that"), ("/new", "I say ")])
async def test_what_is_held_back_of_an_answer_never_enters_the_conversation_after_it(
    bench: MakeBench, typed: str, seen: str
) -> None:
    around = Around(redactor=Redactor(["hunter2-hunter2"], salt=b"salt"))
    made = bench(ScriptStep("I say that", hang=True), says("fresh"), around=around)
    async with made.opened():
        await made.say("one")
        await trio.testing.wait_all_tasks_blocked()
        assert made.room.streamed == "I say "
        await made.say(typed)
        await trio.testing.wait_all_tasks_blocked()
        assert made.room.streamed == seen
        await made.say("two")
        await made.idle()
    assert made.room.streamed == f"{seen}fresh"


async def test_two_turns_of_one_conversation_never_overlap_not_even_after_new(bench: MakeBench) -> None:
    """A tool that needs its time to be cancelled keeps the next turn waiting."""
    running, log = trio.Event(), list[str]()

    async def work(_call: ToolCall) -> str:
        running.set()
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                for _ in range(20):
                    await trio.lowlevel.checkpoint()
            log.append("cleaned up")
        return ""

    made = bench(asks_for("t"), says("fresh"), tools=[FunctionTool("t", work)], log=log)
    async with made.opened():
        await made.say("one")
        await running.wait()
        await made.say("/new")
        await made.say("two")
        await made.idle()
    assert log.index("cleaned up") < log.index("turn_start", 1)


async def test_a_stop_before_new_does_not_stop_the_turn_after_it(bench: MakeBench) -> None:
    made = bench(says("fresh"))
    async with made.opened():
        for text in ("one", "/stop", "/new", "two"):
            await made.say(text)
        await made.idle()
    assert made.lines[-1:] == ["fresh"], (made.lines, made.log)


# --- queues and neighbours ----------------------------------------------------------------------------------


async def test_three_messages_get_three_answers_in_order(bench: MakeBench) -> None:
    made = bench(says("1"), says("2"), says("3"))
    async with made.opened():
        for text in ("one", "two", "three"):
            await made.say(text)
        await made.idle()
    assert made.lines == ["1", "2", "3"]
    assert [message.content for message in made.messages()] == ["one", "1", "two", "2", "three", "3"]


async def test_a_full_queue_is_said_and_everything_else_is_answered(bench: MakeBench) -> None:
    release = trio.Event()

    async def hold(_question: Question) -> Answer:
        await release.wait()
        return CONTINUE

    made = bench(*[says("x")] * (MAX_QUEUED + 1), hooks=[hook("h", {Stage.BEFORE_LLM: hold})])
    async with made.opened():
        await made.say("running")
        while "turn_start" not in made.kinds:
            await trio.lowlevel.checkpoint()
        for number in range(MAX_QUEUED + 2):
            await made.say(str(number))
        assert made.lines == [BUSY, BUSY]
        assert made.room.sent[0].kind == "notice"
        release.set()
        await made.idle()
    assert len(made.lines) == 2 + MAX_QUEUED + 1


async def test_conversations_run_side_by_side(bench: MakeBench) -> None:
    """Each turn waits at the model until the other one is there too."""
    there: set[str] = set()

    async def meet(question: Question) -> Answer:
        there.add(question.step.chat.chat_id)
        while len(there) < 2:
            await trio.lowlevel.checkpoint()
        return CONTINUE

    made = bench(says("x"), says("x"), hooks=[hook("h", {Stage.BEFORE_LLM: meet})])
    async with made.opened():
        await made.say("one", CHAT)
        await made.say("one", OTHER)
        await made.idle(CHAT)
        await made.idle(OTHER)
    assert {event.step.session_key for event in made.events if event.step} == {"test:1", "test:2"}


async def test_a_stop_touches_no_other_conversation(bench: MakeBench) -> None:
    made = bench(ScriptStep("", hang=True), says("fine"))
    async with made.opened():
        await made.say("one")
        await made.provider.asked.wait()
        await made.say("two", OTHER)
        await made.idle(OTHER)
        await made.say("/stop")
        await made.idle()
    assert [(it.chat, it.text) for it in made.room.sent] == [(OTHER, "fine"), (CHAT, "Stopped.")]


@pytest.mark.parametrize("thread", ["", "7"])
async def test_a_thread_is_a_conversation_of_its_own_and_is_answered_there(bench: MakeBench, thread: str) -> None:
    chat = Chat("test", "1", sender="ann", thread=thread)
    made = bench(says("main"), says("here"))
    async with made.opened():
        await made.say("one")
        await made.idle()
        await made.say("two", chat)
        await made.idle(chat)
    assert made.room.sent[-1].chat == chat
    assert len(made.provider.requests[1].messages) == (1 if thread else 3)


async def test_what_a_provider_reports_joins_only_the_conversations_that_use_it() -> None:
    bench = Bench(asks_for("t"), says("a"), says("b"), says("c"), tools=[FunctionTool("t")])
    async with bench.opened():
        await bench.say("one")
        await bench.idle()
        await bench.say("other", OTHER)
        await bench.idle(OTHER)
        for number in range(MAX_NEWS + 8):
            bench.gateway.tell("builtin", f"news {number}")
        bench.gateway.tell("mcp:elsewhere", "nothing for us")
        await bench.say("two")
        await bench.idle()
    said = [message.content for message in bench.messages() if message.role == "user"]
    assert said == ["one", "two", *(f"news {number}" for number in range(8, MAX_NEWS + 8))]
    assert [it.Count for it in bench.payloads(SteeringInjected)] == [MAX_NEWS]
    assert [message.content for message in bench.messages(OTHER)] == ["other", "b"]


async def test_a_chat_whose_name_no_database_takes_is_answered_under_one_that_it_does(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "journal.db", "process") as journal:
        made = Bench(says("x"), journal=journal)
        async with made.opened():
            broken = Chat("test", "a\ud800", "b\udfff", thread="c:%\ud800")
            accepted = await made.gateway.receive(Inbound(broken, "hi \ud800", message_id="\ud800"))
            assert accepted.conversation.session == "test:a\ufffd:c%3A%25\ufffd"
            await made.gateway.idle(accepted.conversation.session)
            assert (await made.gateway.receive(Inbound(broken, "again", message_id="\ud800"))).known
        assert made.lines == ["x"]


async def test_a_chat_that_is_forgotten_keeps_nothing_of_its_earlier_conversations(
    bench: MakeBench, tmp_path: Path
) -> None:
    async with open_journal(tmp_path / "journal.db") as journal:
        made = bench(says("1"), says("2"), says("elsewhere"), journal=journal)
        async with made.opened():
            for text in ("one", "/new", "two"):
                await made.say(text)
                await made.idle()
            await made.say("one", OTHER)
            await made.idle(OTHER)
            before = [it.conversation.session for it in await journal.books.sessions() if it.entries]
            await made.gateway.anywhere.forget(CHAT)
        left = [it.conversation.session for it in await journal.books.sessions() if it.entries]
    assert (before, left) == ([CHAT.session_key, CHAT.session_key, OTHER.session_key], [OTHER.session_key])
