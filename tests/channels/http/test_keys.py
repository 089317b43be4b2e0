"""Keys as programs show them over real HTTP: who is let in, who is not and why, and what ends once one is revoked."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

import httpx
import pytest
import trio
from starlette.requests import Request

from hookgate.channels.http.bearer import Bearers
from hookgate.channels.http.keys import Keys, NoKey
from hookgate.channels.http.requests import HttpRefused, answer
from hookgate.channels.http.server import Receive, Scope, Send, serve_http
from hookgate.store.memory import MemoryJournal

Headers = dict[str, str]


@dataclass(frozen=True)
class House:
    """What answers at `address` for keys of `rpc`: `/` any, `/operators` those of ann, `/stream` until it ends."""

    keys: Keys
    client: httpx.AsyncClient

    async def key(self, name: str, channel: str = "rpc") -> Headers:
        _key, shown = await self.keys.add(channel, name, "operator")
        return {"authorization": f"Bearer {shown}"}

    async def status(self, headers: Headers | None = None, path: str = "/") -> tuple[int, str]:
        answered = await self.client.get(path, headers=headers)
        return answered.status_code, answered.headers.get("www-authenticate", "")


@asynccontextmanager
async def served() -> AsyncGenerator[House]:
    keys, stop, addresses = Keys(MemoryJournal()), trio.Event(), list[str]()
    bearers = Bearers("rpc", keys, lambda name: name == "ann")

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            key = bearers.admit_operator(request) if scope["path"] == "/operators" else bearers.admit(request)
        except HttpRefused as refused:
            return await answer({"error": refused.why}, refused.status, refused.headers)(scope, receive, send)
        if scope["path"] != "/stream":
            return await answer({"name": key.name})(scope, receive, send)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"begun\n", "more_body": True})
        with keys.held(key) as held:
            await trio.sleep_forever()
        await send({"type": "http.response.body", "body": b"revoked\n" if held.cancelled_caught else b""})
        return None

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            opened = trio.Event()

            def started(address: str) -> None:
                addresses.append(address)
                opened.set()

            nursery.start_soon(partial(serve_http, app, "127.0.0.1:0", started=started, stop=stop))
            await opened.wait()
            async with httpx.AsyncClient(base_url=f"http://{addresses[0]}", timeout=60) as client:
                yield House(keys, client)
            stop.set()


async def test_only_a_known_key_of_this_channel_is_let_in_and_each_refusal_says_why() -> None:
    async with served() as house:
        build, ann, other = await house.key("build"), await house.key("ann"), await house.key("build", "metrics")
        assert await house.status(build) == (200, "")
        assert await house.status({"authorization": build["authorization"].replace("Bearer", "bEARER ")}) == (200, "")
        assert await house.status(ann, "/operators") == (200, "")
        unknown, scope = 'error="invalid_token"', 'error="insufficient_scope"'
        realm = 'Bearer realm="hookgate"'
        assert await house.status() == (401, realm)
        shown = build["authorization"].removeprefix("Bearer ")
        for wrong in (f"Basic {shown}", f"Bearer {shown}x", f"Bearer {shown[:-1]}", "Bearer", shown):
            assert (await house.status({"authorization": wrong}))[0] == 401, wrong
        strange = await house.client.get("/", headers=[(b"authorization", b"Bearer \xff\xed\xa0\x80")])
        assert strange.status_code == 401
        assert await house.status({"authorization": "Bearer hg_no"}) == (401, f"{realm}, {unknown}")
        assert await house.status(other) == (403, f"{realm}, {scope}")
        assert await house.status(build, "/operators") == (403, f"{realm}, {scope}")


async def test_who_guesses_is_slowed_down_and_who_has_a_key_is_not() -> None:
    async with served() as house:
        ann = await house.key("ann")
        statuses = [(await house.status({"authorization": f"Bearer hg_{n}"}))[0] for n in range(22)]
        assert statuses[:20] == [401] * 20
        assert statuses[-1] == 429
        assert await house.status(ann) == (200, "")


async def test_what_runs_for_a_key_ends_when_it_is_revoked_and_nothing_else_does() -> None:
    async with served() as house:
        ann, bob = await house.key("ann"), await house.key("bob")
        heard: dict[str, trio.Event] = {"ann": trio.Event(), "bob": trio.Event()}
        lines: dict[str, list[str]] = {"ann": [], "bob": []}

        async def listen(name: str, headers: Headers) -> None:
            async with house.client.stream("GET", "/stream", headers=headers) as stream:
                async for line in stream.aiter_lines():
                    lines[name].append(line)
                    heard[name].set()

        async with trio.open_nursery() as nursery:
            bobs = trio.CancelScope()

            async def listen_as_bob() -> None:
                with bobs:
                    await listen("bob", bob)

            nursery.start_soon(listen_as_bob)
            async with trio.open_nursery() as anns:
                anns.start_soon(listen, "ann", ann)
                for it in heard.values():
                    await it.wait()
                [key] = [it for it in house.keys.listed() if it.name == "ann"]
                await house.keys.revoke(key, "operator")
            assert lines == {"ann": ["begun", "revoked"], "bob": ["begun"]}
            assert (await house.status(ann))[0] == 401
            assert (await house.status(bob))[0] == 200
            bobs.cancel()
        with house.keys.held(key) as held:
            await trio.sleep_forever()
        assert held.cancelled_caught, "nothing begins for it any more either"


async def test_names_are_checked_and_each_has_one_key_for_a_channel() -> None:
    keys = Keys(MemoryJournal())
    await keys.add("rpc", "ann", "operator")
    await keys.add("api", "ann", "operator")
    for name in ("", "a b", "a:b", "x" * 65, "ann", "operator"):
        with pytest.raises(NoKey):
            await keys.add("rpc", name, "operator")
    assert [(it.channel, it.name) for it in keys.listed()] == [("api", "ann"), ("rpc", "ann")]


async def test_a_key_that_an_older_gateway_made_by_the_name_of_the_machines_operator_opens_nothing() -> None:
    journal = MemoryJournal()
    keys = Keys(journal)
    made, shown = await keys.add("rpc", "ann", "operator")
    await keys.revoke(made, "operator")
    await journal.keys.keep(replace(made, name="operator"))
    await keys.load()
    [old] = keys.listed()
    assert (keys.holder(shown), keys.holds(old)) == (None, True)
    await keys.revoke(old, "operator")
    assert keys.listed() == ()
