"""The wire to one extension: noise, sizes, order, an extension that does not read, events."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
import trio
import trio.testing

from hookgate.hooks.zot import extension as zot
from hookgate.processes import group
from hookgate.processes.outbox import Bounds
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import CallEnded, ReplyEnded, SessionBegan, StepBegan
from hookgate.protocol.hook.answers import CONTINUE, Failed
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import ToolCall, ToolResult
from tests.hooks.doubles import STEP
from tests.hooks.processes import until
from tests.hooks.zot.extensions import Theatre, judged, open_ext, received, run, told

SUBSCRIBE = {"type": "subscribe", "events": ["session_start", "turn_start", "assistant_message", "turn_end"]}
EVERYTHING = {"type": "subscribe", "events": ["tool_call", "tool_result", "nonsense"], "intercept": ["tool_call"]}


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "CLOSE_WAIT_S", 0.2)
    monkeypatch.setattr(group, "TERM_WAIT_S", 0.2)


# --- noise ---


async def test_what_is_no_frame_is_skipped_and_counted_and_the_next_reply_arrives() -> None:
    theatre = Theatre()
    lines = ["Starting up...", "", "  ", "{not json}", '{"type":"theme"}', '{"type":"notify"}']
    lines.append('{"type":"submit_slash","text":"no slash"}')
    async with open_ext(theatre=theatre) as extension:
        assert await told(extension, "lines", lines=lines) == "after"
        assert (
            extension.protocol_errors.malformed,
            extension.protocol_errors.unknown,
            extension.protocol_errors.strays,
        ) == (4, 1, 0)
    assert 'unknown frame type "theme"' in theatre.journal.said
    assert any(text.startswith("malformed json not an object: Starting up...") for text in theatre.journal.said)


async def test_replies_come_in_any_order_and_a_duplicate_is_dropped() -> None:
    async with open_ext() as extension:
        found: list[ToolResult] = []

        async def one(n: int) -> None:
            result = await run(extension, "hold", until=5, n=n)
            assert result.for_llm == str(n)
            found.append(result)

        async with trio.open_nursery() as nursery:
            for n in range(5):
                nursery.start_soon(one, n)
        assert len(found) == 5
        assert await told(extension, "twice") == "first"
        assert await told(extension, "where")
        assert extension.protocol_errors.strays == 1


async def test_ids_are_counted_from_one() -> None:
    async with open_ext() as extension:
        await told(extension, "where")
        frames = await received(extension, "tool_call")
    assert [frame["id"] for frame in frames] == ["1", "2"]


# --- sizes ---


async def test_a_large_answer_is_accepted_and_a_larger_one_fails_its_call_at_once() -> None:
    async with open_ext() as extension:
        assert len((await run(extension, "big", megabytes=5)).for_llm) == 5 << 20
        lost = await run(extension, "big", megabytes=17)
        assert lost.is_error
        assert lost.for_llm.startswith("extension ext/do failed: its answer of 178")
        assert lost.for_llm.endswith("bytes is over the limit")
        assert await told(extension, "where")


async def test_a_larger_answer_that_hides_its_id_is_reported_and_the_next_call_works() -> None:
    async with open_ext() as extension, trio.open_nursery() as nursery:

        async def hidden() -> None:
            await run(extension, "big", megabytes=17, late=True)

        nursery.start_soon(hidden)
        await until(lambda: extension.protocol_errors.lost == 1)
        assert await told(extension, "where")
        nursery.cancel_scope.cancel()


async def test_arguments_over_the_limit_are_a_tool_error_and_nothing_is_written() -> None:
    async with open_ext("plain", [EVERYTHING]) as extension:
        result = await run(extension, "where", text="x" * (5 << 20))
        assert result.is_error
        assert "is over the limit of 4194304" in result.for_llm
        verdict = await judged(extension, {}, text="x" * (5 << 20))
        assert isinstance(verdict, Failed)
        assert "is over the limit of 4194304" in verdict.reason
        assert [frame["type"] for frame in await received(extension)] == ["hello_ack", "tool_call"]


# --- an extension that does not read ---


@pytest.mark.usefixtures("brisk")
async def test_an_intercept_to_an_extension_that_does_not_read_ends_with_its_deadline() -> None:
    async with open_ext("deaf", [EVERYTHING]) as extension:
        assert await judged(extension, {}, 0.3, text="x" * 70_000) == Failed("no answer within 300 ms")


@pytest.mark.usefixtures("brisk")
async def test_events_never_delay_the_caller_and_the_next_one_says_how_many_were_lost() -> None:
    async with open_ext("deaf", [SUBSCRIBE]) as extension:
        for n in range(600):
            extension.notify(Event(ReplyEnded("", "x" * 4096 + str(n), (), "end"), STEP, n, 0))
        assert extension.events_dropped > 0
        os.kill(extension.pid, signal.SIGUSR1)
        events = await received(extension, "event")
        assert sum(event.get("dropped", 0) for event in events) == extension.events_dropped
        assert len(events) + extension.events_dropped == 1200
        assert events[-1]["event"] == "turn_end"


@pytest.mark.usefixtures("brisk")
async def test_an_extension_that_reads_nothing_for_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zot, "BOUNDS", Bounds(1 << 24, 256, stall_s=0.2))
    async with open_ext("deaf", [EVERYTHING]) as extension:
        verdict = await judged(extension, {}, text="x" * 2_000_000)
        assert verdict == Failed("it does not read its stdin")
        assert extension.end_reason == "it does not read its stdin"


@pytest.mark.usefixtures("brisk")
async def test_what_waits_for_an_extension_is_bounded() -> None:
    async with open_ext("deaf", [EVERYTHING]) as extension, trio.open_nursery() as nursery:
        for _ in range(12):
            nursery.start_soon(judged, extension, {}, 1)
        for _ in range(8):
            call = ToolCall("c", "bash", {"text": "x" * 3_000_000})
            nursery.start_soon(extension.ask, Question(Stage.BEFORE_TOOL, STEP, call), 1)
        await trio.testing.wait_all_tasks_blocked()
        assert await judged(extension, {}, 1) == Failed("it does not read its stdin")


# --- events ---


async def test_events_come_in_order_and_each_before_the_interception_that_follows_it() -> None:
    async with open_ext("plain", [SUBSCRIBE, EVERYTHING]) as extension:
        for n in range(100):
            extension.notify(Event(ReplyEnded("", str(n), (), "end"), STEP, n, 0))
            if n % 10 == 0:
                assert await judged(extension, None, n=n) == CONTINUE
        frames = await received(extension, "event", "event_intercept")
    said = [
        f["text"] if f["event"] == "assistant_message" else f["tool_args"]["n"] for f in frames if "stop" not in f
    ]
    expected: list[Any] = []
    for n in range(100):
        expected += [str(n), n] if n % 10 == 0 else [str(n)]
    assert said == expected


async def test_a_step_is_heard_as_the_page_says_it_with_session_and_number() -> None:
    call = ToolCall("c1", "bash", {"command": "ls"})
    async with open_ext("plain", [SUBSCRIBE, EVERYTHING]) as extension:
        for payload in (
            SessionBegan(""),
            StepBegan(1),
            ReplyEnded("on it", "on it", (call,), "tool_use"),
            CallEnded(ToolCall("c1", "bash", {"command": "ls"}), ToolResult("a"), "completed", True),
        ):
            extension.notify(Event(payload, STEP, 1, 0))
        frames = await received(extension, "event")
    assert [frame["event"] for frame in frames] == [
        "session_start",
        "turn_start",
        "assistant_message",
        "tool_call",
        "turn_end",
        "tool_result",
    ]
    assert [frame["sequence"] for frame in frames] == [1, 2, 3, 4, 5, 6]
    assert {frame["session_id"] for frame in frames} == {"telegram:-42"}
    assert {frame["cwd"] for frame in frames} == {"/project"}
    assert frames[3] == {
        "type": "event",
        "event": "tool_call",
        "tool_id": "c1",
        "tool_name": "bash",
        "tool_args": {"command": "ls"},
        "session_id": "telegram:-42",
        "cwd": "/project",
        "sequence": 4,
    }


async def test_only_what_was_subscribed_is_sent() -> None:
    async with open_ext("plain", [{"type": "subscribe", "events": ["turn_end"]}]) as extension:
        extension.notify(Event(StepBegan(1), STEP, 1, 0))
        extension.notify(Event(ReplyEnded("secret", "secret", (), "end"), STEP, 2, 0))
        (event,) = await received(extension, "event")
    assert (event["event"], event["sequence"]) == ("turn_end", 3)
