"""The connection to a model: broken, slow, oversized and lying servers, and what is left behind afterwards."""

from __future__ import annotations

import gc
import gzip
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
import trio

from hookgate.protocol.delta import Delta
from hookgate.protocol.errors import ProviderFailed, ProviderFault
from hookgate.protocol.values import LLMRequest
from hookgate.providers import sse
from hookgate.providers.openai import open_openai
from tests.model_server import (
    DONE,
    DROPPED,
    SILENT,
    Answer,
    chunk,
    cut,
    event,
    events,
    fails,
    hang,
    open_model_server,
    plain,
    says,
)

Ask = Callable[..., LLMRequest]
KEY = "sk-test-0123456789"


async def failure(answer: Answer, request: LLMRequest, idle_s: float = 5.0) -> ProviderFailed:
    """How the call fails; the next call on the same provider must work."""
    with trio.fail_after(30):
        async with (
            open_model_server(answer, says("still here")) as server,
            open_openai(server.base_url, KEY, idle_s) as provider,
        ):
            with pytest.raises(ProviderFailed) as failed:
                await provider.complete(request, lambda _: None)
            assert (await provider.complete(request, lambda _: None)).content == "still here"
            assert failed.value.reason.startswith(server.base_url.removeprefix("http://").removesuffix("/v1"))
    gc.collect()  # a body that was left open would warn here, and warnings are errors
    return failed.value


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (fails(429, "slow down", ("Retry-After", "2")), "rate_limit", "answered 429 (rate limit reached): slow down"),
        (fails(500, "oops"), "server", "answered 500 (the server failed): oops"),
        (fails(529, "Overloaded"), "server", "answered 529"),
        (fails(400, "maximum context length is 8192 tokens"), "overflow", "too long for the model"),
        (fails(400, "bad schema"), "format", "answered 400 (the request was refused): bad schema"),
        (fails(401, f"wrong key {KEY}"), "auth", "answered 401 (the API key was refused): wrong key ***"),
        (fails(402, "pay"), "billing", "payment is needed"),
        (plain({}, 302, ("Location", "http://elsewhere.invalid/")), "unknown", "answered 302"),
        (plain({"error": {"message": "upstream", "code": 502}}), "server", "upstream"),
        (DROPPED, "network", "the stream was cut"),
        (cut(says("one", "two"), after=2), "network", "the stream was cut"),
        (events(chunk({"content": "half"}), done=False), "network", "the stream was cut"),
        (Answer((event(chunk({"content": "x"})), b'data: {"choices": [\n\n', DONE)), "server", "not JSON"),
        (events(chunk({"content": "x"}), {"error": {"code": 429, "message": "busy"}}), "rate_limit", "busy"),
        (events(chunk({"content": "x"}, "error")), "server", "broke off"),
        (Answer((event({"message": "gone wrong"}, "error"),)), "server", "gone wrong"),
        (Answer((b"<html>log in</html>",), content_type="text/html"), "format", "answered with text/html"),
        (Answer((b"{",), content_type="application/json"), "server", "not JSON"),
    ],
)
async def test_each_way_of_failing_has_its_kind_and_one_plain_line(
    ask: Ask, answer: Answer, kind: ProviderFault, words: str
) -> None:
    failed = await failure(answer, ask())
    assert failed.kind == kind
    assert words in failed.reason
    assert "\n" not in failed.reason
    assert KEY not in failed.reason + failed.detail


async def test_the_wait_that_a_server_asks_for_comes_with_the_failure(ask: Ask) -> None:
    assert (await failure(fails(429, "slow", ("Retry-After", "2")), ask())).retry_after_s == 2.0
    assert (await failure(fails(503, "slow", ("Retry-After-Ms", "250")), ask())).retry_after_s == 0.25


@pytest.mark.parametrize("answer", [SILENT, hang(says("one", "two"), after=2), hang(events(), after=0)])
async def test_silence_ends_the_call_after_the_idle_timeout(ask: Ask, answer: Answer) -> None:
    failed = await failure(answer, ask(), idle_s=1.0)
    assert (failed.kind, "silent" in failed.reason) == ("timeout", True)


async def test_a_slow_answer_that_never_falls_silent_is_no_timeout(ask: Ask) -> None:
    words = [f"{number} " for number in range(40)]
    slow = replace(says(*words), pause_s=0.05)
    async with open_model_server(slow) as server, open_openai(server.base_url, None, 1.5) as provider:
        with trio.fail_after(30):
            reply = await provider.complete(ask(), lambda _: None)
    assert reply.content == "".join(words)


async def test_nobody_listening_is_a_network_failure(ask: Ask) -> None:
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    port = listener.socket.getsockname()[1]
    await listener.aclose()
    async with open_openai(f"http://127.0.0.1:{port}/v1") as provider:
        with trio.fail_after(10), pytest.raises(ProviderFailed, match="cannot be reached") as failed:
            await provider.complete(ask(), print)
    assert failed.value.kind == "network"


async def test_a_server_without_tls_is_named_as_such(ask: Ask) -> None:
    async def answer_in_clear(stream: trio.SocketStream) -> None:
        await stream.receive_some(65536)
        await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with trio.open_nursery() as nursery:
        listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
        nursery.start_soon(trio.serve_listeners, answer_in_clear, [listener])
        async with open_openai(f"https://127.0.0.1:{listener.socket.getsockname()[1]}/v1", KEY) as provider:
            with trio.fail_after(10), pytest.raises(ProviderFailed, match="TLS") as failed:
                await provider.complete(ask(), print)
        nursery.cancel_scope.cancel()
    assert failed.value.kind == "network"


async def test_a_body_packed_against_our_wish_is_unpacked(ask: Ask) -> None:
    packed = Answer((gzip.compress(b"".join(says("one", "two").pieces)),), headers=(("Content-Encoding", "gzip"),))
    async with open_model_server(packed) as server, open_openai(server.base_url) as provider:
        with trio.fail_after(10):
            assert (await provider.complete(ask(), lambda _: None)).content == "onetwo"


async def test_text_heard_before_the_cut_has_been_streamed(ask: Ask, heard: list[Delta]) -> None:
    async with (
        open_model_server(cut(says("one", "two"), after=2)) as server,
        open_openai(server.base_url) as provider,
    ):
        with trio.fail_after(10), pytest.raises(ProviderFailed):
            await provider.complete(ask(), heard.append)
    assert heard == ["one"]


@pytest.mark.parametrize("ending", [hang, cut])
async def test_an_answer_that_is_whole_counts_whatever_the_connection_does_next(
    ask: Ask, ending: Callable[[Answer, int], Answer]
) -> None:
    answer = ending(says("all of it"), 3 if ending is cut else 5)
    async with open_model_server(answer) as server, open_openai(server.base_url) as provider:
        with trio.fail_after(20):
            assert (await provider.complete(ask(), lambda _: None)).content == "all of it"


async def test_a_cancelled_call_drops_its_connection_and_leaves_the_provider_usable(ask: Ask) -> None:
    with trio.fail_after(10):
        async with (
            open_model_server(hang(says("one", "two"), after=2)) as server,
            open_openai(server.base_url) as provider,
            trio.open_nursery() as nursery,
        ):
            first = trio.Event()
            nursery.start_soon(partial(provider.complete, on_text=lambda _: first.set()), ask())
            await first.wait()
            nursery.cancel_scope.cancel()
        assert server.clients_gone == 1
    gc.collect()


async def test_an_error_of_the_listener_comes_out_as_it_is_and_leaks_nothing(ask: Ask) -> None:
    def refuse(_: str) -> None:
        raise LookupError("no such chat")

    async with open_model_server(says("one", "two")) as server, open_openai(server.base_url) as provider:
        with trio.fail_after(10), pytest.raises(LookupError):
            await provider.complete(ask(), refuse)
    gc.collect()


async def test_calls_one_after_the_other_share_a_connection(ask: Ask) -> None:
    async with open_model_server() as server, open_openai(server.base_url) as provider:
        with trio.fail_after(10):
            for _ in range(5):
                await provider.complete(ask("again"), lambda _: None)
        assert server.clients_gone == 0
        assert len(server.requests) == 5


async def test_an_event_without_end_is_refused_before_it_fills_the_memory(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", 1 << 20)
    failed = await failure(Answer((b"data: ", *[b"x" * 65536] * 40)), ask())
    assert (failed.kind, "1 MiB" in failed.reason) == ("format", True)


async def test_an_answer_without_end_is_refused(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_REPLY", 1 << 20)
    failed = await failure(events(*[chunk({"content": "x" * 8192})] * 200), ask())
    assert (failed.kind, "1 MiB" in failed.reason) == ("format", True)


@pytest.mark.parametrize("url", ["", "api.test/v1", "ftp://api.test", "http://", "https://api.test:port/v1"])
async def test_a_url_that_cannot_be_is_refused_when_the_provider_opens(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the text differs by what is wrong
        async with open_openai(url, KEY):
            pass


async def test_a_key_that_no_header_can_hold_is_not_repeated(ask: Ask) -> None:
    async with open_model_server() as server, open_openai(server.base_url, "sk-first\nsk-second") as provider:
        with trio.fail_after(10), pytest.raises(ProviderFailed) as failed:
            await provider.complete(ask(), print)
    assert failed.value.kind == "unknown"
    assert "sk-" not in failed.value.reason + failed.value.detail


@pytest.mark.parametrize("module", ["hookgate.providers", "hookgate.providers.scripted"])
def test_what_needs_no_connection_does_not_pay_for_an_http_client(module: str) -> None:
    program = f"import sys, {module}; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=30, check=False).returncode == 0
