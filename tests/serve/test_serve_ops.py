"""The operators' page of a real gateway, asked as its scripts ask: who may, what is shown, what is done."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from hookgate.channels.web.access.passwords import hashed
from hookgate.operations.hooks import reload_hooks
from hookgate.protocol.catalog import StoreFull
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.journal.values import Arrival
from hookgate.serve.run import Served
from hookgate.store.attempts import MAX_ATTEMPTS
from hookgate.store.journal.audit.chain import links
from hookgate.store.journal.operators.looking import open_look
from hookgate.store.journal.operators.upkeep import Upkeep
from tests.serve.gateway import configured, open_served

USERS = f'users = {{ ann = "{hashed("right", 8)}", bob = "{hashed("right", 8)}" }}'
PAGE = f"""
[tools]
enabled = ["ls", "write"]
[channels.page]
kind = "web"
{USERS}
[people.ann]
ids = ["page:ann"]
roles = ["operator"]
[[approvals]]
name = "files"
tools = ["write"]
"""
OTHERS = """approvers = ["page:bob"]
ask_in = ["page:bob"]
"""
HOOK = """
[hooks.processes.watch]
command = ["python3", "watch.py"]
observe = ["turn_end"]
"""
WATCH = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "hook.hello":
        result = {"protocol_version": 1, "name": "watch"}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
CONTENT = "one\n<b>two</b>\u202e"
WRITE = {"id": "c1", "name": "write", "arguments": {"path": "a.txt", "content": CONTENT}}
SCRIPT = json.dumps({"steps": [{"text": "", "calls": [WRITE]}, {"text": "Written."}, {"text": "Hello."}]})


@asynccontextmanager
async def user(served: Served, name: str = "ann") -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://{served.address}", timeout=30) as client:
        entered = await client.post("/api/login", json={"user": name, "password": "right"})
        assert entered.status_code == 204, entered.text
        client.headers["x-csrf-token"] = (await client.get("/api/me")).json()["csrf"]
        yield client


async def see(client: httpx.AsyncClient, view: str, **query: str) -> Any:
    answer = await client.get(f"/ops/api/{view}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def do(client: httpx.AsyncClient, action: str, **members: object) -> tuple[int, str]:
    """The status, and the line that was answered."""
    answer = await client.post(f"/ops/api/{action}", json=members)
    said = answer.json()
    return answer.status_code, said.get("text") or said.get("error")


def recorded(folder: Path) -> list[tuple[str, str, str]]:
    """Who has done what to what, as the audit chain has it."""
    with open_look(folder / "state" / "journal.db") as tables:
        found = [(json.loads(link.body), link.texts) for link in links(tables)]
    return [
        (said["by"], said["did"], texts["about"][1].decode()) for said, texts in found if said["kind"] == "operator"
    ]


async def test_only_operators_see_and_do_anything(tmp_path: Path) -> None:
    async with open_served(configured(tmp_path, PAGE, SCRIPT)) as served, user(served, "bob") as bob:
        stranger = httpx.AsyncClient(base_url=f"http://{served.address}")
        async with stranger:
            assert (await stranger.get("/ops")).status_code == 200
            assert (await stranger.get("/ops/api/hooks")).status_code == 401
            assert (await stranger.get("/ops", headers={"host": "evil.example"})).status_code == 421
        assert (await bob.get("/api/me")).json()["operates"] is False
        for name in ("now", "approvals", "messages", "sessions", "transcript", "hooks", "channels", "audit", "none"):
            refused = await bob.get(f"/ops/api/{name}")
            assert refused.status_code == 403
            assert 'ids = ["page:bob"] and roles = ["operator"]' in refused.json()["error"]
        for name in ("reload", "hooks.restart", "sessions.forget", "approvals.decide", "none"):
            assert (await do(bob, name, id="x", name="x", session="x"))[0] == 403
        assert recorded(tmp_path) == []
        # A role that is given while it runs counts at once, and so does one that is taken.
        configured(tmp_path, PAGE.replace('"page:ann"', '"page:bob"'), SCRIPT)
        await reload_hooks(served.runtime)
        assert (await bob.get("/api/me")).json()["operates"] is True
        async with user(served) as ann:
            assert (await ann.get("/ops/api/hooks")).status_code == 403


async def test_who_has_the_token_operates_where_nobody_else_does(tmp_path: Path) -> None:
    page = '[channels.page]\nkind = "web"\n'
    someone = '[people.zoe]\nids = ["tg:1"]\nroles = ["operator"]\n'
    async with open_served(configured(tmp_path, page)) as served:
        [token] = [it.token for it in served.runtime.pages.values()]
        async with httpx.AsyncClient(base_url=f"http://{served.address}") as owner:
            assert (await owner.post("/api/login", json={"token": token})).status_code == 204
            assert (await owner.get("/ops/api/hooks")).status_code == 200
            # Nobody who shows a key can log in to a page: they do not take its owner's place.
            configured(tmp_path, page + someone.replace("tg:1", "metrics:prometheus"))
            await reload_hooks(served.runtime)
            assert (await owner.get("/ops/api/hooks")).status_code == 200
            configured(tmp_path, page + someone)
            await reload_hooks(served.runtime)
            assert (await owner.get("/ops/api/hooks")).status_code == 403
    # A name and a password are not the token, whatever the name is.
    named = f'{page}users = {{ owner = "{hashed("right", 8)}" }}\n'
    async with open_served(configured(tmp_path, named)) as served, user(served, "owner") as owner:
        assert (await owner.get("/ops/api/hooks")).status_code == 403
    off = configured(tmp_path, page)
    off = replace(
        off, config=off.config.model_copy(update={"http": off.config.http.model_copy(update={"ops": False})})
    )
    async with open_served(off) as served, httpx.AsyncClient(base_url=f"http://{served.address}") as client:
        assert (await client.get("/ops")).status_code == 404
        assert (await client.get("/ops/api/hooks")).status_code == 404


async def test_requests_that_are_not_the_pages_own_do_nothing(tmp_path: Path) -> None:
    async with open_served(configured(tmp_path, PAGE, SCRIPT)) as served, user(served) as ann:
        page = await ann.get("/ops")
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert (await ann.get("/ops/api/hooks")).headers["cache-control"] == "no-store"
        without = {"x-csrf-token": ""}
        elsewhere = {"origin": "https://evil.example"}
        for headers in (without, elsewhere):
            answer = await ann.post("/ops/api/reload", json={}, headers=headers)
            assert answer.status_code == 403
        assert (await ann.post("/ops/api/reload", content=b"{}")).status_code == 415
        assert (await ann.post("/ops/api/reload", json={"much": "x" * 30_000})).status_code == 413
        assert (await do(ann, "none"))[0] == 404
        assert (await do(ann, "hooks.restart"))[0] == 400
        assert (await do(ann, "hooks.restart", name=["x"]))[0] == 400
        assert (await ann.get("/ops/api/none")).status_code == 404
        assert (await ann.get("/ops/api/messages", params={"most": "1001"})).status_code == 400
        assert (await ann.get("/ops/api/messages", params={"words": "x" * 301})).status_code == 400
        assert (await ann.delete("/ops/api/reload")).status_code == 405
        assert recorded(tmp_path) == []
        # What is recorded first is refused afterwards with a line.
        status, text = await do(ann, "hooks.restart", name="none")
        assert (status, text.startswith("nothing was changed: ")) == (409, True)
        assert recorded(tmp_path) == [("page:ann", "hooks.restart", "none")]


async def test_a_call_that_waits_is_found_seen_whole_and_decided(tmp_path: Path) -> None:
    async with (
        open_served(configured(tmp_path, PAGE, SCRIPT)) as served,
        user(served) as ann,
        user(served, "bob") as bob,
    ):
        said = await bob.post("/api/chats/c1/messages", json={"key": "k1", "text": "Write <b>it</b>, 100%_sure"})
        message = said.json()["id"]
        while not (waiting := await see(ann, "approvals")):
            await trio.sleep(0.05)
        [card] = waiting
        assert card["arguments"] == WRITE["arguments"]
        assert "+<b>two</b>" in card["diff"]
        # By its id, its number, its text, whoever said it, its chat, and the page's own id of it.
        for words in (message, message[1:], "100%_sure", "write <B>", "bob", "page:bob:c1", "k1"):
            [found] = (await see(ann, "messages", words=words))["messages"]
            assert (found["message"], found["state"], found["sender"]) == (message, "waiting", "bob")
        assert found["waits_for"] == "for a person: Run write?"
        assert found["until"] > found["steps"][0]["at"]
        assert [it["what"] for it in found["steps"]] == ["accepted", "running", "waiting"]
        for words in ("no such thing", "100__sure", "M99", "9" * 40):
            assert (await see(ann, "messages", words=words))["messages"] == []
        assert (await see(ann, "now"))["counts"]["approvals"] == 1
        answer = await do(ann, "approvals.decide", id=card["id"], approved=True, reason="fine")
        assert answer == (200, "Allowed.")
        assert (await do(ann, "approvals.decide", id=card["id"], approved="yes"))[0] == 400
        await served.runtime.gateway.idle("page:bob:c1")
        [found] = (await see(ann, "messages", words=message))["messages"]
        assert (found["state"], found["waits_for"]) == ("delivered", "")
        assert (tmp_path / "a.txt").read_text() == CONTENT
        assert recorded(tmp_path)[0] == ("page:ann", "approvals.decide", card["id"])


async def test_an_operators_own_call_is_for_others_where_a_rule_names_them(tmp_path: Path) -> None:
    async with open_served(configured(tmp_path, PAGE + OTHERS, SCRIPT)) as served, user(served) as ann:
        await ann.post("/api/chats/c1/messages", json={"key": "k1", "text": "write"})
        while not (waiting := await see(ann, "approvals")):
            await trio.sleep(0.05)
        [card] = waiting
        assert card["may"] is False
        status, text = await do(ann, "approvals.decide", id=card["id"], approved=True)
        assert (status, text) == (200, "Only page:bob may decide this.")
        assert len(await see(ann, "approvals")) == 1


async def test_sessions_are_found_read_stopped_and_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        open_served(configured(tmp_path, PAGE, SCRIPT)) as served,
        user(served) as ann,
        user(served, "bob") as bob,
    ):
        await bob.post(
            "/api/chats/c1/messages", json={"key": "k1", "text": "a <i>secret</i> sk-ant-api03-" + "a1B2" * 24}
        )
        while not await see(ann, "approvals"):
            await trio.sleep(0.05)
        for words in ("", "<i>secret", "page:bob"):
            [found] = (await see(ann, "sessions", words=words))["sessions"]
            assert (found["session"], found["busy"]) == ("page:bob:c1", True)
        assert (await see(ann, "sessions", words="no such thing"))["sessions"] == []
        with monkeypatch.context() as broken:
            broken.setattr(Upkeep, "note", full)
            # What cannot be put on record is not done.
            assert (await do(ann, "sessions.stop", session="page:bob:c1"))[0] == 503
            assert (await do(ann, "sessions.forget", session="page:bob:c1"))[0] == 503
        assert (await see(ann, "sessions"))["sessions"][0]["busy"]
        status, text = await do(ann, "sessions.stop", session="page:bob:c1")
        assert (status, text) == (200, "What ran in page:bob:c1 ends.")
        await served.runtime.gateway.idle("page:bob:c1")
        assert (await do(ann, "sessions.stop", session="page:bob:c1"))[1] == "Nothing runs in page:bob:c1 any more."
        # The line that says "Stopped." has reached its chat; no answer ever did.
        [message] = (await see(ann, "messages", words="k1"))["messages"]
        assert (message["state"], message["why"]) == ("dropped", "stopped by an operator")
        assert message["steps"][-1]["what"] == "delivered"
        read = await see(ann, "transcript", id=found["id"])
        assert read["entries"][0]["role"] == "user"
        assert read["entries"][0]["text"].startswith("a <i>secret</i> [REDACTED")
        assert read["entries"][1]["calls"][0]["name"] == "write"
        [last] = (await see(ann, "transcript", id=found["id"], most="1"))["entries"]
        assert last["number"] == read["entries"][-1]["number"]
        for id_ in ("", "x", "page:bob:c1/agent/x"):
            assert (await ann.get("/ops/api/transcript", params={"id": id_})).status_code == 409
        assert await do(ann, "sessions.forget", session="page:bob:c1") == (200, "page:bob:c1 is forgotten.")
        assert (await see(ann, "sessions"))["sessions"] == []
        assert (await bob.get("/api/chats")).json() == []
        assert (await do(ann, "sessions.forget", session="page:bob:c1"))[0] == 409
        # Of a chat that is forgotten the record does not keep what it was called.
        with pytest.raises(KeyError):
            recorded(tmp_path)


async def full(*_given: object) -> None:
    raise StoreFull("the disk is full")


async def test_reload_restart_and_audit_say_what_happened(tmp_path: Path) -> None:
    (tmp_path / "watch.py").write_text(WATCH)
    async with open_served(configured(tmp_path, PAGE + HOOK, SCRIPT)) as served, user(served) as ann:
        [before] = [it for it in await see(ann, "hooks") if it["command"]]
        assert (before["name"], before["state"]) == ("watch", "up")
        assert await do(ann, "hooks.restart", name="watch") == (200, "watch has a new process.")
        [after] = [it for it in await see(ann, "hooks") if it["command"]]
        assert (after["state"], after["pid"] != before["pid"]) == ("up", True)
        assert await do(ann, "reload") == (200, "Reloaded: no hook and no rule differs.")
        (tmp_path / "hookgate.toml").write_text("no toml")
        status, text = await do(ann, "reload")
        assert (status, text.startswith("nothing was changed:")) == (409, True)
        status, text = await do(ann, "audit.verify")
        assert (status, "records: " in text) == (200, True)
        assert (await see(ann, "audit"))["verdict"]["state"] in ("anchored", "unanchored")
        [channel, _programs] = await see(ann, "channels")
        assert (channel["name"], channel["state"]) == ("page", "receiving")
        assert [did for _by, did, _about in recorded(tmp_path)] == [
            "hooks.restart",
            "reload",
            "reload",
        ]


async def test_what_was_given_up_is_tried_again_or_dropped(tmp_path: Path) -> None:
    async with open_served(configured(tmp_path, PAGE, SCRIPT)) as served, user(served) as ann:
        journal, gone = served.runtime.journal, Chat("gone", "1", "zoe")
        for text in ("the first", "the second"):
            await journal.posting.post("agent", [Outbound(gone, text)])
            [row] = await journal.posting.outgoing("gone")
            await journal.posting.dead(row.id, "the bot was <b>blocked</b>")
        accepted = await journal.intake.accept(Arrival(Inbound(gone, "hello?"), "agent", "k"))
        for _ in range(MAX_ATTEMPTS + 1):
            await journal.work.claim("g", 0.0, accepted.conversation, accepted.id)
        assert (await see(ann, "now"))["counts"]["dead"] == 3
        letters = {it["text"]: it for it in (await see(ann, "dead"))["letters"]}
        assert letters["the first"]["why"] == "the bot was <b>blocked</b>"
        assert letters["hello?"]["why"] == "it broke off three times while it was answered"
        for text in ("the first", "hello?"):
            assert (await do(ann, "letters.retry", id=letters[text]["id"]))[0] == 200
        assert (await do(ann, "letters.drop", id=letters["the second"]["id"]))[0] == 200
        for action in ("letters.retry", "letters.drop"):
            assert (await do(ann, action, id=letters["the second"]["id"]))[0] == 409
        assert await see(ann, "dead") == {"dead": 0, "letters": []}
        [found] = (await see(ann, "messages", words="hello?"))["messages"]
        assert (found["state"], found["waits_for"]) == ("queued", "for the channel gone, which is not open")
        assert ("retried", "by page:ann") in [(it["what"], it["why"]) for it in found["steps"]]
