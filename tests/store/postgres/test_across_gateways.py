"""Two gateways on one database: whatever is asked of a conversation comes to where it is, whichever gateway is asked,
and whoever is connected to the one sees what happens at the other."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from hookgate import config as configuration
from hookgate.assembly.settings import ExtensionFlags, Settings
from hookgate.channels.web.access.passwords import hashed
from hookgate.operations import sessions
from hookgate.operations.refused import OperationRefused
from hookgate.serve.run import Served
from tests.channels.openai.serving_api import add_key, asking
from tests.channels.web.site import listening
from tests.model_server import Answer, ModelServer, calls, hang, open_model_server, says
from tests.postgres import Server
from tests.serve.gateway import open_served
from tests.serve.started import until

DEADLINE_S = 120.0
PEOPLE = "ann", "bob"
CONFIGURATION = """
[agent]
model = "p/m"
workspace = "{folder}"
retries = 0
[providers.p]
kind = "openai"
base_url = "{url}"
[http]
listen = "127.0.0.1:0"
[store]
url = "{database}"
journal = "{folder}/state/journal.db"
[control]
enabled = false
[channels.web]
kind = "web"
busy = "{busy}"
users = {{ ann = "{ann}", bob = "{bob}" }}
[channels.api]
kind = "openai"
"""
WRITES = """
[[approvals]]
tools = ["write"]
approvers = ["web:ann", "web:bob"]
required = 2
self_approval = true
ask_in = ["web:ann", "web:bob"]
"""


@dataclass
class Gateway:
    served: Served
    ann: httpx.AsyncClient
    bob: httpx.AsyncClient

    async def say(self, key: str, text: str) -> None:
        answer = await self.ann.post("/api/chats/c1/messages", json={"key": key, "text": text})
        assert answer.status_code == 202, answer.text


@asynccontextmanager
async def two(
    server: Server, folder: Path, *answers: Answer, more: str = "", busy: str = "queue", extension: Path | None = None
) -> AsyncGenerator[tuple[ModelServer, Gateway, Gateway]]:
    """`extension`: its folder, of both."""
    failed = list[Exception]()
    with trio.fail_after(DEADLINE_S):
        async with AsyncExitStack() as stack:
            model = await stack.enter_async_context(open_model_server(*answers))
            database = server.database()
            flags = None if extension is None else ExtensionFlags((extension,), trusting=True)
            settings = [
                _settings(folder / name, (model.base_url, database, more, busy), flags) for name in ("one", "two")
            ]
            opened = [await _open(stack, it) for it in settings]
            for it in opened:
                while len(it.served.runtime.journal.cluster.members) < 2:
                    await trio.sleep(0.01)
            try:
                yield model, opened[0], opened[1]
            except Exception as error:
                # Not as one of a group for each part that is closed.
                failed.append(error)
    for error in failed:
        raise error


def _settings(folder: Path, its: tuple[str, str, str, str], extensions: ExtensionFlags | None) -> Settings:
    url, database, more, busy = its
    (folder / "state").mkdir(parents=True)
    file = folder / "hookgate.toml"
    people = {name: hashed("right", 8) for name in PEOPLE}
    file.write_text(CONFIGURATION.format(folder=folder, url=url, database=database, busy=busy, **people) + more)
    config, _file = configuration.load(file)
    return Settings(config, folder, file, extensions=extensions, serving=True)


async def _open(stack: AsyncExitStack, settings: Settings) -> Gateway:
    served = await stack.enter_async_context(open_served(settings))
    clients = [await stack.enter_async_context(_client(served, name)) for name in PEOPLE]
    return Gateway(served, *clients)


@asynccontextmanager
async def _client(served: Served, user: str) -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://{served.address}", timeout=DEADLINE_S) as client:
        assert (await client.post("/api/login", json={"user": user, "password": "right"})).status_code == 204
        client.headers["x-csrf-token"] = (await client.get("/api/me")).json()["csrf"]
        yield client


async def said(client: httpx.AsyncClient, many: int) -> list[str]:
    """Once there are as many."""
    found = await until(client, "/api/chats/c1", lambda it: len(it["messages"]) >= many)
    return [it["text"] for it in found["messages"]]


# --- what is asked of a conversation ------------------------------------------------------------------------


async def test_a_stop_a_new_conversation_and_a_second_message_act_where_the_turn_runs(
    server: Server, tmp_path: Path
) -> None:
    waits = hang(says("one ", "two"), 2)
    async with two(server, tmp_path, waits, says("second")) as (model, one, other):
        await one.say("k1", "first")
        await model.arrived.wait()
        await other.say("k2", "and then")
        assert (await other.ann.post("/api/chats/c1/stop")).status_code == 204
        assert (await said(other.ann, 5))[-1] == "second"
        assert model.clients_gone >= 1
        assert not other.served.runtime.gateway.sessions
        await other.say("k3", "/new")
        await until(one.ann, "/api/chats/c1", lambda it: [row["text"] for row in it["messages"]][:1] != ["first"])


async def test_a_second_message_joins_the_turn_that_runs_elsewhere(server: Server, tmp_path: Path) -> None:
    slow = Answer(calls(("c1", "ls", "{}")).pieces, pause_s=1.0)
    async with two(server, tmp_path, slow, says("both"), busy="steer") as (model, one, other):
        await one.say("k1", "first")
        await model.arrived.wait()
        await other.say("k2", "and this")
        await until(other.ann, "/api/chats/c1", lambda it: "both" in [row["text"] for row in it["messages"]])
        assert [it["content"] for it in model.requests[1].body["messages"]][-1] == "and this"
        assert len(model.requests) == 2


async def test_an_operator_stops_and_forgets_through_any_gateway(server: Server, tmp_path: Path) -> None:
    async with two(server, tmp_path, hang(says("one "), 2)) as (model, one, other):
        await one.say("k1", "first")
        await model.arrived.wait()
        gateway = other.served.runtime.gateway
        [row] = await sessions.list_sessions(gateway)
        assert row.busy
        [stored] = await sessions.stored_sessions(gateway)
        assert (stored.session, stored.busy) == (row.key, True)
        assert await sessions.stop_turn(gateway, row.key)
        await until(other.ann, "/api/chats/c1", lambda it: it["messages"][-1]["text"] == "Stopped.")
        with pytest.raises(OperationRefused, match="no session 'web:nobody'"):
            await sessions.stop_turn(gateway, "web:nobody")
        await sessions.forget_session(gateway, row.key)
        with pytest.raises(OperationRefused, match="no session"):
            await sessions.forget_session(gateway, row.key)


async def test_a_gateway_that_does_not_answer_is_named(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookgate.loop.anywhere.ANSWER_S", 0.0)
    async with two(server, tmp_path, hang(says("one "), 2)) as (model, one, other):
        await one.say("k1", "first")
        await model.arrived.wait()
        [key] = one.served.runtime.gateway.sessions
        [name] = [it.name for it in other.served.runtime.journal.cluster.members][:1]
        with pytest.raises(OperationRefused, match=f"is at the gateway {name}, which has not answered"):
            await sessions.stop_turn(other.served.runtime.gateway, key)


async def test_two_people_decide_a_call_one_at_each_gateway(server: Server, tmp_path: Path) -> None:
    writes = calls(("c1", "write", '{"path": "made.txt", "content": "hello"}'))
    async with two(server, tmp_path, writes, says("done"), more=WRITES) as (_model, one, other):
        await one.say("k1", "write it")
        [card] = await until(other.bob, "/api/approvals", len)
        first = await other.bob.post(f"/api/approvals/{card['id']}", json={"approved": True})
        assert first.json()["state"] == "open"
        second = await one.ann.post(f"/api/approvals/{card['id']}", json={"approved": True})
        assert second.json()["state"] == "approved"
        await until(other.ann, "/api/chats/c1", lambda it: "done" in [row["text"] for row in it["messages"]])
        assert (tmp_path / "one" / "made.txt").read_text() == "hello"


async def test_a_yes_that_is_typed_at_another_gateway_counts(server: Server, tmp_path: Path) -> None:
    writes = calls(("c1", "write", '{"path": "made.txt", "content": "hello"}'))
    alone = WRITES.replace("required = 2", "required = 1")
    async with two(server, tmp_path, writes, says("done"), more=alone) as (_model, one, other):
        await one.say("k1", "write it")
        [card] = await until(other.ann, "/api/approvals", len)
        await other.say("k2", f"/pending {card['id']}")
        shown = card["id"][:8]
        await until(
            other.ann, "/api/chats/c1", lambda it: any(row["text"].startswith(shown) for row in it["messages"])
        )
        await other.say("k3", f"/approve {card['id']}")
        await until(other.ann, "/api/chats/c1", lambda it: "done" in [row["text"] for row in it["messages"]])
        assert (tmp_path / "one" / "made.txt").read_text() == "hello"


# --- what is seen of it -------------------------------------------------------------------------------------


def slowly(*words: str) -> Answer:
    return Answer(says(*words).pieces, pause_s=0.4)


async def test_a_page_at_another_gateway_sees_an_answer_while_it_is_written(server: Server, tmp_path: Path) -> None:
    words = [f"word{number} " for number in range(8)]
    async with two(server, tmp_path, slowly(*words)) as (_model, one, other):
        async with listening(other.ann, "c1") as live:
            await live.next("snapshot")
            await one.say("k1", "first")
            assert (await live.next("message"))[1]["text"] == "first"
            assert (await live.next("delta"))[1]["text"].startswith("word0")
            # Whoever comes in the middle sees the whole answer so far.
            async with listening(other.bob, "c1") as _nobody, listening(other.ann, "c1") as late:
                assert (await late.next("snapshot"))[1]["running"]["text"].startswith("word0")
            seen, pieces = "", 0
            while True:
                name, data = await live.next("delta", "message")
                if name == "message":
                    break
                seen, pieces = seen + data["text"], pieces + 1
            assert pieces > 1
            assert (data["role"], data["text"].split()) == ("assistant", "".join(words).split())
            assert (await live.next("state"))[1]["running"] is False
        shown = (await other.ann.get("/api/chats/c1")).json()
        assert [it["role"] for it in shown["messages"]] == ["user", "assistant"]


async def test_a_page_that_comes_in_the_middle_is_told_what_was_written(server: Server, tmp_path: Path) -> None:
    words = [f"word{number} " for number in range(10)]
    async with two(server, tmp_path, slowly(*words)) as (_model, one, other):
        async with listening(one.ann, "c1") as here:
            await one.say("k1", "first")
            await here.next("delta")
            await here.next("delta")
        for _ in range(2):
            async with listening(other.ann, "c1") as live:
                await live.next("snapshot")
                assert (await live.next("delta"))[1]["text"].startswith("word0 ")
        async with listening(other.ann, "c1") as live:
            name, data = await live.next("message")
            while data["role"] != "assistant":
                name, data = await live.next("message")
            assert (name, data["text"].split()) == ("message", "".join(words).split())


async def test_what_was_lost_on_the_way_costs_pieces_and_never_the_message(server: Server, tmp_path: Path) -> None:
    words = [f"word{number} " for number in range(10)]
    async with two(server, tmp_path, slowly(*words)) as (_model, one, other), listening(other.ann, "c1") as live:
        await live.next("snapshot")
        await one.say("k1", "first")
        await live.next("delta")
        cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hookgate'"
        await trio.to_thread.run_sync(server.sql, cut)
        while True:
            name, data = await live.next("message", "snapshot")
            shown = data["messages"] if name == "snapshot" else [data]
            if shown and shown[-1]["role"] == "assistant":
                break
        assert shown[-1]["text"].split() == "".join(words).split()


@pytest.mark.parametrize("stream", [False, True])
async def test_a_completion_asked_for_at_another_gateway_than_its_session_is_at_comes_whole(
    server: Server, tmp_path: Path, stream: bool
) -> None:
    async with two(server, tmp_path, Answer(says("the ", "first").pieces, pause_s=1.0), slowly("the ", "second")) as (
        model,
        one,
        other,
    ):
        headers = {"authorization": f"Bearer {await add_key(one.served, 'ann')}", "x-hookgate-session": "s"}
        answers = dict[str, httpx.Response]()
        await other.served.runtime.keys.load()

        async def ask(gateway: Gateway, text: str) -> None:
            url = f"http://{gateway.served.address}/v1/chat/completions"
            async with httpx.AsyncClient(timeout=DEADLINE_S) as client:
                answers[text] = await client.post(url, json=asking(text, stream=stream), headers=headers)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, one, "hello")
            await model.arrived.wait()
            nursery.start_soon(ask, other, "again")
        assert not other.served.runtime.gateway.sessions
        texts = {text: written(it) for text, it in answers.items()}
        assert texts == {"hello": "the first", "again": "the second"}


async def test_a_program_waits_at_another_gateway_and_one_that_leaves_there_ends_its_turn(
    server: Server, tmp_path: Path
) -> None:
    async with two(server, tmp_path, hang(says("the "), 2)) as (model, one, other):
        keys = {name: await add_key(one.served, "ann", name) for name in ("rpc", "api")}
        await other.served.runtime.keys.load()
        headers = {"authorization": f"Bearer {keys['rpc']}"}
        async with AsyncExitStack() as stack:
            here, there = [
                await stack.enter_async_context(
                    httpx.AsyncClient(base_url=f"http://{it.served.address}", headers=headers, timeout=DEADLINE_S)
                )
                for it in (one, other)
            ]
            sent = await _call(here, "message.send", text="hello")
            await model.arrived.wait()
            await trio.lowlevel.checkpoint()
            waited = list[Any]()

            async def wait() -> None:
                waited.append(await _call(there, "message.wait", message=sent["message"], timeout_s=50))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait)
                again = await _call(there, "message.send", text="/stop")
                assert again["session"] == sent["session"]
            assert (waited[0]["ended"], waited[0]["state"]) == (True, "dropped")
        # A session of its own, whose client comes to the other one while its first turn runs.
        model.answers.append(hang(says("the "), 2))
        session = {"authorization": f"Bearer {keys['api']}", "x-hookgate-session": "s"}
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_ask, one, "first", session)
            while len(model.requests) < 2:
                await trio.sleep(0.01)
            with trio.move_on_after(2):
                await _ask(other, "second", session)
            # Its client has gone before its turn came: it is answered by nobody, and the first goes on.
            gone = await _state(other, "second")
            assert gone == "dropped"
            nursery.cancel_scope.cancel()


async def _call(client: httpx.AsyncClient, method: str, **params: Any) -> Any:
    answer = await client.post("/rpc", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    assert "result" in answer.json(), answer.text
    return answer.json()["result"]


async def _ask(gateway: Gateway, text: str, headers: dict[str, str]) -> None:
    async with httpx.AsyncClient(timeout=DEADLINE_S) as client:
        url = f"http://{gateway.served.address}/v1/chat/completions"
        await client.post(url, json=asking(text), headers=headers)


async def _state(gateway: Gateway, text: str) -> str:
    """What a message has ended as, once it has."""
    journal = gateway.served.runtime.journal
    while True:
        for row in await journal.chats.listed("api:"):
            for it in await journal.chats.said(row.conversation):
                if it.inbound is not None and it.inbound.text == text and it.outcome is not None:
                    return it.outcome
        await trio.sleep(0.05)


def written(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    if not answer.headers["content-type"].startswith("text/event-stream"):
        return str(answer.json()["choices"][0]["message"]["content"])
    lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
    chunks: list[dict[str, Any]] = [json.loads(it) for it in lines]
    return "".join(it["choices"][0]["delta"].get("content") or "" for it in chunks if it["choices"])
