"""Compaction: what is summed up, what stays, and that nothing is lost where it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from hookgate.loop.model.compaction import HEADING, boundary
from hookgate.protocol.errors import ProviderFailed
from hookgate.protocol.events.payloads import SessionCompacted
from hookgate.protocol.hook.answers import CONTINUE, Abort, Answer
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.journal.values import Draft
from hookgate.protocol.values import LLMReply, LLMRequest, Message, ProposedCall, Usage
from hookgate.protocol.values.models import Model, Prices
from hookgate.providers.models import known_model, known_models
from tests.loop.recording import Bench, FunctionTool, asks_for, hook, is_valid, says, transcript_of

CALL = ProposedCall("c1", "look", "{}")
OTHER = ProposedCall("c2", "look", "{}")


def said(*roles: str) -> list[Message]:
    """One letter a message: u, a, t (a result), c (a reply with two calls)."""
    made = {
        "u": Message("user", "x"),
        "a": Message("assistant", "y"),
        "c": Message("assistant", "", (CALL, OTHER)),
        "t": Message("tool", "z", tool_call_id="c1"),
    }
    return [made[role] for word in roles for role in word]


@pytest.mark.parametrize(
    ("conversation", "goes"),
    [("", 0), ("ua", 0), ("uaua", 0), ("uauaua", 2), ("uacttau", 2), ("ucttaua", 1), ("uauauctt", 4)],
)
def test_a_result_is_never_parted_from_its_call(conversation: str, goes: int) -> None:
    messages = said(conversation)
    cut = boundary(messages, 4)
    assert cut == goes
    assert not messages[cut:] or messages[cut].role != "tool"


class Talker:
    """A provider that answers from a list; it notes what it was asked, and can fail."""

    def __init__(self, *replies: str | Exception, usage: Usage | None = None) -> None:
        self.replies = list(replies)
        self.requests: list[LLMRequest] = []
        self.usage = usage

    async def complete(self, request: LLMRequest, on_text: Callable[[str], None]) -> LLMReply:
        self.requests.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        on_text(reply)
        return LLMReply(request.model, reply, usage=self.usage)


def bench(talker: Talker, **agent: Any) -> Bench:
    return Bench(providers={"p": talker}, **agent)


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.content for message in messages]


async def test_the_older_part_becomes_one_message_of_the_user() -> None:
    talker = Talker("a1", "a2", "a3", "what was said", "a4")
    run = bench(talker)
    await run.play("one", "two", "three", "/compact", "four")
    assert run.lines[3] == "Compacted: 2 messages became a summary, 4 stay as they are."
    assert texts(run.messages())[:2] == [HEADING + "what was said", "two"]
    assert run.messages()[0].role == "user"
    asked = talker.requests[3]
    assert (asked.tools, asked.options["max_tokens"]) == ((), 4096)
    assert "user: one" in asked.messages[-1].content
    assert [(it.dropped, it.kept) for it in run.payloads(SessionCompacted)] == [(2, 4)]
    assert texts(talker.requests[4].messages)[-1] == "four"


async def test_a_summary_is_asked_for_without_the_thinking_that_would_count_against_its_length() -> None:
    talker = Talker("a1", "a2", "a3", "what was said")
    levels = {"thinking": {"type": "enabled", "budget_tokens": 20_000}, "reasoning_effort": "high"}
    run = bench(talker, options={**levels, "temperature": 0, "max_tokens": 30_000})
    await run.play("one", "two", "three", "/compact")
    assert [dict(it.options) for it in talker.requests[2:]] == [
        {**levels, "temperature": 0, "max_tokens": 30_000},
        {"temperature": 0, "max_tokens": 4096},
    ]


@pytest.mark.parametrize(
    ("replies", "line"),
    [
        (("a1", "a2", "  "), "Not compacted: empty summary from model."),
        (("a1", "a2", ProviderFailed("auth", "no key")), "Not compacted: p: no key."),
    ],
)
async def test_what_fails_changes_nothing(replies: tuple[str | Exception, ...], line: str) -> None:
    run = bench(Talker("a0", *replies))
    await run.play("zero", "one", "two", "/compact")
    assert run.lines[-1] == line
    assert texts(run.messages()) == ["zero", "a0", "one", "a1", "two", "a2"]


async def test_a_short_conversation_is_left_alone_and_says_so() -> None:
    run = bench(Talker("a1"))
    await run.play("/compact", "one", "/compact")
    assert run.lines == [
        "Not compacted: nothing to compact.",
        "a1",
        "Not compacted: nothing to compact: keep-tail covers the whole transcript.",
    ]


async def test_the_summary_passes_the_gate_like_every_model_call() -> None:
    seen: list[str] = []

    async def judge(question: Question) -> Answer:
        seen.append(question.step.purpose)
        return Abort("not this") if question.step.purpose == "compact" else CONTINUE

    run = bench(Talker("a1", "a2", "a3"), hooks=[hook("privacy", {Stage.BEFORE_LLM: judge})])
    await run.play("one", "two", "three", "/compact")
    assert seen == ["turn", "turn", "turn", "compact"]
    assert run.lines[-1] == "Not compacted: hook privacy aborted the turn at before_llm: not this."
    assert len(run.messages()) == 6


async def test_near_the_models_window_it_happens_by_itself() -> None:
    talker = Talker("a1", "a2", "in short", "a3", usage=Usage(900, 10))
    run = bench(talker, known_model=lambda name: Model(name, context_window=1000))
    await run.play("one", "two", "three")
    assert run.lines == ["a1", "a2", "a3"]
    assert texts(run.messages()) == [HEADING + "in short", "a1", "two", "a2", "three", "a3"]
    assert len(run.payloads(SessionCompacted)) == 1


async def test_an_endpoint_that_says_too_long_is_asked_once_more_with_a_summary() -> None:
    overflow = ProviderFailed("overflow", "the conversation is too long for the model")
    talker = Talker("a1", "a2", "a3", overflow, "in short", "a4", overflow, "shorter", overflow)
    run = bench(talker)
    await run.play("one", "two", "three", "four", "five")
    assert run.lines[3] == "a4"
    assert run.lines[4].startswith("The model call failed (overflow)")
    assert len(run.payloads(SessionCompacted)) == 2
    assert is_valid(run.messages())


async def test_calls_of_the_running_turn_survive_a_compaction_in_its_middle() -> None:
    tool = FunctionTool("look")
    steps = [says("a1"), says("a2"), asks_for("look", "look"), asks_for("look"), says("done")]
    run = Bench(*steps, tools=[tool], known_model=lambda name: Model(name, context_window=40), compact_at=0.5)
    await run.play("one " * 30, "two " * 30, "three")
    assert is_valid(run.messages())


async def test_taking_back_a_turn_takes_back_the_summary_that_was_made_in_it() -> None:
    before = said("uauaua")
    transcript = await transcript_of(*before)
    await transcript.append(Draft(Message("user", "the turn")))
    await transcript.sum_up(3, Message("user", "summary"))
    assert texts(transcript.messages) == ["summary", "y", "x", "y", "the turn"]
    await transcript.rewind()
    assert transcript.messages == tuple(before)
    await transcript.append(Draft(Message("user", "again")))
    await transcript.sum_up(7, Message("user", "all of it"))
    assert texts(transcript.messages) == ["all of it"]
    await transcript.rewind()
    assert transcript.messages == tuple(before)


def test_costs_come_from_the_prices_of_the_model() -> None:
    prices = Prices(3.0, 15.0, 0.3, 3.75)
    usage = Usage(1_000_000, 100_000, 500_000, 200_000)
    assert prices.cost(usage) == pytest.approx(0.3 * 3 + 0.5 * 0.3 + 0.2 * 3.75 + 0.1 * 15)
    assert Prices(2.0, 8.0).cost(Usage(1_000_000, 0, 400_000)) == pytest.approx(2.0)


def test_the_catalog_knows_dated_names_and_only_the_asked_provider() -> None:
    dated = known_model("claude", "anthropic", "claude-sonnet-4-5-20250929")
    assert dated is not None
    assert (dated.name, dated.context_window) == ("claude/claude-sonnet-4-5-20250929", 200_000)
    assert known_model("x", "openai", "no-such-model") is None
    assert all(model.provider == "mine" and model.prices is not None for model in known_models("mine", "openai"))
    assert known_models("s", "scripted") == ()
