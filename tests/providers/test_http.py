"""The connection to a model: broken, slow, oversized and lying servers, and what is left behind afterwards."""

from __future__ import annotations

import gc
import gzip
import subprocess
import sys
import zlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from resource import RUSAGE_SELF, getrusage

import pytest
import trio

from hookgate.protocol.errors import ProviderFailed, ProviderFault
from hookgate.protocol.values import LLMRequest
from hookgate.protocol.values.delta import Delta
from hookgate.providers.endpoint import sse
from hookgate.providers.endpoint.patience import Deadlines
from hookgate.providers.openai.provider import open_openai
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
PATIENT = Deadlines(20.0, 20.0, 20.0)


async def failure(answer: Answer, request: LLMRequest, deadlines: Deadlines = PATIENT) -> ProviderFailed:
    """How the call fails; the next call on the same provider must work."""
    with trio.fail_after(30):
        async with (
            open_model_server(answer, says("still here")) as server,
            open_openai(server.base_url, KEY, deadlines) as provider,
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


def trickled(*, after: tuple[bytes, ...] = (), piece: bytes = b"x") -> Answer:
    """One small piece after the other, for ever as far as a test is concerned."""
    return Answer((*after, *[piece] * 2000), pause_s=0.05)


ROLE = event(chunk({"role": "assistant"}))
WORD = event(chunk({"content": "one"}))
SOON = Deadlines(first_token_s=1.0, idle_s=15.0, total_s=20.0)
UNBEGUN = "did not begin to answer within 1 s (first_token_timeout_ms)"


@pytest.mark.parametrize(
    "answer",
    [
        SILENT,
        hang(events(), after=0),
        hang(says("one"), after=1),
        trickled(),
        trickled(piece=b": keep-alive\n\n"),
        trickled(after=(ROLE,), piece=b": keep-alive\n\n"),
        replace(trickled(after=(b"{",), piece=b" "), content_type="application/json"),
    ],
    ids=["mute", "head alone", "a role", "a trickle", "keep-alives", "a role and keep-alives", "no stream"],
)
async def test_a_model_that_does_not_begin_to_answer_is_given_up_and_not_asked_again(
    ask: Ask, answer: Answer
) -> None:
    failed = await failure(answer, ask(), SOON)
    assert (failed.kind, failed.final, UNBEGUN in failed.reason) == ("timeout", True, True), failed.reason


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 100 Continue\r\n\r\n"])
async def test_a_head_that_never_ends_is_given_up(ask: Ask, head: bytes) -> None:
    async def drip(stream: trio.SocketStream) -> None:
        await stream.receive_some(65536)
        with suppress(trio.BrokenResourceError):
            while True:
                await stream.send_all(head if b"100" in head else b"x")
                await trio.sleep(0.05)

    failed = await refused_by(drip, ask(), SOON)
    assert (failed.kind, UNBEGUN in failed.reason) == ("timeout", True)


async def test_a_head_without_bounds_is_refused(ask: Ask) -> None:
    async def flood(stream: trio.SocketStream) -> None:
        await stream.receive_some(65536)
        with suppress(trio.BrokenResourceError):
            await stream.send_all(b"HTTP/1.1 200 OK\r\n")
            while True:
                await stream.send_all(b"X-%d: %s\r\n" % (id(stream), b"y" * 1000))

    assert (await refused_by(flood, ask(), PATIENT)).kind == "network"


async def refused_by(
    answer: Callable[[trio.SocketStream], Awaitable[None]], request: LLMRequest, deadlines: Deadlines
) -> ProviderFailed:
    """How a call fails at a server that writes what it likes."""
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
            nursery.start_soon(trio.serve_listeners, answer, [listener])
            url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}/v1"
            async with open_openai(url, KEY, deadlines) as provider:
                with pytest.raises(ProviderFailed) as failed:
                    await provider.complete(request, lambda _: None)
            nursery.cancel_scope.cancel()
    return failed.value


async def test_silence_in_the_middle_of_an_answer_ends_the_call(ask: Ask) -> None:
    failed = await failure(hang(says("one", "two"), after=2), ask(), Deadlines(20.0, 1.0, 20.0))
    assert (failed.kind, failed.final) == ("timeout", False)
    assert "fell silent for 1 s in the middle of its answer (idle_timeout_ms)" in failed.reason


async def test_a_trickle_in_the_middle_of_an_answer_ends_the_call(ask: Ask) -> None:
    failed = await failure(trickled(after=(WORD,)), ask(), Deadlines(20.0, 1.0, 20.0, least_rate=100))
    assert (failed.kind, failed.final) == ("timeout", False)
    assert "less than 100 bytes a second (least_rate)" in failed.reason


@pytest.mark.parametrize("piece", [WORD, b": keep-alive\n\n"])
async def test_an_answer_that_goes_on_and_on_ends_at_the_deadline_of_the_whole_call(ask: Ask, piece: bytes) -> None:
    failed = await failure(trickled(after=(WORD,), piece=piece), ask(), Deadlines(20.0, 20.0, 1.5))
    assert (failed.kind, failed.final) == ("timeout", True)
    assert "took more than 1.5 s in all (total_timeout_ms)" in failed.reason


async def test_a_slow_answer_that_never_falls_silent_is_no_timeout(ask: Ask) -> None:
    words = [f"{number} " for number in range(40)]
    slow = replace(says(*words), pause_s=0.05)
    deadlines = Deadlines(20.0, 1.5, 20.0, least_rate=1_000_000)
    async with open_model_server(slow) as server, open_openai(server.base_url, None, deadlines) as provider:
        with trio.fail_after(30):
            reply = await provider.complete(ask(), lambda _: None)
    assert reply.content == "".join(words)


async def test_keep_alives_carry_a_model_that_thinks_in_the_middle_of_its_answer(ask: Ask) -> None:
    thinking = says("one", "two")
    pieces = (*thinking.pieces[:2], *[b": still thinking\n\n"] * 40, *thinking.pieces[2:])
    slow = replace(thinking, pieces=pieces, pause_s=0.05)
    deadlines = Deadlines(20.0, 1.5, 20.0)
    async with open_model_server(slow) as server, open_openai(server.base_url, None, deadlines) as provider:
        with trio.fail_after(30):
            assert (await provider.complete(ask(), lambda _: None)).content == "onetwo"


async def test_an_event_in_many_pieces_is_no_trickle(ask: Ask) -> None:
    whole = event(chunk({"content": "y" * 40_000}))
    parts = tuple(whole[start : start + 1000] for start in range(0, len(whole), 1000))
    slow = replace(events(chunk({"content": "x"}), chunk({}, "stop")), pause_s=0.05)
    slow = replace(slow, pieces=(slow.pieces[0], *parts, *slow.pieces[1:]))
    deadlines = Deadlines(20.0, 1.5, 20.0, least_rate=1000)
    async with open_model_server(slow) as server, open_openai(server.base_url, None, deadlines) as provider:
        with trio.fail_after(30):
            assert len((await provider.complete(ask(), lambda _: None)).content) == 40_001


async def test_nobody_listening_is_a_network_failure(ask: Ask) -> None:
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    port = listener.socket.getsockname()[1]
    await listener.aclose()
    async with open_openai(f"http://127.0.0.1:{port}/v1") as provider:
        with trio.fail_after(10), pytest.raises(ProviderFailed, match="reached: Connection refused") as failed:
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


def bomb() -> Answer:
    """Some hundred bytes that unpack to 256 MiB."""
    inner = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = b"".join(inner.compress(bytes(1 << 20)) for _ in range(256)) + inner.flush()
    packed = gzip.compress(gzip.compress(zeros))
    assert len(packed) < 1000
    encoding = ("Content-Encoding", "gzip, gzip, gzip")
    return Answer((packed,), 200, "application/json", headers=(encoding,))


async def test_a_packed_answer_is_refused_and_never_unpacked(ask: Ask) -> None:
    answer = bomb()
    refusal = replace(answer, status=502)
    before = getrusage(RUSAGE_SELF).ru_maxrss
    failed = await failure(answer, ask())
    assert (failed.kind, "sent a packed answer (Content-Encoding: gzip" in failed.reason) == ("format", True)
    failed = await failure(refusal, ask())
    assert (failed.kind, failed.reason.partition(" ")[2]) == ("server", "answered 502 (the server failed)")
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 100 << 10  # KiB


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


async def test_an_answer_in_one_piece_is_bounded_too(ask: Ask) -> None:
    large = Answer((b"[", *[b"[]," * 20_000] * 150), content_type="application/json")
    failed = await failure(large, ask())
    assert (failed.kind, "8 MiB in one piece" in failed.reason) == ("format", True)


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
