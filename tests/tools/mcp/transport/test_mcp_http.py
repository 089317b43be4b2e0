"""Connections over HTTP: which addresses, where the token goes, and what a bad server can do. All on loopback."""

from __future__ import annotations

import gzip
import json
import ssl
from pathlib import Path

import pytest
import trio

from hookgate.protocol.framing import MAX_MESSAGE_BYTES
from hookgate.tools.errors import ToolError
from hookgate.tools.mcp.server import ConnectFailed, ServerSpec
from hookgate.tools.mcp.transport import http
from hookgate.tools.mcp.transport.endpoint import checked
from tests.certificates import certified, of_the_machine
from tests.tools.mcp.benches import opened
from tests.tools.mcp.web import Asked, answer, reply, serving


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1/mcp", "not on the public internet"),
        ("http://localhost/mcp", "not on the public internet"),
        ("http://app.localhost./mcp", "not on the public internet"),
        ("http://2130706433/mcp", "not on the public internet"),
        ("http://[::1]/mcp", "not on the public internet"),
        ("http://[::ffff:10.0.0.1]/mcp", "not on the public internet"),
        ("http://169.254.169.254/mcp", "not on the public internet"),
        ("http://100.64.0.1/mcp", "not on the public internet"),
        ("https://user:pass@93.184.216.34/mcp", "user name or password"),
        ("ftp://93.184.216.34/mcp", "must read http"),
        ("http:///mcp", "must read http"),
        ("http://93.184.216.34:99999/mcp", "not a URL"),
        ("http://93.184.216.34:0/mcp", "must read http"),
    ],
)
async def test_an_address_that_is_not_public_is_refused(url: str, reason: str) -> None:
    with pytest.raises(ConnectFailed, match=reason):
        await checked(url, None, allow_private=False)


async def test_a_token_goes_over_https_or_to_this_machine_alone() -> None:
    await checked("https://93.184.216.34/mcp", "token", allow_private=False)
    await checked("http://127.0.0.1/mcp", "token", allow_private=True)
    for url, private in (("http://93.184.216.34/mcp", False), ("http://10.0.0.1/mcp", True)):
        with pytest.raises(ConnectFailed, match="over https only"):
            await checked(url, "token", allow_private=private)


async def test_an_authority_of_the_machine_counts_for_a_server_as_for_a_model(tmp_path: Path) -> None:
    key, certificate = certified(tmp_path, "localhost")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    async with serving(tls=server) as site:
        spec = site.spec(url=f"https://localhost:{site.port}/mcp")
        with of_the_machine(certificate):
            async with opened() as bench:
                await bench.connections.connect(spec)
                assert bench.names == ["web__echo", "web__slow"]
        async with opened() as bench:
            with pytest.raises(ToolError, match="could not prove who it is"):
                await bench.connections.connect(spec)


async def test_a_refusal_does_not_tell_the_address() -> None:
    with pytest.raises(ConnectFailed) as caught:
        await checked("http://localhost:8080/mcp", None, allow_private=False)
    assert "127." not in str(caught.value)


async def test_a_refused_address_is_never_connected_to() -> None:
    async with serving() as site, opened() as bench:
        with pytest.raises(ToolError, match="not on the public internet"):
            await bench.connections.connect(site.spec(allow_private=False, origin="model"))
        assert site.seen == []


async def test_a_server_is_called_with_its_token_past_every_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with serving() as site, opened(site.spec(token="t0ken")) as bench:
        result = await bench.call("web__echo", a=1)
        assert result.for_llm.endswith('\n{"a": 1}')
        assert {asked.headers["authorization"] for asked in site.seen} == {"Bearer t0ken"}
        assert {asked.headers["host"] for asked in site.seen} == {f"127.0.0.1:{site.port}"}


async def test_a_token_follows_no_redirect_to_another_host() -> None:
    async with serving() as other:

        async def away(_asked: Asked, stream: trio.SocketStream) -> bool:
            await stream.send_all(reply(307, Location=f"http://127.0.0.1:{other.port}/mcp"))
            return True

        async with serving(away) as site, opened() as bench:
            with pytest.raises(ToolError, match="not followed"):
                await bench.connections.connect(site.spec(token="t0ken", origin="model"))
            assert (len(site.seen) > 0, other.seen) == (True, [])


async def test_a_redirect_on_the_same_host_is_followed() -> None:
    async def slash(asked: Asked, stream: trio.SocketStream) -> bool:
        if asked.path == "/mcp":
            await stream.send_all(reply(308, Location="/mcp/"))
        return asked.path == "/mcp"

    async with serving(slash) as site, opened(site.spec()) as bench:
        assert (await bench.call("web__echo")).for_llm.endswith("{}")


async def test_redirects_in_a_circle_end() -> None:
    async def circle(_asked: Asked, stream: trio.SocketStream) -> bool:
        await stream.send_all(reply(308, Location="/mcp"))
        return True

    async with serving(circle) as site, opened() as bench:
        with trio.fail_after(10), pytest.raises(ToolError):
            await bench.connections.connect(site.spec(origin="model"))
        assert len(site.seen) <= 2 * (http.MAX_REDIRECTS + 1) * 2


def calls(asked: Asked) -> bool:
    return asked.body.get("method") == "tools/call" and asked.body["params"]["name"] == "slow"


async def test_a_call_that_is_never_answered_times_out_and_the_connection_stays() -> None:
    async def mute(asked: Asked, _stream: trio.SocketStream) -> bool:
        if calls(asked):
            await trio.sleep_forever()
        return False

    async with serving(mute) as site, opened(site.spec(timeout_s=1.5)) as bench:
        result = await bench.call("web__slow")
        assert result.error is not None
        assert result.error.reason == "timed out after 1.5 s"
        assert (await bench.call("web__echo", a=1)).for_llm.endswith('{"a": 1}')
        assert [asked.body["method"] for asked in site.seen].count("initialize") == 1


async def test_a_server_that_does_not_take_notifications_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "NOTICE_S", 0.2)

    async def deaf(asked: Asked, _stream: trio.SocketStream) -> bool:
        if asked.method == "POST" and "id" not in asked.body:
            await trio.sleep_forever()
        return False

    async with serving(deaf) as site, opened(site.spec()) as bench:
        with trio.fail_after(20):
            assert (await bench.call("web__echo", a=1)).for_llm.endswith('{"a": 1}')


async def test_an_answer_that_is_too_long_fails_its_call_alone() -> None:
    async def huge(asked: Asked, stream: trio.SocketStream) -> bool:
        if calls(asked):
            text = "x" * (MAX_MESSAGE_BYTES + 1000)
            await stream.send_all(answer(asked, {"content": [{"type": "text", "text": text}]}))
        return calls(asked)

    async with serving(huge) as site, opened(site.spec()) as bench:
        assert "more than 16777216 bytes" in (await bench.call("web__slow")).for_llm
        assert (await bench.call("web__echo", a=1)).for_llm.endswith('{"a": 1}')


async def test_a_compressed_answer_is_not_unpacked() -> None:
    async def bomb(asked: Asked, stream: trio.SocketStream) -> bool:
        if calls(asked):
            body = gzip.compress(b" " * 100_000_000)
            await stream.send_all(reply(200, body, Content_Type="application/json", Content_Encoding="gzip"))
        return calls(asked)

    async with serving(bomb) as site, opened(site.spec()) as bench:
        assert "its answer is compressed" in (await bench.call("web__slow")).for_llm
        assert (await bench.call("web__echo", a=1)).for_llm.endswith('{"a": 1}')


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        (reply(500, b"boom"), "unknown", "Server returned an error response"),
        (reply(200, b"hello", Content_Type="text/html"), "unknown", "Unexpected content type"),
        (reply(200, b"{not json", Content_Type="application/json"), "unknown", "Failed to parse JSON response"),
        (reply(202), "unknown", "202 Accepted"),
    ],
)
async def test_an_answer_that_is_none_fails_its_call_alone(given: bytes, kind: str, text: str) -> None:
    async def odd(asked: Asked, stream: trio.SocketStream) -> bool:
        if calls(asked):
            await stream.send_all(given)
        return calls(asked)

    async with serving(odd) as site, opened(site.spec()) as bench:
        result = await bench.call("web__slow")
        assert result.error is not None
        assert (result.error.kind, text in result.for_llm) == (kind, True)
        assert (await bench.call("web__echo", a=1)).for_llm.endswith('{"a": 1}')


async def test_an_answer_that_breaks_off_fails_its_call_alone() -> None:
    async def torn(asked: Asked, stream: trio.SocketStream) -> bool:
        if calls(asked):
            await stream.send_all(reply(200, b"{}", Content_Type="application/json", Content_Length="100"))
        return calls(asked)

    async with serving(torn) as site, opened(site.spec()) as bench:
        with trio.fail_after(20):
            result = await bench.call("web__slow")
        assert result.error is not None
        assert (result.error.kind, "its answer broke off" in result.for_llm) == ("transient", True)
        assert (await bench.call("web__echo", a=1)).for_llm.endswith('{"a": 1}')


async def test_a_server_that_has_forgotten_the_session_is_connected_to_again() -> None:
    known = True

    async def forgetful(asked: Asked, stream: trio.SocketStream) -> bool:
        nonlocal known
        if asked.body.get("method") == "initialize":
            known = True
        elif not known and asked.method == "POST":
            await stream.send_all(reply(404))
            return True
        return False

    async with serving(forgetful, session="s1") as site, opened(site.spec()) as bench:
        known = False
        result = await bench.call("web__echo", a=1)
        assert result.error is not None
        assert (result.error.kind, "has forgotten" in result.error.reason) == ("transient", True)
        await bench.up("web", restarts=1)
        assert (await bench.call("web__echo", a=1)).for_llm.endswith('{"a": 1}')


async def test_a_server_that_is_not_there_is_named() -> None:
    async with opened() as bench:
        spec = ServerSpec("web", "http", url="http://127.0.0.1:9/mcp", allow_private=True, origin="model")
        with trio.fail_after(20), pytest.raises(ToolError, match=r"127\.0\.0\.1 cannot be reached"):
            await bench.connections.connect(spec)


async def test_a_server_that_accepts_and_says_nothing_is_given_up() -> None:
    async def silent(_asked: Asked, _stream: trio.SocketStream) -> bool:
        await trio.sleep_forever()
        return True

    async with serving(silent) as site, opened() as bench:
        with trio.fail_after(20), pytest.raises(ToolError, match=r"handshake within 0\.5 s"):
            await bench.connections.connect(site.spec(connect_timeout_s=0.5, origin="model"))


async def test_a_secret_is_in_no_text_that_the_model_sees() -> None:
    async def echo(asked: Asked, stream: trio.SocketStream) -> bool:
        if calls(asked):
            await stream.send_all(reply(500, json.dumps(asked.headers).encode()))
        return calls(asked)

    async with serving(echo) as site, opened(site.spec(token="t0ken-t0ken")) as bench:
        assert "t0ken" not in (await bench.call("web__slow")).for_llm
        assert "t0ken" not in repr(site.spec(token="t0ken-t0ken"))
