"""What one key can ask for at once, and what one request can be: the gateway answers everybody else meanwhile."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hookgate.channels.openai import load
from hookgate.channels.openai.channel import OpenAIChannel
from hookgate.channels.openai.completions.wire import CompletionRequest, read_completion_request
from hookgate.channels.openai.errors import ApiError
from hookgate.channels.openai.history import new_tail
from hookgate.channels.openai.responses.wire import ResponseRequest, read_response_request
from hookgate.channels.openai.wire import MOST_IN_ALL, MOST_MESSAGES
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import ApprovalRequested, TurnEnd, TurnStart
from hookgate.protocol.values import Message, Step
from hookgate.store.media.store import FileMedia
from tests.channels.openai.serving_api import DEADLINE_S, asking, open_api
from tests.channels.openai.test_openai_history import said
from tests.model_server import says


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (CompletionRequest, {"model": "m", "messages": [{}] * 100}),
        (CompletionRequest, {"model": "m", "messages": [{"role": "user", "content": [{}] * 100}]}),
        (CompletionRequest, asking("Hi.", tools=[7] * 100, stop=[7] * 100)),
        (CompletionRequest, asking({"role": "assistant", "tool_calls": [{}] * 100})),
        (ResponseRequest, {"model": "m", "input": [7] * 100}),
        (ResponseRequest, {"model": "m", "input": [{"content": [7] * 100, "output": [7] * 100}]}),
        (ResponseRequest, {"model": "m", "input": "Hi.", "tools": [{}] * 100}),
    ],
)
def test_of_a_list_the_first_fault_is_all_that_is_looked_for(kind: Any, body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as found:
        kind.model_validate(body)
    assert found.value.error_count() < 12


@pytest.mark.parametrize("content", ["content", "tool_calls"])
def test_a_request_of_very_many_parts_is_refused_as_a_whole(content: str) -> None:
    given = [{"role": "assistant", content: [{}] * 100}] * (MOST_IN_ALL // 100 + 1)
    for read, name in ((read_completion_request, "messages"), (read_response_request, "input")):
        if name == "input" and content == "tool_calls":
            continue
        with pytest.raises(ApiError, match="parts and calls") as found:
            read({"model": "m", name: given})
        assert found.value.param == name


class Counted(Sequence[Message]):
    """Counts how often one of them is looked at."""

    def __init__(self, messages: list[Message]) -> None:
        self.messages, self.looks = messages, 0

    def __len__(self) -> int:
        return len(self.messages)

    def __getitem__(self, at: Any) -> Any:
        self.looks += 1
        return self.messages[at]


def test_a_word_that_differs_ends_the_comparison_however_many_follow() -> None:
    sent = Counted([Message("user", "x")] * MOST_MESSAGES)
    tail = new_tail(sent, said("something else", "x"), "client")
    # Each is read a few times for other reasons.
    assert sent.looks < 3 * MOST_MESSAGES + 100
    assert tail.replaces == 1


async def test_a_body_over_the_limits_is_refused_and_one_below_is_read_aside(tmp_path: Path) -> None:
    async with open_api(tmp_path) as api:
        large = await api.ann.post("/chat/completions", json=asking("x" * 16_000_000))
        assert large.status_code == 413
        lists = await api.ann.post("/chat/completions", json=asking("Hi.", metadata={"a": [[]] * 250_000}))
        assert (lists.status_code, lists.json()["error"]["message"]) == (413, "more than 250000 brackets")
        wrong = await api.ann.post("/chat/completions", json=asking("x" * 300_000, n=2))
        assert (wrong.status_code, wrong.json()["error"]["param"]) == (400, "n")
        assert (await api.ask("x" * 300_000)).json()["choices"][0]["message"]["content"] == "x" * 300_000


async def test_an_answer_is_let_go_of_however_many_people_it_waited_for(tmp_path: Path) -> None:
    channel, chat = OpenAIChannel("api", FileMedia(tmp_path)), Chat("api", "ann", "ann", thread="/s")
    step = Step("main", "main-turn-1", Inbound(chat, "Go.", message_id="1"), model="m")
    asked = [ApprovalRequested(f"request {n}", "read", "rule", "Read?", 0.0, "d") for n in range(2)]
    for number, payload in enumerate((TurnStart("Go.", 0), *asked, TurnEnd("aborted", 1, 1, 0))):
        channel.hear(Event(payload, step, number, 0))
        if number == 0:
            answer = weakref.ref(channel.running(chat))
    gc.collect()
    assert answer() is None


async def test_one_key_has_so_much_open_at_once_and_others_are_heard_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "AT_ONCE", 1)
    monkeypatch.setattr(load, "BYTES_AT_ONCE", 10_000)
    async with open_api(tmp_path, replace(says("At last."), pause_s=DEADLINE_S / 2)) as api:
        bob = await api.client("bob")
        async with bob, api.ann.stream("POST", "/chat/completions", json=asking("Slowly.", stream=True)) as first:
            # Its head has come, so it is open.
            assert first.status_code == 200
            refused = await api.ask("And I?")
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
            assert refused.json()["error"]["code"] == "busy"
            assert (await bob.post("/chat/completions", json=asking("Hi."))).status_code == 200
        assert (await api.ask("x" * 20_000)).status_code == 429
        while (await api.ask("Now?")).status_code == 429:
            # The gateway finds out that she has left.
            pass
        assert (await api.ask("And now?")).status_code == 200
