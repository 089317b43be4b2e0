"""web_fetch over real HTTP on loopback: what it reads, what it refuses, and where it really connects."""

from __future__ import annotations

import gzip
import json
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.tools import fetch as module
from hookgate.tools.addresses import is_local_name, is_public
from hookgate.tools.builtin.web_fetch import WebFetch
from hookgate.tools.dispatch import execute
from hookgate.tools.page import read_page


@dataclass
class Site:
    """Answers each path with the bytes it is given for it; `seen` has the heads of the requests."""

    port: int = 0
    routes: dict[str, bytes] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    async def answer(self, stream: trio.abc.Stream) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            chunk = await stream.receive_some(65536)
            if not chunk:
                return
            head += chunk
        self.seen.append(head.decode())
        with suppress(trio.BrokenResourceError):  # by a client that has read enough
            await stream.send_all(self.routes.get(head.split()[1].decode(), reply(404, b"nothing here")))
            await stream.aclose()


def reply(status: int, body: bytes, **headers: str) -> bytes:
    given = {"Content-Length": str(len(body)), "Connection": "close"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"HTTP/1.1 {status} Status\r\n{lines}\r\n".encode() + body


def page(body: str, kind: str = "text/html; charset=utf-8") -> bytes:
    return reply(200, body.encode(), Content_Type=kind)


@asynccontextmanager
async def serving(tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> AsyncIterator[Site]:
    site = Site()

    async def answer(stream: trio.SocketStream) -> None:
        wrapped = trio.SSLStream(stream, tls, server_side=True) if tls else stream
        with suppress(trio.BrokenResourceError):  # by a client that does not trust the certificate
            await site.answer(wrapped)

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, answer, 0, host=host))
        site.port = listeners[0].socket.getsockname()[1]
        yield site
        nursery.cancel_scope.cancel()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as running:
        yield running


async def get(url: str, *, private: bool = True, **arguments: object) -> ToolResult:
    call = ToolCall("c", "web_fetch", {"url": url, **arguments})  # type: ignore[dict-item]
    with trio.fail_after(20):
        return await execute(WebFetch(allow_private=private), call)


def kind(result: ToolResult) -> str:
    assert result.is_error
    assert result.error is not None
    return result.error.kind


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
    ],
)
async def test_what_is_no_plain_web_address_is_refused(url: str) -> None:
    result = await get(url)
    assert kind(result) == "validation"
    assert "secret" not in result.for_llm


# --- redirects ----------------------------------------------------------------------------------------------


async def test_redirects_are_followed_to_the_final_address(site: Site) -> None:
    site.routes["/a"] = reply(302, b"gone", Location="b?x=1#part")
    site.routes["/b?x=1"] = reply(301, b"", Location=site.url("/c"))
    site.routes["/c"] = page("arrived", "text/plain")
    assert (await get(site.url("/a"))).for_llm == f"200 Status\nURL: {site.url('/c')}\n\narrived"


async def test_endless_redirects_end(site: Site) -> None:
    site.routes["/"] = reply(302, b"", Location="/")
    assert kind(await get(site.url("/"))) == "validation"
    assert len(site.seen) == 6


@pytest.mark.parametrize("target", ["file:///etc/passwd", "http://u:p@127.0.0.1/", "http://", "javascript:1"])
async def test_a_redirect_to_what_is_no_web_address_is_refused(site: Site, target: str) -> None:
    site.routes["/"] = reply(302, b"", Location=target)
    assert kind(await get(site.url("/"))) == "validation"


# --- addresses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST.",
        "x.localhost",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::]",
        "169.254.169.254",
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "100.64.0.1",
        "198.18.0.1",
        "255.255.255.255",
        "[fd00::1]",
        "[fe80::1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
    ],
)
async def test_addresses_that_are_not_public_are_refused_without_a_connection(site: Site, host: str) -> None:
    result = await get(site.url("/", host), private=False)
    assert kind(result) == "permission"
    assert result.error is not None
    assert result.error.denied_by == "rule:public_addresses"
    assert site.seen == []


class Names(trio.abc.HostnameResolver):
    """Answers names from lists, one after the other; what it is not given goes to the system."""

    def __init__(self, answers: Mapping[str, list[list[str]]]) -> None:
        self.answers, self.asked = {name: list(it) for name, it in answers.items()}, list[str]()

    async def getaddrinfo(self, host: bytes | None, port: Any, family: Any = 0, type: Any = 0, *_: Any) -> Any:
        name = (host or b"").decode()
        self.asked.append(name)
        if name not in self.answers:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [(socket.AF_INET, type, 6, "", (address, port)) for address in self.answers[name].pop(0)]

    async def getnameinfo(self, sockaddr: Any, flags: int) -> Any:
        raise NotImplementedError


@pytest.fixture
def loopback_counts_as_public(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only 127.0.0.1: so that a first hop may be reached without leaving this machine."""
    monkeypatch.setattr(module, "is_public", lambda address: address == "127.0.0.1" or is_public(address))


async def test_a_name_that_resolves_to_a_private_address_is_refused(site: Site) -> None:
    names = Names({"innocent.test": [["127.0.0.1"]], "mixed.test": [["93.184.216.34", "10.0.0.1"]]})
    trio.socket.set_custom_hostname_resolver(names)
    for host in ("innocent.test", "mixed.test"):
        result = await get(site.url("/", host), private=False)
        assert kind(result) == "permission"
        assert "127.0.0.1" not in result.for_llm
        assert "10.0.0.1" not in result.for_llm
    assert site.seen == []


async def test_an_unknown_name_is_transient() -> None:
    trio.socket.set_custom_hostname_resolver(Names({}))
    assert kind(await get("http://nobody.test/", private=False)) == "transient"


@pytest.mark.usefixtures("loopback_counts_as_public")
@pytest.mark.parametrize("host", ["127.0.0.2", "localhost", "[::1]", "inner.test"])
async def test_a_redirect_to_a_private_address_is_refused(site: Site, host: str) -> None:
    trio.socket.set_custom_hostname_resolver(
        Names(
            {
                "outer.test": [["127.0.0.1"]],
                "inner.test": [["10.0.0.7"]],
                "127.0.0.2": [["127.0.0.2"]],
                "::1": [["::1"]],
            }
        )
    )
    site.routes["/"] = reply(302, b"", Location=site.url("/secret", host))
    assert kind(await get(site.url("/", "outer.test"), private=False)) == "permission"
    assert len(site.seen) == 1


@pytest.mark.usefixtures("loopback_counts_as_public")
async def test_a_name_is_looked_up_once_and_that_very_address_is_connected_to(site: Site) -> None:
    names = Names({"rebinding.test": [["127.0.0.1"], ["10.0.0.1"]]})
    trio.socket.set_custom_hostname_resolver(names)
    site.routes["/"] = page("hello", "text/plain")
    assert (await get(site.url("/", "rebinding.test"), private=False)).for_llm.endswith("hello")
    assert names.asked == ["rebinding.test"]
    assert f"host: rebinding.test:{site.port}\r\n" in site.seen[0].lower()


async def test_a_second_address_is_tried_where_the_first_does_not_answer(site: Site) -> None:
    trio.socket.set_custom_hostname_resolver(Names({"two.test": [["127.0.0.3", "127.0.0.1"]]}))
    site.routes["/"] = page("hello", "text/plain")
    assert (await get(site.url("/", "two.test"))).for_llm.endswith("hello")


async def test_a_proxy_of_the_environment_is_not_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    site.routes["/"] = page("direct", "text/plain")
    assert (await get(site.url("/"))).for_llm.endswith("direct")


async def test_a_certificate_is_checked_against_the_name_not_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shutil.which("openssl"):
        pytest.skip("NOT TESTED: there is no openssl on this machine to make a certificate with")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    await trio.run_process(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=good.test",
            "-addext",
            "subjectAltName=DNS:good.test",
            "-keyout",
            str(key),
            "-out",
            str(certificate),
        ],
        stderr=subprocess.DEVNULL,
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    trusting = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(module, "_trust", lambda: trusting)
    names = Names({"good.test": [["127.0.0.1"]], "bad.test": [["127.0.0.1"]]})
    trio.socket.set_custom_hostname_resolver(names)
    async with serving(server) as site:
        site.routes["/"] = page("private", "text/plain")
        assert (await get(f"https://good.test:{site.port}/")).for_llm.endswith("private")
        refused = await get(f"https://bad.test:{site.port}/")
    assert kind(refused) == "transient"
    assert "certificate" in refused.for_llm


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "0.0.0.0",
        "10.1.1.1",
        "100.64.0.1",
        "169.254.1.1",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "64:ff9b:1::1",
        "2002::1",
        "2001::1",
        "fc00::1",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
    ],
)
def test_other_addresses_are_not(address: str) -> None:
    assert not is_public(address)


def test_local_names_are_known_by_name() -> None:
    assert all(is_local_name(name) for name in ("localhost", "a.localhost", "LocalHost.", "fe80::1%eth0"))
    assert not is_local_name("localhost.example.org")


# --- pages --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a</p><script>if (a < b) x()</script><style>p {}</style><p>b", "a\n\nb"),
        ("a <b>bold</b> <i>word</i>", "a bold word"),
        ("<ul><li>one<li>two</ul>", "- one\n- two"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a b"),
        ("a<!-- <p>hidden</p> -->b", "ab"),
        ("1 < 2 &amp;&lt;&#39;", "1 < 2 &<'"),
        ("<SCRIPT>x</ScRiPt >after", "after"),
        ("a\n  b\n\n\nc", "a b c"),
        ("<a href='x'>link</a", "link"),
        ("<p>cut <!-- off", "cut"),
        ("&lt;script&gt;alert(1)&lt;/script&gt;", "<script>alert(1)</script>"),
        ("x\0y<br>z", "xy\nz"),
    ],
)
def test_a_page_reads_as_a_person_sees_it(html: str, text: str) -> None:
    assert read_page(html).text == text


@pytest.mark.parametrize(
    "piece",
    [
        "<a ",
        "<!--",
        "<![CDATA[",
        "<script>",
        "</a",
        "&#",
        "&amp",
        "<?",
        "<",
        "<a href='",
        "<title>",
        "<li>",
        "\n ",
        "<br>\n",
    ],
)
def test_no_page_takes_more_than_linear_time(piece: str) -> None:
    started = time.perf_counter()
    read_page(piece * (1_000_000 // len(piece)))
    assert time.perf_counter() - started < 5
