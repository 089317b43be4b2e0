"""One model call and its failures: what is tried again, how long it waits, and what the chat is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
from trio.testing import MockClock

from hookgate.loop.agent import Retries
from hookgate.protocol.errors import PASSING, ProviderFailed, ProviderFault
from hookgate.protocol.events.payloads import ErrorEvent, LlmRetry, TurnEnd
from hookgate.protocol.hook.answers import CONTINUE
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.values import LLMReply, LLMRequest
from hookgate.protocol.values.delta import Delta
from hookgate.protocol.values.models import Model
from hookgate.providers.scripted import ScriptedFailure, ScriptStep
from tests.loop.recording import Bench, hook, says

MakeBench = Callable[..., Bench]

TRIES: dict[ProviderFault, int] = {
    "timeout": 3,
    "network": 3,
    "rate_limit": 3,
    "server": 3,
    "empty": 2,
    "auth": 1,
    "billing": 1,
    "format": 1,
    "overflow": 1,
    "unknown": 1,
}


def fails(kind: ProviderFault, retry_after_s: float | None = None, text: str = "") -> ScriptStep:
    return ScriptStep(text, fail=ScriptedFailure(kind, "api.test said no", retry_after_s))


@pytest.mark.parametrize("kind", TRIES)
async def test_a_failing_class_is_tried_this_often_and_ends_in_one_plain_line(
    bench: MakeBench, kind: ProviderFault
) -> None:
    made = bench(*[fails(kind)] * 5)
    assert await made.play() == [f"The model call failed ({kind}): p: api.test said no"]
    assert made.room.sent[0].kind == "error"
    assert len(made.provider.requests) == TRIES[kind]
    assert made.payloads(TurnEnd)[0].Status == "error"
    assert made.payloads(ErrorEvent) == [ErrorEvent("llm", "p: api.test said no")]
    assert [message.role for message in made.messages()] == ["user"]


@pytest.mark.parametrize("kind", sorted(PASSING))
async def test_a_failure_that_passes_leaves_no_trace_in_the_chat(bench: MakeBench, kind: ProviderFault) -> None:
    made = bench(fails(kind), says("hello"))
    assert await made.play() == ["hello"]
    [retry] = made.payloads(LlmRetry)
    assert (retry.Attempt, retry.MaxRetries, retry.Reason) == (1, 1 if kind == "empty" else 2, kind)


async def test_hooks_are_asked_once_however_often_the_call_is_tried(bench: MakeBench) -> None:
    made = bench(fails("server"), fails("server"), says("hello"), hooks=[hook("h", {Stage.BEFORE_LLM: CONTINUE})])
    await made.play()
    assert made.agent.gate.stats["h"].calls == 1
    assert made.kinds.count("llm_request") == 1


@pytest.mark.parametrize(
    ("thinks", "most", "sent"),
    [
        (False, 8192, {"seed": 1, "max_tokens": 8192}),
        (False, 0, {"seed": 1, "max_tokens": 28_192}),
        (None, 8192, {"seed": 1, "max_tokens": 28_192, "reasoning_effort": "high"}),
        (True, 8192, {"seed": 1, "max_tokens": 28_192, "reasoning_effort": "high"}),
    ],
)
async def test_a_model_that_does_not_think_is_not_asked_to(
    bench: MakeBench, thinks: bool | None, most: int, sent: dict[str, object]
) -> None:
    options = {"seed": 1, "max_tokens": 28_192, "reasoning_effort": "high"}
    made = bench(
        says("hello"), options=options, known_model=lambda name: Model(name, max_output=most, reasoning=thinks)
    )
    await made.play()
    assert made.provider.requests[0].options == sent


async def waited(made: Bench) -> float:
    """Seconds on the test's clock that the conversation took."""
    before = trio.current_time()
    await made.play()
    return trio.current_time() - before


@pytest.mark.parametrize(
    ("failure", "shortest", "longest"),
    [
        (fails("rate_limit", retry_after_s=7.5), 7.5, 7.5),
        (fails("rate_limit"), 0.5, 1.0),
        (fails("rate_limit", retry_after_s=0.0), 0.0, 0.0),
    ],
)
async def test_a_wait_is_what_the_endpoint_asks_for_or_our_own(
    bench: MakeBench, autojump_clock: MockClock, failure: ScriptStep, shortest: float, longest: float
) -> None:
    made = bench(failure, says("hello"), retries=Retries(2, 1.0, 60.0))
    took = await waited(made)
    assert shortest <= took <= longest + 0.001
    assert made.lines == ["hello"]
    assert made.payloads(LlmRetry)[0].Backoff == pytest.approx(took * 1e9)


async def test_our_own_waits_double_up_to_their_limit(bench: MakeBench, autojump_clock: MockClock) -> None:
    made = bench(*[fails("server")] * 5, says("hello"), retries=Retries(5, 1.0, 3.0))
    await waited(made)
    seconds = [retry.Backoff / 1e9 for retry in made.payloads(LlmRetry)]
    for wait, longest in zip(seconds, [1, 2, 3, 3, 3], strict=True):
        assert longest / 2 <= wait <= longest


async def test_a_wait_that_is_too_long_is_not_waited_for(bench: MakeBench, autojump_clock: MockClock) -> None:
    made = bench(fails("rate_limit", retry_after_s=61.0), says("never"), retries=Retries(2, 1.0, 60.0))
    assert await waited(made) == 0
    assert made.lines == [
        "The model call failed (rate_limit): p: api.test said no; it asks for a wait of 61 s, "
        "and hookgate waits 60 s (agent.retry_longest_ms) at most"
    ]


async def test_of_a_wait_that_no_try_is_left_for_nothing_is_said(bench: MakeBench) -> None:
    made = bench(fails("rate_limit", retry_after_s=61.0), retries=Retries(0, 1.0, 60.0))
    assert await made.play() == ["The model call failed (rate_limit): p: api.test said no"]


async def test_what_took_all_its_time_is_not_asked_again(bench: MakeBench) -> None:
    slow = Broken(ProviderFailed("timeout", "api.test took more than 1800 s in all", final=True))
    made = bench(providers={"p": slow})
    assert await made.play() == ["The model call failed (timeout): p: api.test took more than 1800 s in all"]
    assert slow.asked == 1


class Broken:
    def __init__(self, error: ProviderFailed) -> None:
        self.asked, self._error = 0, error

    async def complete(self, request: LLMRequest, on_text: Callable[[Delta], None]) -> LLMReply:
        self.asked += 1
        await trio.lowlevel.checkpoint()
        raise self._error


async def test_a_broken_stream_is_void_and_starts_again(bench: MakeBench) -> None:
    made = bench(fails("network", text="Once upon"), says("The whole story."))
    assert await made.play() == ["The whole story."]
    assert made.room.streamed == "Once upon<again>The whole story."


async def test_a_stream_that_broke_before_any_text_starts_again_without_a_word(bench: MakeBench) -> None:
    made = bench(fails("network"), says("The whole story."))
    await made.play()
    assert made.room.streamed == "The whole story."


async def test_a_provider_that_is_not_configured_is_named(bench: MakeBench) -> None:
    made = bench(says("never"), model="q/m")
    assert await made.play() == [
        "The model call failed (format): there is no provider 'q' in the configuration (known: p)"
    ]


async def test_stop_ends_a_wait_between_two_tries(bench: MakeBench) -> None:
    made = bench(fails("server"), says("never"), retries=Retries(2, 3600.0, 3600.0))
    async with made.opened():
        await made.say("go")
        while "llm_retry" not in made.kinds:
            await trio.lowlevel.checkpoint()
        await made.say("/stop")
        await made.idle()
    assert made.lines == ["Stopped."]
    assert len(made.provider.requests) == 1
