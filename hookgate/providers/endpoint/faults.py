"""What a model endpoint's failure means: ProviderFailed from a status, an error object or its words.

Knows no HTTP library and does no I/O. Decides which words a person sees: never a raw body, never a key.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import UTC
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from hookgate.protocol.codec import decode, encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage, ProviderFailed, ProviderFault
from hookgate.protocol.values import Json, JsonObject
from hookgate.providers.foreign import items, member, object_of, text

SAID_CHARACTERS = 200
DETAIL_CHARACTERS = 4096
SHORTEST_SECRET = 8
"""Shorter words are left alone: hiding `ollama` would garble every message about it."""

OVERFLOW_PHRASES = (
    "context length exceeded",
    "context window",
    "maximum context length",
    "token limit",
    "too many tokens",
    "prompt is too long",
    "request too large",
    "exceeds the context length",
    "exceed context limit",
    "exceeds the available context size",
    "maximum number of tokens allowed",
)
_BILLING_PHRASES = ("credit balance", "insufficient quota", "insufficient balance", "billing hard limit")

_TAGS: Mapping[str, ProviderFault] = {
    "authentication_error": "auth",
    "invalid_api_key": "auth",
    "permission_error": "auth",
    "billing_error": "billing",
    "insufficient_quota": "billing",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "timeout_error": "timeout",
    "invalid_request_error": "format",
    "not_found_error": "format",
    "request_too_large": "overflow",
    "context_length_exceeded": "overflow",
    "exceed_context_size_error": "overflow",
}
_MEANING: Mapping[ProviderFault, str] = {
    "timeout": "it took too long",
    "rate_limit": "rate limit reached",
    "server": "the server failed",
    "auth": "the API key was refused",
    "billing": "payment is needed",
    "format": "the request was refused",
    "overflow": "the conversation is too long for the model",
    "unknown": "unexpected",
}


_MISPLACED = (404, 405)
"""What servers answer to an address that they do not have."""
_VERSION = re.compile(r"/v\d")


@dataclass(frozen=True, slots=True)
class Site:
    """An endpoint as its failures name it, and the words that they must never repeat. `url` is the base with `path`
    behind it: where every call goes."""

    host: str
    secrets: tuple[str, ...] = field(default=(), repr=False)
    url: str = field(default="", repr=False)
    path: str = ""

    def failure(self, kind: ProviderFault, what: str, *, detail: str = "", final: bool = False) -> ProviderFailed:
        """`what` follows the host's name: "answered 500", say."""
        detail = self.hide(detail)[:DETAIL_CHARACTERS]
        return ProviderFailed(kind, f"{self.host} {what}", detail=detail, final=final)

    def refusal(self, status: int, headers: Mapping[str, str], body: bytes, now: float) -> ProviderFailed:
        """An answer that is no success; `headers` in lower case, `now` in seconds since 1970."""
        raw = body.decode("utf-8", "replace")
        said = _read_said(raw)
        kind = fault_of_status(status, said.words or raw)
        if status in _MISPLACED:
            what = (
                f"answered {status} at {self._place()} (no such address or model){self._quoted(said)}{self._hint()}"
            )
        else:
            what = f"answered {status} ({_MEANING[kind]}){self._quoted(said)}"
        failed = self.failure(kind, what, detail=raw)
        failed.retry_after_s = retry_after(headers, now)
        return failed

    def broken_off(self, event: JsonObject, *, whole: bool = False) -> ProviderFailed:
        """An error object in the middle of a stream, or `whole`, an answer that calls itself a success."""
        said = _said(event)
        kind = _fault_of(said)
        what = f"broke off its answer ({_MEANING[kind]}){self._quoted(said)}{self._hint() if whole else ''}"
        return self.failure(kind, what, detail=encode(event).decode())

    def stranger(self, media_type: str, body: bytes) -> ProviderFailed:
        """What is no model's answer at all: a web page, say."""
        what = f"answered with {media_type[:80]} at {self._place()} where a model's answer was expected{self._hint()}"
        return self.failure("format", what, detail=body.decode("utf-8", "replace"))

    def hide(self, words: str) -> str:
        for secret in self.secrets:
            words = words.replace(secret, "***")
        return words

    def _place(self) -> str:
        """The URL that was called, without a password or query."""
        parts = urlsplit(self.url)
        return self.hide(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl())

    def _hint(self) -> str:
        """What is likely wrong with the base URL, if anything is: the mistakes that everybody makes once."""
        path = urlsplit(self.url).path
        base = path.removesuffix(self.path)
        if base.endswith(self.path):
            return f"; base_url must end before {self.path}, which is added to it"
        if "/v1/v1" in path:
            return "; /v1 stands twice in it: take one out of base_url"
        if not _VERSION.search(path):
            return "; /v1 is missing in it: base_url usually ends in /v1"
        return ""

    def _quoted(self, said: _Said) -> str:
        # Hidden before it is cut, so that no half of a key is left at the end.
        printable = "".join(c if c.isprintable() else " " for c in self.hide(said.message))
        line = " ".join(printable.split())
        return f": {line[:SAID_CHARACTERS]}" if line else ""


def secrets_in(header_values: Iterable[str]) -> tuple[str, ...]:
    """Every long word of the headers, longest first: a key that starts with another is hidden whole."""
    words = {word for value in header_values for word in value.split() if len(word) >= SHORTEST_SECRET}
    return tuple(sorted(words, key=len, reverse=True))


def fault_of_status(status: int, words: str) -> ProviderFault:
    """`words` is what the endpoint said: the same status means a bad request and a too long one."""
    match status:
        case 400 | 404 | 413 | 422:
            return _fault_of_words(words) or "format"
        case 401 | 403:
            return "auth"
        case 402:
            return "billing"
        case 408 | 504:
            return "timeout"
        case 429:
            # OpenAI says 429 for an empty account too, which no waiting heals.
            return "billing" if _fault_of_words(words) == "billing" else "rate_limit"
        case _:
            return "server" if 500 <= status <= 599 else "unknown"


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds from now; from `retry-after-ms`, or `retry-after` as seconds or as an HTTP date."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    given = headers.get("retry-after", "")
    seconds = _number(given)
    return seconds if seconds is not None else _seconds_until(given, now)


def _number(given: str) -> float | None:
    try:
        value = float(given)
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _seconds_until(given: str, now: float) -> float | None:
    try:
        when = parsedate_to_datetime(given)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - now)


@dataclass(frozen=True, slots=True)
class _Said:
    """`tags` are the machine-readable words: a type, a code."""

    message: str = ""
    tags: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return " ".join((self.message, *self.tags)).strip()


def _read_said(raw: str) -> _Said:
    try:
        body: Json = decode(raw)
    except BadMessage:
        return _Said()
    # Gemini's endpoint answers with an array of one error.
    return _said(object_of(body[0] if isinstance(body, list) and body else body))


def _said(body: JsonObject) -> _Said:
    error = body.get("error")
    if isinstance(error, str):
        return _Said(error)
    inner = object_of(error) or body
    tags = tuple(str(inner[name]) for name in ("type", "code", "status") if inner.get(name))
    return _Said(text(inner, "message") or _detail(inner), tags)


def _detail(body: JsonObject) -> str:
    """FastAPI's shape: a text, or a list of what is wrong where."""
    problems = [text(item, "msg") for item in items(body, "detail")]
    return text(body, "detail") or "; ".join(filter(None, problems)) or text(member(body, "detail"), "message")


def _fault_of(said: _Said) -> ProviderFault:
    """Without a status: a code that is one, a known tag, known words; else the server's own trouble."""
    for tag in said.tags:
        if tag.isdecimal() and 400 <= int(tag) <= 599:
            return fault_of_status(int(tag), said.words)
    for tag in said.tags:
        if tag in _TAGS:
            return _fault_of_words(said.words) or _TAGS[tag]
    return _fault_of_words(said.words) or "server"


def _fault_of_words(words: str) -> ProviderFault | None:
    plain = words.lower().replace("_", " ")
    if any(phrase in plain for phrase in _BILLING_PHRASES):
        return "billing"
    return "overflow" if any(phrase in plain for phrase in OVERFLOW_PHRASES) else None
