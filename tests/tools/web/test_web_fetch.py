"""web_fetch over real HTTP on loopback: what it reads and what fails."""

from __future__ import annotations

import gzip
import json
import socket

import pytest
import trio
from website import Site, get, kind, page, reply, serving

from hookgate.tools.web import fetch as module

# --- what it reads ------------------------------------------------------------------------------------------


async def test_a_page_comes_as_status_address_title_and_text(site: Site) -> None:
    site.routes["/"] = page("<html><title>The &amp; title</title><body><h1>Head</h1><p>One<br>two</p></body></html>")
    assert (
        await get(site.url("/"))
    ).for_llm == f"200 Status\nURL: {site.url('/')}\nTitle: The & title\n\nHead\n\nOne\ntwo"
    assert f"Host: 127.0.0.1:{site.port}\r\n".lower() in site.seen[0].lower()


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/ld+json", "text/markdown", ""])
async def test_text_comes_as_it_is(site: Site, kind: str) -> None:
    text = json.dumps({"a": "<b>not markup</b>"}) + "\n\n  x"
    site.routes["/"] = page(text, kind)
    assert (await get(site.url("/"))).for_llm.endswith(f"\n\n{text}")


async def test_long_text_is_cut_where_it_is_asked_to_be(site: Site) -> None:
    site.routes["/"] = page("ä" * 30_000, "text/plain")
    assert (await get(site.url("/"))).for_llm.endswith(
        "\n\n" + "ä" * 20_000 + "\n... [cut at 20000 of 30000 characters]"
    )
    short = await get(site.url("/"), max_chars=10)
    assert short.for_llm.endswith("\n\n" + "ä" * 10 + "\n... [cut at 10 of 30000 characters]")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html; charset=iso-8859-1", "<p>caf\xe9</p>".encode("latin-1")),
        ("text/html", '<meta charset="iso-8859-1"><p>caf\xe9</p>'.encode("latin-1")),
        ("text/html; charset=no-such-thing", "<p>café</p>".encode()),
        ("text/html; charset=base64", "<p>café</p>".encode()),
    ],
)
async def test_the_charset_is_what_the_server_or_the_page_says(site: Site, kind: str, body: bytes) -> None:
    site.routes["/"] = reply(200, body, Content_Type=kind)
    assert (await get(site.url("/"))).for_llm.endswith("café")


@pytest.mark.parametrize("kind", ["image/png", "application/octet-stream", "application/pdf", "text/plain"])
async def test_what_is_binary_is_refused(site: Site, kind: str) -> None:
    site.routes["/"] = reply(200, b"\0\1\2", Content_Type=kind)
    result = await get(site.url("/"))
    assert result.error is not None
    assert result.error.reason == f"{site.url('/')} is {kind}; only text can be read"


async def test_compressed_bodies_are_read_and_bombs_stay_small(site: Site) -> None:
    site.routes["/small"] = reply(200, gzip.compress(b"hello"), Content_Type="text/plain", Content_Encoding="gzip")
    bomb = gzip.compress(b"x" * 200_000_000)
    site.routes["/bomb"] = reply(200, bomb, Content_Type="text/plain", Content_Encoding="gzip")
    site.routes["/odd"] = reply(200, b"?", Content_Type="text/plain", Content_Encoding="br")
    assert (await get(site.url("/small"))).for_llm.endswith("\n\nhello")
    assert f"of {module.MAX_BODY_BYTES} characters]" in (await get(site.url("/bomb"))).for_llm
    assert kind(await get(site.url("/odd"))) == "validation"


async def test_a_body_without_end_is_cut_at_the_limit(site: Site) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
    site.routes["/"] = head + b"x" * (module.MAX_BODY_BYTES + 1_000_000)
    text = (await get(site.url("/"))).for_llm
    assert f"of {module.MAX_BODY_BYTES} characters]" in text


# --- what fails ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, "validation"),
        (403, "validation"),
        (404, "validation"),
        (304, "validation"),
        (429, "transient"),
        (500, "transient"),
        (503, "transient"),
    ],
)
async def test_other_statuses_are_failures_of_their_kind(site: Site, status: int, expected: str) -> None:
    site.routes["/"] = reply(status, b"" if status == 304 else b"details")
    result = await get(site.url("/"))
    assert kind(result) == expected
    assert f"{status} Status from {site.url('/')}" in result.for_llm


async def test_a_network_failure_is_transient(site: Site) -> None:
    site.routes["/cut"] = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"
    site.routes["/garbage"] = b"not http at all\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as unused:
        closed = f"http://127.0.0.1:{unused.getsockname()[1]}/"
    for url in (site.url("/cut"), site.url("/garbage"), closed):
        assert kind(await get(url)) == "transient"


async def never(stream: trio.abc.Stream) -> None:
    await trio.sleep_forever()


async def test_a_server_that_never_answers_is_left_at_the_deadline() -> None:
    async with serving() as site:
        site.answer = never  # type: ignore[method-assign]
        finished = False
        with trio.move_on_after(0.3):
            await get(site.url("/"))
            finished = True
        assert not finished


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/x",
        "file:///etc/passwd",
        "gopher://example.org",
        "//example.org/x",
        "example.org",
        "http://",
        "http://user:secret@example.org/",
        "http://127.0.0.1:99999/",
        "http://xn--/",
        "http://xn--a/",
        "http://a..b/",
    ],
)
async def test_what_is_no_plain_web_address_is_refused(url: str) -> None:
    result = await get(url)
    assert kind(result) == "validation"
    assert "secret" not in result.for_llm
