"""The scripted model: which step answers, what it streams, and how a script is refused."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import trio

from hookgate.protocol.errors import BadMessage, ProviderFailed
from hookgate.protocol.values import LLMRequest, Message, ProposedCall
from hookgate.protocol.values.delta import CallPiece, Delta
from hookgate.providers.scripted import Script, ScriptedCall, ScriptedProvider, ScriptStep
from tests.providers.streamed import words, written

Ask = Callable[..., LLMRequest]


def quiet(_: str) -> None:
    pass


async def test_steps_are_taken_in_order_and_then_the_model_echoes(ask: Ask) -> None:
    provider = ScriptedProvider(Script((ScriptStep("one"), ScriptStep("two"))))
    replies = [(await provider.complete(ask("x"), quiet)).content for _ in range(3)]
    assert replies == ["one", "two", "x"]


async def test_a_script_without_echo_fails_when_it_is_used_up(ask: Ask) -> None:
    with pytest.raises(ProviderFailed, match="no more steps"):
        await ScriptedProvider(Script(echo=False)).complete(ask(), quiet)


async def test_text_is_streamed_word_by_word_and_joins_to_the_reply(ask: Ask, heard: list[Delta]) -> None:
    text = "  two words,\n\nand a\ttab "
    reply = await ScriptedProvider(Script((ScriptStep(text),))).complete(ask(), heard.append)
    assert "".join(heard) == reply.content == text
    assert len(heard) == 5


async def test_a_step_with_when_answers_as_often_as_it_matches_and_fills_in_its_groups(ask: Ask) -> None:
    data = {
        "steps": [
            {"when": r"list (\w+)", "text": "Looking.", "calls": [{"name": "ls", "arguments": {"path": ["$1", 5]}}]},
            {"when": "(?s).*", "on": "tool", "text": "I found: $0 ($3)"},
            {"text": "in order, for $5"},
        ]
    }
    provider = ScriptedProvider(Script.parse(data))
    for folder in ("docs", "src"):
        reply = await provider.complete(ask(f"please list {folder}"), quiet)
        assert reply.tool_calls == (ProposedCall("call_1", "ls", f'{{"path":["{folder}",5]}}'),)
        assert reply.finish_reason == "tool_calls"
    after = LLMRequest("m", (Message("user", "list a"), Message("tool", "list b", tool_call_id="call_1")))
    assert (await provider.complete(after, quiet)).content == "I found: list b ($3)"
    assert (await provider.complete(ask("else"), quiet)).content == "in order, for $5"


async def test_arguments_may_be_raw_text_and_ids_are_new_to_the_conversation(ask: Ask, heard: list[Delta]) -> None:
    step = ScriptStep(calls=(ScriptedCall("a", "{bad"), ScriptedCall("b", {}, id="mine")), when=re.compile(""))
    provider = ScriptedProvider(Script((step,)))
    first = await provider.complete(ask(), heard.append)
    assert written(heard) == [("call_1", "a", "{bad"), ("mine", "b", "{}")]
    assert first.tool_calls == (ProposedCall("call_1", "a", "{bad"), ProposedCall("mine", "b", "{}"))
    past = Message("assistant", "", tool_calls=first.tool_calls)
    again = await provider.complete(LLMRequest("m", (past, Message("user", "more"))), quiet)
    assert not {call.id for call in again.tool_calls} & {"call_1", "mine"}


async def test_a_failing_step_streams_its_text_and_then_fails_as_told(ask: Ask, heard: list[Delta]) -> None:
    script = Script.parse({"steps": [{"text": "half", "fail": {"kind": "rate_limit", "retry_after_s": 2}}]})
    with pytest.raises(ProviderFailed) as failed:
        await ScriptedProvider(script).complete(ask(), heard.append)
    assert (heard, failed.value.kind, failed.value.retry_after_s) == (["half"], "rate_limit", 2.0)


async def test_a_hanging_step_ends_only_by_cancelling(ask: Ask, heard: list[Delta], autojump_clock: object) -> None:
    step = ScriptStep("half", (ScriptedCall("a", "{}", "c1"), ScriptedCall("b", "{ }", "c2")), hang=True)
    with trio.move_on_after(3600) as scope:
        await ScriptedProvider(Script((step,))).complete(ask(), heard.append)
    assert (scope.cancelled_caught, words(heard)) == (True, ["half"])
    begun = [CallPiece("c2", "b"), CallPiece("c2", "b", "{ "), CallPiece("c2", "b", "}")]
    assert heard[1:] == [CallPiece("c1", "a"), CallPiece("c1", "a", "{}"), CallPiece("c1", "a", ended=True), *begun]


async def test_a_pace_spreads_the_words_over_time(ask: Ask, autojump_clock: object) -> None:
    started = trio.current_time()
    await ScriptedProvider(Script((ScriptStep("a b c d"),), pace_s=0.5)).complete(ask(), quiet)
    assert trio.current_time() - started == pytest.approx(2.0)


def test_a_script_that_is_no_object_is_refused() -> None:
    with pytest.raises(BadMessage, match=r"^script: "):
        Script.parse([])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ({"steps": [{"txt": "x"}]}, "script.steps.0.txt"),
        ({"steps": [{"when": "("}]}, "script.steps.0.when"),
        ({"steps": [{"fail": {"kind": "bored"}}]}, "script.steps.0.fail.kind"),
        ({"stepz": []}, "script.stepz"),
        ({"steps": [{"calls": [{"arguments": {}}]}]}, "script.steps.0.calls.0.name"),
    ],
)
def test_a_wrong_script_is_refused_with_the_path_of_the_mistake(data: dict[str, object], where: str) -> None:
    with pytest.raises(BadMessage, match=re.escape(where + ":")):
        Script.parse(data)  # type: ignore[arg-type]
