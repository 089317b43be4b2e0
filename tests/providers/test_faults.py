"""What a status, an error object or a header means: tables, no I/O."""

from __future__ import annotations

import pytest

from hookgate.protocol.codec import encode
from hookgate.protocol.errors import ProviderFault
from hookgate.providers.endpoint.faults import Site, retry_after, secrets_in

SITE = Site("api.test", secrets_in(["Bearer sk-very-secret-key"]))
NOW = 1_700_000_000.0


def body(message: str, **members: object) -> bytes:
    return encode({"error": {"message": message, **members}})


@pytest.mark.parametrize(
    ("status", "sent", "kind"),
    [
        (400, body("bad schema"), "format"),
        (400, body("This model's maximum context length is 8192 tokens"), "overflow"),
        (400, body("no", code="context_length_exceeded"), "overflow"),
        (400, body("prompt is too long: 210000 tokens > 200000 maximum"), "overflow"),
        (400, body("the request exceeds the available context size", type="exceed_context_size_error"), "overflow"),
        (400, body("max_tokens is too large: 99999"), "format"),
        (400, body("Your credit balance is too low to access the API"), "billing"),
        (401, body("nope"), "auth"),
        (402, b"", "billing"),
        (403, b"<html>", "auth"),
        (404, body("no such model"), "format"),
        (408, b"", "timeout"),
        (413, body("too big", type="request_too_large"), "overflow"),
        (413, b"Payload Too Large", "format"),
        (418, b"", "unknown"),
        (302, b"", "unknown"),
        (422, encode({"detail": [{"msg": "field required", "input": "about the context window"}]}), "format"),
        (429, body("Request too large for gpt-4 on tokens per min"), "rate_limit"),
        (429, body("You exceeded your quota", code="insufficient_quota"), "billing"),
        (500, body("oops"), "server"),
        (502, b"Bad Gateway", "server"),
        (504, b"", "timeout"),
        (529, body("Overloaded", type="overloaded_error"), "server"),
    ],
)
def test_a_status_and_its_words_make_the_kind(status: int, sent: bytes, kind: ProviderFault) -> None:
    assert SITE.refusal(status, {}, sent, NOW).kind == kind


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "server"),
        ({"error": {"type": "rate_limit_error", "message": "slow down"}}, "rate_limit"),
        ({"error": {"code": 429, "message": "slow down"}}, "rate_limit"),
        ({"error": {"code": "401", "message": "no"}}, "auth"),
        ({"error": {"code": 400, "message": "maximum context length is 4096"}}, "overflow"),
        ({"error": {"type": "invalid_request_error", "message": "prompt is too long"}}, "overflow"),
        ({"error": {"type": "invalid_request_error", "message": "bad"}}, "format"),
        ({"error": "llama runner process has terminated"}, "server"),
        ({"error": {"message": None, "code": None}}, "server"),
    ],
)
def test_an_error_object_in_a_stream_makes_the_kind(event: dict[str, object], kind: ProviderFault) -> None:
    assert SITE.broken_off(event).kind == kind  # type: ignore[arg-type]


def test_the_reason_is_one_short_line_with_host_status_class_and_the_api_s_own_words() -> None:
    failed = SITE.refusal(500, {}, body("first line\nsecond " + "x" * 500), NOW)
    assert failed.reason.startswith("api.test answered 500 (the server failed): first line second xxx")
    assert "\n" not in failed.reason
    assert len(failed.reason) < 260


@pytest.mark.parametrize(
    ("base", "path", "ends"),
    [
        ("http://h:1", "/chat/completions", "; /v1 is missing in it: base_url usually ends in /v1"),
        ("http://h:1/api/v1", "/chat/completions", "gone"),
        ("http://h:1/v1beta/openai", "/chat/completions", "gone"),
        ("http://h:1/v1/v1", "/chat/completions", "; /v1 stands twice in it: take one out of base_url"),
        ("http://h:1/v1", "/v1/messages", "; /v1 stands twice in it: take one out of base_url"),
        (
            "http://h:1/v1/chat/completions",
            "/chat/completions",
            "; base_url must end before /chat/completions, which is added to it",
        ),
    ],
)
@pytest.mark.parametrize("status", [404, 405])
def test_an_address_that_is_not_there_is_named_with_what_is_likely_wrong_with_it(
    base: str, path: str, ends: str, status: int
) -> None:
    site = Site("h:1", ("very-secret",), base + path, path)
    failed = site.refusal(status, {}, body("gone"), NOW)
    assert failed.reason.startswith(f"h:1 answered {status} at {base}{path} (no such address or model): gone")
    assert failed.reason.endswith(ends)


def test_the_address_is_named_without_a_password_or_a_query() -> None:
    site = Site("h:1", (), "http://me:hush@h:1/v1/x?key=hush", "/x")
    assert site.refusal(404, {}, b"", NOW).reason == "h:1 answered 404 at http://h:1/v1/x (no such address or model)"


def test_a_web_page_and_an_error_that_calls_itself_a_success_name_what_is_likely_wrong_too() -> None:
    site = Site("h:1", (), "http://h:1/x", "/x")
    assert "answered with text/html at http://h:1/x where" in site.stranger("text/html", b"").reason
    for failed in (site.stranger("text/html", b""), site.broken_off({"error": "Unexpected endpoint"}, whole=True)):
        assert failed.reason.endswith("; /v1 is missing in it: base_url usually ends in /v1")


def test_what_a_terminal_would_obey_is_taken_out_of_the_reason() -> None:
    assert SITE.refusal(500, {}, body("a\x1b[2Jb\u202ec\x00"), NOW).reason.endswith(": a [2Jb c")


def test_a_body_that_is_no_error_object_goes_to_the_log_only() -> None:
    failed = SITE.refusal(502, {}, b"<html>secret internals " + b"y" * 9000, NOW)
    assert failed.reason == "api.test answered 502 (the server failed)"
    assert failed.detail.startswith("<html>secret internals")
    assert len(failed.detail) == 4096


@pytest.mark.parametrize("padding", [0, 185, 195, 4085])
def test_a_key_that_the_endpoint_repeats_is_hidden_also_where_the_text_is_cut(padding: int) -> None:
    failed = SITE.refusal(401, {}, body("z" * padding + " sk-very-secret-key is wrong"), NOW)
    assert "sk-very" not in failed.reason + failed.detail
    assert "sk-very" not in repr(SITE)


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (encode([{"error": {"message": "in a list", "status": "INVALID_ARGUMENT"}}]), "in a list"),
        (encode({"message": "bare"}), "bare"),
        (encode({"detail": "from FastAPI"}), "from FastAPI"),
        (encode({"detail": [{"msg": "one"}, {"msg": "two"}]}), "one; two"),
        (encode({"error": "a string"}), "a string"),
    ],
)
def test_the_message_is_found_in_every_shape_that_servers_use(sent: bytes, message: str) -> None:
    assert SITE.refusal(400, {}, sent, NOW).reason.endswith(f": {message}")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, 30.0),
        ({"retry-after": "Tue, 14 Nov 2000 22:13:50 GMT"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
    ],
)
def test_what_the_endpoint_asks_to_wait_is_read_in_all_three_spellings(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, NOW) == seconds
