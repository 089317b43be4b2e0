"""The web channel of a real gateway: a scripted model behind it, the page's requests before it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from hookgate.channels.web.access.passwords import hashed
from hookgate.channels.web.api import events
from hookgate.operations.hooks import reload_hooks
from hookgate.serve.run import Served
from tests.channels.web.site import listening, texts
from tests.serve.gateway import configured, open_served

CHANNEL = f"""
[tools]
enabled = ["ls", "write"]
[channels.page]
kind = "web"
show_trace = true
users = {{ ann = "{hashed("right", 8)}" }}
"""
CALL = {"id": "c1", "name": "ls", "arguments": {"path": "."}}
STEPS = [
    {"text": "Let me look.", "calls": [CALL]},
    {"text": "**Two** files."},
    {"text": "Three files."},
    {"text": "Four files."},
]
SCRIPT = json.dumps({"pace_s": 0.05, "steps": STEPS})


@asynccontextmanager
async def ann(served: Served) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://{served.address}", timeout=30) as client:
        entered = await client.post("/api/login", json={"user": "ann", "password": "right"})
        assert entered.status_code == 204, entered.text
        client.headers["x-csrf-token"] = (await client.get("/api/me")).json()["csrf"]
        yield client


async def test_a_turn_is_watched_read_again_edited_and_asked_again(tmp_path: Path) -> None:
    async with open_served(configured(tmp_path, CHANNEL, SCRIPT)) as served, ann(served) as page:
        async with listening(page, "c1") as live:
            await page.post("/api/chats/c1/messages", json={"key": "k1", "text": "what is here?"})
            answer: dict[str, Any] = {}
            kinds: list[str] = []
            while answer.get("role") != "assistant":
                kind, data = await live.next("message", "delta", "tool", "restart", "state")
                kinds.append(kind)
                answer = data if kind == "message" else {}
            assert {"delta", "tool", "state"} <= set(kinds)
            seen = (await page.get("/api/chats/c1")).json()
            assert [(it["id"], it["role"], it["text"]) for it in seen["messages"]] == [
                ("k1", "user", "what is here?"),
                (answer["id"], "assistant", "Let me look.\n\n**Two** files."),
            ]
            assert seen["messages"][1]["tools"] == answer["tools"]
            assert [(it["name"], it["state"]) for it in answer["tools"]] == [("ls", "done")]
            changed = {"key": "k2", "message": "k1", "text": "and now?"}
            assert (await page.post("/api/chats/c1/edit", json=changed)).status_code == 202
            _, answer = await live.next("message")
            _, answer = await live.next("message")
            assert (answer["text"], answer["answers"]) == ("Three files.", "k2")
            assert (await page.post("/api/chats/c1/regenerate", json={"key": "k3"})).status_code == 202
            _, answer = await live.next("message")
            _, answer = await live.next("message")
            assert answer["text"] == "Four files."
        seen = (await page.get("/api/chats/c1")).json()["messages"]
        assert list(texts(seen)) == [("user", "and now?"), ("assistant", "Four files.")]
        assert (await page.delete("/api/chats/c1")).status_code == 204
        assert (await page.get("/api/chats")).json() == []


async def test_who_may_not_come_in_any_more_hears_no_more_and_what_they_say_is_in_the_books(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_S", 3600.0)
    async with open_served(configured(tmp_path, CHANNEL, SCRIPT)) as served, ann(served) as page:
        runtime = served.runtime
        async with listening(page, "c1") as live:
            await live.next("snapshot")
            configured(tmp_path, f'{CHANNEL}allow = ["bob"]\n', SCRIPT)
            await reload_hooks(runtime)
            with pytest.raises(AssertionError, match="the stream has ended"):
                await live.next("nothing of the kind")
        said = await page.post("/api/chats/c1/messages", json={"key": "k1", "text": "let me in"})
        again = await page.post("/api/login", json={"user": "ann", "password": "right"})
        assert (said.status_code, again.status_code) == (403, 403)
        assert (await page.post("/api/chats/c1/messages", content=b"{")).status_code == 403
        found = [it for number in (1, 2, 3) for it in await runtime.journal.books.where(f"M{number}")]
        refused = [(it.text, passage.why) for it in found for passage in it.passages if passage.what == "refused"]
        assert refused == [("let me in", "a stranger"), ("", "a stranger")]
