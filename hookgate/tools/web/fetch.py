"""One GET over the open internet: every address is checked, at every redirect, and it is the one connected to.

Knows no tool and no HTML. httpx is imported when the first page is fetched.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import trio

from hookgate.network.addresses import NotPublic, reachable
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values.effects import NetEffect
from hookgate.tools.errors import ToolError

if TYPE_CHECKING:
    import httpx

OP = "web_fetch"
MAX_BODY_BYTES = 5 * 1024 * 1024
MAX_REDIRECTS = 5
_STEP_DEADLINE_S = 20.0
_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {
    "User-Agent": "hookgate",
    "Accept": "text/html, application/json, text/*;q=0.9, */*;q=0.5",
    "Accept-Encoding": "identity",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is decompressed and cut at the limit; `truncated` says whether."""

    status: int
    phrase: str
    url: str
    content_type: str
    location: str
    body: bytes = b""
    truncated: bool = False


OnHop = Callable[[NetEffect], None]


async def fetch(url: str, allow_private: bool, on_hop: OnHop) -> Answer:
    """Follows redirects to the answer; `on_hop` hears of every request before it is made.

    Raises ToolError: permission for an address that is not public, transient for the network, 5xx and 429,
    validation for the other statuses and for what is no URL.
    """
    import httpx

    target = url
    for _ in range(MAX_REDIRECTS + 1):
        parsed = _parsed(target)
        addresses = await _resolve(parsed, allow_private)
        on_hop(NetEffect(parsed.host, _port(parsed), "GET"))
        answer = await _first_reachable(parsed, addresses)
        if answer.status not in _REDIRECTS or not answer.location:
            return _successful(answer)
        try:
            target = str(parsed.join(answer.location))
        except (httpx.InvalidURL, ValueError):
            raise ToolError("validation", OP, f"{parsed} redirects to what is no URL") from None
    raise ToolError("validation", OP, f"{url} redirects more than {MAX_REDIRECTS} times")


def _parsed(url: str) -> httpx.URL:
    import httpx

    try:
        parsed = httpx.URL(url)
        host = parsed.host  # decoded at each look, which some names cannot be
    except (httpx.InvalidURL, ValueError):
        raise ToolError("validation", OP, f"{url[:200]!r} is not a URL") from None
    if parsed.scheme not in ("http", "https") or not host:
        raise ToolError("validation", OP, "only http and https URLs with a host can be fetched")
    if parsed.port is not None and not 0 < parsed.port < 65536:
        raise ToolError("validation", OP, f"{parsed.port} is not a port")
    if parsed.userinfo:
        raise ToolError("validation", OP, "the URL must not carry a user name or password")
    return parsed


async def _resolve(url: httpx.URL, allow_private: bool) -> Sequence[str]:
    try:
        return await reachable(url.host, _port(url), allow_private=allow_private)
    except NotPublic:
        reason = f"{url.host} is not on the public internet, and only public addresses may be fetched"
        raise ToolError("permission", OP, reason, denied_by="rule:public_addresses") from None
    except UnicodeError:
        raise ToolError("validation", OP, f"{url.host[:200]!r} cannot be the name of a host") from None
    except OSError as error:
        raise ToolError("transient", OP, f"{url.host}: {error}") from None


def _port(url: httpx.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


async def _first_reachable(url: httpx.URL, addresses: Sequence[str]) -> Answer:
    import httpx

    from hookgate.network.https import trust_store

    trust = await trio.to_thread.run_sync(partial(trust_store, tls=True)) if url.scheme == "https" else False
    # A bare transport: a client would take a redirect apart by itself, and stumble over a malformed one.
    async with httpx.AsyncHTTPTransport(verify=trust, trust_env=False) as transport:
        failure: Exception | None = None
        for address in addresses:
            try:
                return await _get(transport, url, address)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure = error
            except (httpx.HTTPError, zlib.error) as error:
                failure = error
                break
        raise ToolError("transient", OP, f"{url}: {_words(failure)}")


def _words(error: BaseException | None) -> str:
    """httpx says nothing of its own about some failures (a certificate, say); what caused them does."""
    last = error
    while error is not None:
        if str(error):
            return str(error)
        last, error = error, error.__cause__ or error.__context__
    return type(last).__name__


async def _get(transport: httpx.AsyncHTTPTransport, url: httpx.URL, address: str) -> Answer:
    """The connection goes to `address`; name and certificate are those of the URL."""
    import httpx

    request = httpx.Request(
        "GET",
        url.copy_with(host=address, fragment=None),
        headers={**_HEADERS, "Host": url.netloc.decode("ascii")},
        extensions={
            "sni_hostname": url.raw_host.decode("ascii"),
            "timeout": httpx.Timeout(_STEP_DEADLINE_S).as_dict(),
        },
    )
    response = await transport.handle_async_request(request)
    try:
        location = response.headers.get("location", "")
        wanted = 200 <= response.status_code < 300
        body, truncated = await _body(response) if wanted else (b"", False)
    finally:
        with trio.CancelScope(shield=True):
            await response.aclose()
    kind = response.headers.get("content-type", "")
    return Answer(response.status_code, response.reason_phrase, str(url), kind, location, body, truncated)


async def _body(response: httpx.Response) -> tuple[bytes, bool]:
    """Up to the limit. Leaving the loop by cancellation is the one early way out that leaks no generator."""
    chunks: list[bytes] = []
    size = 0
    with trio.CancelScope() as scope:
        async for chunk in response.aiter_raw():
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_BODY_BYTES:
                scope.cancel()
    data, more = _decompressed(b"".join(chunks), response.headers.get("content-encoding", ""))
    return data[:MAX_BODY_BYTES], more or size > MAX_BODY_BYTES


def _decompressed(data: bytes, encoding: str) -> tuple[bytes, bool]:
    """A server may compress although it was asked not to; what it unpacks to is bounded here."""
    match encoding.strip().lower():
        case "" | "identity":
            return data, False
        case "gzip" | "x-gzip" | "deflate":
            unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
            return unpacker.decompress(data, MAX_BODY_BYTES), bool(unpacker.unconsumed_tail)
        case other:
            raise ToolError("validation", OP, f"the content encoding {other[:40]!r} cannot be read")


def _successful(answer: Answer) -> Answer:
    if 200 <= answer.status < 300:
        return answer
    passing = answer.status == 429 or answer.status >= 500
    reason = f"{answer.status} {answer.phrase} from {answer.url}".replace("  ", " ")
    raise ToolError("transient" if passing else "validation", OP, reason)
