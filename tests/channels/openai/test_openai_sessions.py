"""Which conversation a request goes on with, what of it is new there, and when it is the same request again."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import trio

from hookgate.channels.openai import forgetting
from hookgate.channels.openai.settings import OpenAIParts
from hookgate.protocol.journal.values import Accepted
from tests.channels.openai.serving_api import Api, asking, open_api
from tests.model_server import says

REPLY = {"role": "assistant", "content": "whatever the client kept of it"}


def model_saw(api: Api) -> list[str]:
    return [it["content"] for it in api.model.requests[-1].body["messages"][1:]]


async def test_each_name_of_a_session_counts_in_its_order_and_stays_within_its_key(tmp_path: Path) -> None:
    async with open_api(tmp_path) as api:
        ways: list[dict[str, Any]] = [
            {"headers": {"x-hookgate-session": "one"}, "session_id": "not-this"},
            {"session_id": "two", "user": "not-this"},
            {"metadata": {"session_id": "three"}},
            {"headers": {"x-openwebui-chat-id": "four", "x-hookgate-history": "server"}},
            {"user": "five"},
        ]
        for way in ways:
            for text in ("First.", "Second."):
                answered = await api.ask(text, **way)
                assert answered.status_code == 200
            assert model_saw(api) == ["First.", "First.", "Second."], way
        assert (await api.ask("x", headers={"x-hookgate-session": "one"})).headers["x-hookgate-session"] == "one"
        async with await api.client("bob") as bob:
            await bob.post("/chat/completions", json=asking("Who am I?", session_id="two"))
            assert model_saw(api) == ["Who am I?"]


async def test_the_agent_that_answers_anyway_and_nobody_chosen_have_one_conversation(tmp_path: Path) -> None:
    async with open_api(tmp_path) as api:
        for model, saw in (
            ("hookgate", ["One."]),
            ("main", ["One.", "One.", "Two."]),
            ("coder", ["Three."]),
        ):
            body = {**asking(saw[-1], session_id="s"), "model": model}
            assert (await api.ann.post("/chat/completions", json=body)).json()["model"] == model
            assert model_saw(api) == saw


async def test_of_a_whole_history_only_the_new_tail_joins_and_an_edit_takes_back(tmp_path: Path) -> None:
    async with open_api(tmp_path, says("A1"), says("A2"), says("A3"), says("A4"), says("A5")) as api:
        named = {"x-openwebui-chat-id": "c"}

        async def ask(*said: Any) -> list[str]:
            body = asking(*said)
            assert (await api.ann.post("/chat/completions", json=body, headers=named)).status_code == 200
            return model_saw(api)

        assert await ask("one") == ["one"]
        assert await ask("one", REPLY, "two") == ["one", "A1", "two"]
        # Once more, and another last word, and another first one.
        assert await ask("one", REPLY, "two") == ["one", "A1", "two"]
        assert await ask("one", REPLY, "other") == ["one", "A1", "other"]
        assert await ask("new") == ["new"]


async def test_what_open_webui_asks_for_by_the_way_touches_no_chat(tmp_path: Path) -> None:
    async with open_api(tmp_path) as api:
        named = {"x-openwebui-chat-id": "c"}
        await api.ask("one", headers=named)
        title = await api.ask("### Task:\nGenerate a concise, 3-5 word title.", headers=named, max_tokens=50)
        assert title.status_code == 200
        assert len(model_saw(api)) == 1
        body = asking("one", REPLY, "two")
        await api.ann.post("/chat/completions", json=body, headers=named)
        assert model_saw(api) == ["one", "one", "two"]


async def test_the_same_request_again_is_one_turn(tmp_path: Path) -> None:
    """By its key, at any time; by what an SDK says of its retries, within minutes; without either it is another."""
    async with open_api(tmp_path) as api:
        first = await api.ask("Pay.", headers={"idempotency-key": "k"})
        again = await api.ask("Pay.", headers={"idempotency-key": "k"})
        assert first.json()["choices"] == again.json()["choices"]
        assert first.json()["id"] == again.json()["id"]
        other = await api.ask("Pay more.", headers={"idempotency-key": "k"})
        assert (other.status_code, other.json()["error"]["code"]) == (422, "idempotency_key_reused")
        assert (await api.ask("Pay.", headers={"idempotency-key": "k" * 201})).status_code == 400
        assert len(api.model.requests) == 1
        for where in ({}, {"x-hookgate-session": "s"}):
            before = len(api.model.requests)
            tries = [await api.ask("Go.", headers={"x-stainless-retry-count": n, **where}) for n in ("0", "1", "2")]
            assert len({it.json()["choices"][0]["message"]["content"] for it in tries}) == 1
            assert len(api.model.requests) == before + 1
        await api.ask("Go.")
        await api.ask("Go.")
        assert len(api.model.requests) == 5


async def test_a_repeat_while_the_turn_runs_reads_along(tmp_path: Path) -> None:
    async with open_api(tmp_path) as api:
        got = list[str]()

        async def ask() -> None:
            answered = await api.ask("Slowly.", headers={"idempotency-key": "k"})
            got.append(answered.json()["choices"][0]["message"]["content"])

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(ask)
        assert got == ["Slowly."] * 3
        assert len(api.model.requests) == 1


async def test_a_command_is_answered_as_in_any_chat(tmp_path: Path) -> None:
    async with open_api(tmp_path) as api:
        named = {"x-hookgate-session": "s"}
        await api.ask("one", headers=named)
        answered = (await api.ask("/new", headers=named)).json()["choices"][0]
        assert answered["message"]["content"] == "A new conversation."
        await api.ask("two", headers=named)
        assert model_saw(api) == ["two"]


async def test_requests_of_their_own_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was said is forgotten, not that it was; one that a client can name again stays."""
    monkeypatch.setattr(forgetting, "REPEATED_S", 0.0)
    monkeypatch.setattr(forgetting, "LOOK_S", 0.02)
    async with open_api(tmp_path) as api:
        chats = api.served.runtime.journal.chats
        await api.ask("Gone soon.")
        await api.ask("Stays.", headers={"idempotency-key": "k"})
        await api.ask("Stays too.", session_id="s")
        while len(await chats.listed("api:")) > 2:
            await trio.sleep(0.02)
        assert {it.title for it in await chats.listed("api:")} == {"Stays.", "Stays too."}
        assert [key for key in api.served.runtime.gateway.sessions if "~" in key] == []


@dataclass
class Cluster:
    members: list[SimpleNamespace] = field(
        default_factory=lambda: [SimpleNamespace(id="here"), SimpleNamespace(id="there")]
    )


async def test_what_others_go_on_with_is_kept_and_what_the_dead_leave_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another gateway of the same journal: what is asked here is asked elsewhere for it."""
    async with open_api(tmp_path) as api, trio.open_nursery() as nursery:
        journal, cluster = api.served.runtime.journal, Cluster()

        async def respond(text: str, **more: str) -> tuple[str, Accepted]:
            answered = await api.ann.post("/responses", json={"model": "hookgate", "input": text, **more})
            row = (await journal.chats.listed("api:"))[0]
            said = await journal.chats.said(row.conversation)
            return answered.json()["id"], Accepted(said[-1].message, row.conversation)

        async def until_gone(response: str) -> None:
            while (await api.ann.get(f"/responses/{response}")).status_code == 200:
                await trio.sleep(0.02)

        parts = SimpleNamespace(journal=SimpleNamespace(chats=journal.chats, books=journal.books, cluster=cluster))
        other = forgetting.Forgetting("api", cast("OpenAIParts", parts))
        old, _ = await respond("old")
        # The gateway itself looks again in a minute only.
        for name, value in (("LOOK_S", 0.02), ("KEPT_S", 0.0), ("REPEATED_S", 0.0)):
            monkeypatch.setattr(forgetting, name, value)
        nursery.start_soon(other.run)
        await until_gone(old)
        monkeypatch.setattr(forgetting, "KEPT_S", 3600.0)
        first, known = await respond("first")
        second, _ = await respond("second", previous_response_id=first)
        alone, alone_known = await respond("alone")
        for it in (known, alone_known):
            other.forget(it, long=False)
        await until_gone(alone)
        assert (await api.ann.get(f"/responses/{second}")).status_code == 200
        left, _ = await respond("left")
        monkeypatch.setattr(forgetting, "KEPT_S", 0.0)
        cluster.members.pop()
        await until_gone(left)
        assert (await api.ann.get(f"/responses/{first}")).status_code == 200
        nursery.cancel_scope.cancel()
