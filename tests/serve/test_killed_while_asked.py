"""A gateway that is killed while it answers requests of the API: who asks again, at another one or at itself started
again, gets the one answer of the one turn."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import trio

from tests.cli.program import run
from tests.crash.killing import kill
from tests.model_server import Answer, Received, calls, chunk, event, hang, open_model_server, says
from tests.postgres import Server
from tests.serve.started import serving

DEADLINE_S = 120.0
CONFIGURATION = """
[agent]
model = "p/m"
retries = 0
workspace = "{folder}"
[providers.p]
kind = "openai"
base_url = "{url}"
[http]
listen = "127.0.0.1:0"
[channels.web]
kind = "web"
[channels.api]
kind = "openai"
[control]
enabled = false
[guards]
shell = "off"
[tools]
sandbox = "off"
{store}
"""
WORDS = "It ", "is ", "done."
FIRST, ANSWER = "Wait.", "".join(WORDS)
COMPLETION, RESPONSE, STREAMED, RETRIED, UNKEYED = "completion", "response", "streamed", "retried", "unkeyed"
ALL = COMPLETION, RESPONSE, STREAMED, RETRIED, UNKEYED


@dataclass
class Model:
    """Each request has a tool run first; what is said then is cut off the first time. `asked`: how often, by the
    request and by whose word was the last."""

    asked: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    read: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def __call__(self, received: Received) -> Answer:
        messages = received.body["messages"]
        text = next(it["content"] for it in reversed(messages) if it["role"] == "user")
        role = messages[-1]["role"]
        self.asked[text, role] += 1
        self.read[text] = [it["content"] for it in messages if it["role"] in ("user", "assistant") and it["content"]]
        if text not in ALL:
            return says(f"On {text}.")
        if role == "user":
            run = calls(("m1", "bash", json.dumps({"command": f"echo {text} >> ran"})))
            return replace(run, pieces=(event(chunk({"role": "assistant", "content": FIRST})), *run.pieces))
        return hang(says(*WORDS), 3) if self.asked[text, role] == 1 else says(*WORDS)

    async def cut_off(self) -> None:
        while any(self.asked[it, "tool"] == 0 for it in ALL):
            await trio.sleep(0.02)


@dataclass
class Asking:
    """Who asks, at one gateway after the other. `before`: the id of a response that was answered before the kill;
    `begun`: that of the one that streams, once its client has read it."""

    before: str = ""
    begun: str = ""

    async def ask(self, client: httpx.AsyncClient, name: str, *, again: bool = False) -> Any:
        headers = {} if name in (RETRIED, UNKEYED) else {"idempotency-key": f"key-{name}"}
        if name == RETRIED:
            headers["x-stainless-retry-count"] = "1" if again else "0"
        if name in (RESPONSE, STREAMED):
            return await self._respond(client, name, headers)
        said = {"model": "hookgate", "messages": [{"role": "user", "content": name}]}
        answered = await client.post("/chat/completions", json=said, headers=headers)
        assert answered.status_code == 200, answered.text
        return answered.json()

    async def _respond(self, client: httpx.AsyncClient, name: str, headers: Mapping[str, str]) -> Any:
        said: dict[str, object] = {"model": "hookgate", "input": name}
        if name == RESPONSE:
            said["previous_response_id"] = self.before
            answered = await client.post("/responses", json=said, headers=headers)
            assert answered.status_code == 200, answered.text
            return answered.json()
        told = dict[str, Any]()
        async with client.stream("POST", "/responses", json={**said, "stream": True}, headers=headers) as streamed:
            assert streamed.status_code == 200, await streamed.aread()
            async for line in streamed.aiter_lines():
                if line.startswith("data: {"):
                    told = json.loads(line[6:])
                    self.begun = told.get("response", {}).get("id", self.begun)
        assert told["type"] == "response.completed", told
        return told["response"]

    async def in_vain(self, client: httpx.AsyncClient, name: str) -> None:
        with suppress(httpx.TransportError):
            raise AssertionError(await self.ask(client, name))

    async def until_begun(self) -> None:
        while not self.begun:
            await trio.sleep(0.02)


async def respond(client: httpx.AsyncClient, text: str, **more: str) -> Any:
    answered = await client.post("/responses", json={"model": "hookgate", "input": text, **more})
    assert answered.status_code == 200, answered.text
    return answered.json()


async def found(client: httpx.AsyncClient, response: str) -> Any:
    answered = await client.get(f"/responses/{response}")
    assert answered.status_code == 200, answered.text
    return answered.json()


def said(body: Any) -> str:
    """The text of a completion, or of a response whose tool has run."""
    if "choices" in body:
        assert body["choices"][0]["finish_reason"] == "stop"
        return body["choices"][0]["message"]["content"]
    assert body["status"] == "completed"
    assert [it["status"] for it in body["output"]] == ["completed"] * len(body["output"])
    return "".join(it["content"][0]["text"] for it in body["output"] if it["type"] == "message")


def configure(folder: Path, url: str, workspace: Path, store: str = "") -> None:
    folder.mkdir()
    (folder / "hookgate.toml").write_text(CONFIGURATION.format(url=url, folder=workspace, store=store))


async def key_for(folder: Path) -> str:
    added = await run(folder, "keys", "add", "ann", "--channel", "api")
    return next(word for word in added.stdout.decode().split() if word.startswith("hg_"))


def api(page: httpx.AsyncClient, key: str) -> httpx.AsyncClient:
    headers = {"authorization": f"Bearer {key}"}
    return httpx.AsyncClient(base_url=f"{page.base_url}/v1", headers=headers, timeout=DEADLINE_S)


async def asked_in_vain(
    asking: Asking, owner: trio.Process, client: httpx.AsyncClient, model: Model, others: httpx.AsyncClient | None
) -> None:
    """Everything is asked of one gateway, which is killed while the model still answers. `others`: of another one."""
    asking.before = (await respond(client, "before"))["id"]
    async with trio.open_nursery() as nursery:
        for name in ALL:
            nursery.start_soon(asking.in_vain, client, name)
        await model.cut_off()
        await asking.until_begun()
        for it in (client, others):
            if it is not None:
                working = await found(it, asking.begun)
                assert (working["status"], working["output"], working["usage"]) == ("in_progress", [], None)
        kill(owner, guardian=True)


async def asked_again(asking: Asking, client: httpx.AsyncClient, model: Model, ran: Path) -> dict[str, Any]:
    """What each gets who asks once more, elsewhere or later."""
    got: dict[str, Any] = {}

    async def ask(name: str) -> None:
        got[name] = await asking.ask(client, name, again=True)

    begun = asking.begun
    assert (await found(client, asking.before))["output"][0]["content"][0]["text"] == "On before."
    assert (await found(client, begun))["id"] == begun
    async with trio.open_nursery() as nursery:
        for name in ALL:
            nursery.start_soon(ask, name)
    assert {name: said(it) for name, it in got.items()} == dict.fromkeys(ALL, f"{FIRST}\n\n{ANSWER}")
    # One turn, one run of its tool, and of the model only what was cut off; without a key it is another turn.
    once = {name: 2 if name == UNKEYED else 1 for name in ALL}
    assert runs(ran) == once
    assert {name: model.asked[name, "user"] for name in ALL} == once
    assert {name: model.asked[name, "tool"] for name in ALL} == {name: it + 1 for name, it in once.items()}
    # Of both model calls that gave an answer, the one before the kill too.
    assert {name: it["usage"]["total_tokens"] for name, it in got.items()} == dict.fromkeys(ALL, 20)
    assert got[STREAMED]["id"] == begun
    return got


def runs(log: Path) -> Counter[str]:
    """Of the tool, by the request."""
    return Counter(log.read_text().split())


async def goes_on(asking: Asking, client: httpx.AsyncClient, model: Model, got: Mapping[str, Any]) -> None:
    """The same again is the same, each is found by its id, and what was answered before the kill goes on."""
    assert model.read[RESPONSE][:3] == ["before", "On before.", RESPONSE]
    for name in (RESPONSE, STREAMED):
        once_more = await asking.ask(client, name, again=True)
        assert {**once_more, "created_at": 0} == {**got[name], "created_at": 0}
        stored = await found(client, got[name]["id"])
        assert {it: stored[it] for it in ("id", "status", "output", "usage")} == {
            it: got[name][it] for it in ("id", "status", "output", "usage")
        }
    await respond(client, "later", previous_response_id=got[RESPONSE]["id"])
    assert model.read["later"] == ["before", "On before.", RESPONSE, FIRST, ANSWER, "later"]
    await respond(client, "instead", previous_response_id=asking.before)
    assert model.read["instead"] == ["before", "On before.", "instead"]
    assert model.asked[RESPONSE, "user"] == model.asked[STREAMED, "user"] == 1


async def test_what_was_asked_of_a_killed_gateway_is_answered_once_at_another(server: Server, tmp_path: Path) -> None:
    model, asking = Model(), Asking()
    with trio.fail_after(DEADLINE_S):
        async with open_model_server(otherwise=model) as models, AsyncExitStack() as stack:
            store = f'[store]\nurl = "{server.database()}"'
            for name in ("one", "two"):
                configure(tmp_path / name, models.base_url, tmp_path, store)
            key = await key_for(tmp_path / "one")
            (owner, one), (process, two) = [
                await stack.enter_async_context(serving(tmp_path / name)) for name in ("one", "two")
            ]
            for page in (one, two):
                while "hookgate_gateways 2" not in (await page.get("/metrics")).text:
                    await trio.sleep(0.05)
            async with api(one, key) as client, api(two, key) as other:
                await asked_in_vain(asking, owner, client, model, other)
                got = await asked_again(asking, other, model, tmp_path / "ran")
                await goes_on(asking, other, model, got)
            process.terminate()


async def test_or_at_the_same_once_it_is_started_again(tmp_path: Path) -> None:
    model, asking, folder = Model(), Asking(), tmp_path / "one"
    with trio.fail_after(DEADLINE_S):
        async with open_model_server(otherwise=model) as models:
            configure(folder, models.base_url, tmp_path)
            key = await key_for(folder)
            async with serving(folder) as (owner, page), api(page, key) as client:
                await asked_in_vain(asking, owner, client, model, None)
            async with serving(folder) as (process, page), api(page, key) as client:
                got = await asked_again(asking, client, model, tmp_path / "ran")
                await goes_on(asking, client, model, got)
                process.terminate()
