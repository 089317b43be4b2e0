"""Files in the web channel: kept by what is in them, refused by what they would cost, never a page of their own."""

from __future__ import annotations

import io
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from struct import pack

import httpx
import pytest
from PIL import Image

from hookgate.protocol.chat.media import MediaFull
from hookgate.store.media import FileMedia, MediaLimits
from tests.channels.web.site import TOKEN, Site, opened


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with opened(tmp_path) as site:
        yield site


def png(width: int = 2, height: int = 2) -> bytes:
    file = io.BytesIO()
    Image.new("1", (width, height)).save(file, "PNG")
    return file.getvalue()


def bomb() -> bytes:
    """A picture of 20,000 by 20,000 that is a hundred bytes long."""
    head = pack(">IIBBBBB", 20_000, 20_000, 1, 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(b"")), (b"IEND", b""))
    parts = (pack(">I", len(data)) + name + data + pack(">I", zlib.crc32(name + data)) for name, data in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


async def test_a_picture_is_kept_once_shown_with_its_message_and_read_only_by_who_is_logged_in(site: Site) -> None:
    async with site.ann() as ann, site.client() as stranger:
        kept = await ann.post("/api/media", content=png(), headers={"content-type": "text/html"})
        assert (kept.status_code, kept.json()["type"]) == (201, "image/png")
        assert (await ann.post("/api/media", content=png())).json() == kept.json()
        shown = await ann.get(kept.json()["url"])
        assert (shown.content, shown.headers["content-type"]) == (png(), "image/png")
        assert "content-disposition" not in shown.headers
        assert (await stranger.get(kept.json()["url"])).status_code == 401
        message = {"key": "k1", "text": "", "media": [kept.json()["id"]]}
        assert (await ann.post("/api/chats/c1/messages", json=message)).status_code == 202
        await site.begin("k1")
        [seen] = (await ann.get("/api/chats/c1")).json()["messages"]
        assert seen["media"] == [kept.json()]


async def test_a_file_is_read_and_sent_on_by_who_has_sent_it_and_read_by_operators(site: Site) -> None:
    async with site.ann() as ann, site.ann("bob", "bobs") as bob, site.client() as owner:
        kept = (await ann.post("/api/media", content=png())).json()
        assert (await bob.get(kept["url"])).status_code == 404
        message = {"key": "k1", "text": "look", "media": [kept["id"]]}
        assert (await bob.post("/api/chats/c1/messages", json=message)).status_code == 400
        assert (await owner.post("/api/login", json={"token": TOKEN})).status_code == 204
        assert (await owner.get(kept["url"])).content == png()
        # Who has the same file has it.
        assert (await bob.post("/api/media", content=png())).json() == kept
        assert (await bob.get(kept["url"])).content == png()
        assert (await bob.post("/api/chats/c1/messages", json=message)).status_code == 202


async def test_what_is_no_picture_is_for_saving_and_no_page(site: Site) -> None:
    async with site.ann() as ann:
        for content in (b"<script>alert(1)</script>", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"\0\xff"):
            kept = (await ann.post("/api/media", content=content)).json()
            answer = await ann.get(kept["url"])
            assert answer.headers["content-type"] == "application/octet-stream", content
            assert answer.headers["content-disposition"] == "attachment"
            assert answer.headers["x-content-type-options"] == "nosniff"


async def test_what_would_cost_too_much_is_refused_before_it_does(site: Site) -> None:
    async with site.ann() as ann:
        for content, why in (
            (bomb(), "pixels"),
            (png()[:20], "damaged"),
            (b"", "empty"),
            (b"BM" + bytes(60), "PNG"),
        ):
            refused = await ann.post("/api/media", content=content)
            assert (refused.status_code, why in refused.json()["error"]) == (415, True), refused.text
        assert (await ann.post("/api/media", content=b"x" * 30_000_000)).status_code == 413
        assert (await ann.get(f"/media/{'0' * 64}")).status_code == 404
        assert (await ann.get("/media/..%2fjournal.db")).status_code == 404


async def test_a_user_has_a_share_of_the_room_and_keeps_it_through_a_restart(tmp_path: Path) -> None:
    async def sent(client: httpx.AsyncClient, content: bytes) -> tuple[int, str]:
        answer = await client.post("/api/media", content=content)
        return answer.status_code, answer.json().get("error", "")

    full = (507, "you have sent all the files that one person may: 0.06 MB")
    async with opened(tmp_path) as site, site.ann() as ann, site.ann("bob", "bobs") as bob:
        assert await sent(ann, b"a" * 50_000) == (201, "")
        assert await sent(ann, b"a" * 50_000) == (201, "")
        assert await sent(ann, b"A" * 20_000) == full
        # What somebody else has sent already is no way round it, nor is theirs what she has sent.
        assert await sent(bob, b"b" * 20_000) == (201, "")
        assert await sent(ann, b"b" * 20_000) == full
        assert await sent(bob, b"a" * 50_000) == full
        assert await sent(bob, b"B" * 35_000) == (507, "there is no room for more files")
        site.stop.set()
    async with opened(tmp_path) as site, site.ann() as ann:
        assert await sent(ann, b"A" * 20_000) == full
        for file in (tmp_path / "media").glob("??/*"):
            file.unlink()
        site.stop.set()
    async with opened(tmp_path) as site, site.ann() as ann:
        assert await sent(ann, b"A" * 20_000) == (201, "")


async def test_what_nobody_has_used_for_long_makes_room_for_who_had_sent_it(tmp_path: Path) -> None:
    now = 0.0
    store = FileMedia(tmp_path, MediaLimits(user_quota=100, lifetime_s=10), lambda: now)
    old = await store.keep(b"a" * 60, "web:ann")
    assert await store.read(old.digest)
    with pytest.raises(MediaFull):
        await store.keep(b"b" * 60, "web:ann")
    now = 11.0
    await store.keep(b"b" * 60, "web:ann")
    assert await store.read(old.digest) is None
