"""Who gets into the web channel: forged, replayed, cross-site, endless and broken requests get a status, a line."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from hookgate.channels.http import requests
from hookgate.protocol.catalog import StoreFull
from tests.channels.web.pouring import SIZE, pour
from tests.channels.web.site import SETTINGS, TOKEN, Site, opened


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with opened(tmp_path) as site:
        yield site


def why(answer: httpx.Response) -> str:
    """The one line of a refusal."""
    text = answer.json()["error"]
    assert "\n" not in text
    return text


async def test_token_and_password_let_in_and_everything_else_does_not(site: Site) -> None:
    async with site.client() as client:
        wrong: tuple[dict[str, Any], ...] = (
            {"token": TOKEN + "x"},
            {"token": ""},
            {"user": "ann", "password": "wrong"},
            {"user": "nobody", "password": "right"},
            {"user": "owner", "password": TOKEN},
            {},
        )
        for members in wrong:
            assert (await client.post("/api/login", json=members)).status_code == 401, members
        assert (await client.get("/api/me")).status_code == 401
        entered = await client.post("/api/login", json={"token": TOKEN})
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        me = (await client.get("/api/me")).json()
        assert (me["user"], me["channel"], me["shows"]) == ("owner", "web", {"tools": True, "trace": True})
        client.headers["x-csrf-token"] = me["csrf"]
        assert (await client.post("/api/logout")).status_code == 204
        client.headers["cookie"] = cookie.partition(";")[0]
        assert (await client.get("/api/me")).status_code == 401


async def test_guessing_is_slowed_down_for_a_name_but_a_login_that_stands_goes_on(site: Site) -> None:
    async with site.ann() as ann, site.client() as guesser:
        guess = {"user": "ann", "password": "wrong"}
        told = [(await guesser.post("/api/login", json=guess)).status_code for _ in range(12)]
        assert told[0] == 401
        assert told[-1] == 429
        assert (await ann.get("/api/me")).status_code == 200


async def test_only_our_own_page_may_change_anything(site: Site) -> None:
    async with site.ann() as ann:
        message = {"key": "k1", "text": "hello"}
        post = "/api/chats/c1/messages"
        elsewhere = {"origin": "https://evil.example"}
        assert "another site" in why(await ann.post(post, json=message, headers=elsewhere))
        assert "CSRF" in why(await ann.post(post, json=message, headers={"x-csrf-token": "0" * 64}))
        assert (await ann.get("/api/me", headers={"host": "evil.example"})).status_code == 421
        form = await ann.post(post, content=b'{"key": "k1", "text": "x"}', headers={"content-type": "text/plain"})
        assert form.status_code == 415
        assert (await ann.post("/api/login", json={"token": TOKEN}, headers=elsewhere)).status_code == 403
        assert (await ann.post(post, json=message, headers={"origin": site.url})).status_code == 202


async def test_nobody_reads_or_writes_another_ones_chat(site: Site) -> None:
    async with site.ann() as ann, site.ann("bob", "bobs") as bob:
        await ann.post("/api/chats/c1/messages", json={"key": "k1", "text": "of Ann's"})
        await site.begin("k1")
        assert (await bob.get("/api/chats/c1")).json()["messages"] == []
        assert (await bob.get("/api/chats")).json() == []
        for forged in ("..%2Fann", "ann:c1", "c1%3A", "%ff"):
            assert (await bob.get(f"/api/chats/{forged}")).status_code == 404, forged
        assert len((await ann.get("/api/chats/c1")).json()["messages"]) == 1


async def test_what_is_no_message_is_refused_with_a_line(site: Site) -> None:
    async with site.ann() as ann:
        as_json = {"content-type": "application/json"}
        bodies = (
            *(b'{"key": "k1", "text": "\xff\xfe"}', b"", b"[]", b"{", b'{"key": 1, "text": "x"}', b'{"text": "x"}'),
            *(b'{"key": "a:b", "text": "x"}', b'{"key": "k", "text": " "}', b'{"key": "stop-1", "text": "x"}'),
            *(b'{"key": "k", "media": ["data:x"]}', b'{"key": "k", "media": "x"}', b"[" * 100_000),
        )
        for body in bodies:
            answer = await ann.post("/api/chats/c1/messages", content=body, headers=as_json)
            assert answer.status_code == 400, body
            assert why(answer)
        lone = await ann.post("/api/chats/c1/messages", content=b'{"key":"k","text":"\\ud800"}', headers=as_json)
        assert lone.status_code == 202
        assert (await ann.get("/api/chats/c1")).json()["queued"] == [{"id": "k", "text": "\ufffd"}]


async def test_a_body_that_is_too_long_or_never_ends_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async with site.ann() as ann:
        headers = {"content-type": "application/json"}
        post = "/api/chats/c1/messages"
        assert (await pour(ann, post, **headers)).status_code == 413
        declared = await pour(ann, post, **headers, **{"content-length": str(SIZE)})
        assert (declared.status_code, declared.headers["connection"]) == (413, "close")
        monkeypatch.setattr(requests, "BODY_S", 0.2)
        request = ann.build_request("POST", post, headers={**headers, "content-length": "100"})
        head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        async with await trio.open_tcp_stream(ann.base_url.host, ann.base_url.port or 0) as stream:
            await stream.send_all(f'POST {post} HTTP/1.1\r\n{head}\r\n{{"key": "k1"'.encode())
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 408")
        assert (await ann.get("/api/me")).status_code == 200


async def test_what_cannot_be_stored_is_not_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path) as site, site.ann() as ann:

        async def full(arrival: object) -> None:
            raise StoreFull("journal.db: the disk is full")

        post, message = "/api/chats/c1/messages", {"key": "k1", "text": "hello"}
        with monkeypatch.context() as patch:
            patch.setattr(site.journal.intake, "accept", full)
            answer = await ann.post(post, json=message)
            assert answer.status_code == 503
            assert "disk is full" in why(answer)
            assert (await ann.get("/api/chats/c1")).json()["queued"] == []
        assert (await ann.post(post, json=message)).json()["known"] is False


async def test_a_new_password_a_removed_user_and_an_unwelcome_one_are_out_with_their_old_cookie(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as site, site.ann() as ann, site.ann("bob", "bobs") as bob:
        cookies = [it.headers["x-csrf-token"] and it.cookies for it in (ann, bob)]
    changed = replace(SETTINGS, users={"ann": SETTINGS.users["bob"]})
    for settings, expected in ((SETTINGS, 200), (changed, 401)):
        async with opened(tmp_path, settings) as site:
            for its in cookies:
                async with site.client() as client:
                    client.cookies = its
                    assert (await client.get("/api/me")).status_code == expected


async def test_behind_https_cookies_are_for_https_and_every_answer_forbids_what_a_page_does_not_need(
    tmp_path: Path,
) -> None:
    origin = "https://chat.example.org"
    async with opened(tmp_path, replace(SETTINGS, origin=origin)) as site, site.client() as client:
        headers = {"host": "chat.example.org", "origin": origin}
        entered = await client.post("/api/login", json={"token": TOKEN}, headers=headers)
        cookie = entered.headers["set-cookie"]
        assert cookie.startswith("__Host-hookgate-web=")
        assert "Secure" in cookie
        assert "Path=/" in cookie
        for path in ("/api/me", "/nothing", "/"):
            got = (await client.get(path, headers=headers)).headers
            assert got["content-security-policy"].startswith("default-src 'none'; script-src 'self';"), path
            assert (got["x-content-type-options"], got["referrer-policy"]) == ("nosniff", "no-referrer")
        page = await client.get("/", headers=headers)
        assert page.headers["content-type"].startswith("text/html")
        known = {**headers, "if-none-match": page.headers["etag"]}
        assert (await client.get("/", headers=known)).status_code == 304
        assert (await client.get("/..%2f..%2fsettings.py", headers=headers)).status_code == 404
