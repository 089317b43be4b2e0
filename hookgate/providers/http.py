"""JSON over HTTP to a model endpoint, and the way back, over connections that are used again.

Imported by the first call. Knows no model API: what an event means is up to the Reading. Every failure leaves as
ProviderFailed.
"""

from __future__ import annotations

import math
import ssl
import time
from base64 import b64encode
from functools import cache, cached_property
from urllib.parse import quote, unquote, urlsplit

import h11
import trio

from hookgate.processes.causes import cause_of
from hookgate.providers.connection import Connection, Head, connect
from hookgate.providers.endpoint import Terms
from hookgate.providers.faults import Site
from hookgate.providers.patience import Watch
from hookgate.providers.sse import MAX_EVENT, Feed, Reading, parsed

CONNECT_S = 10.0
IDLE_S = 30.0
"""So long a connection is kept for the next call."""
MAX_ERROR_BYTES = 64 << 10
ERROR_BODY_S = 10.0
CUT = (OSError, trio.BrokenResourceError, h11.RemoteProtocolError)


class Connections:
    """Those of one endpoint. No environment variable (proxies, certificates), redirect or cookie is followed."""

    def __init__(self, terms: Terms, site: Site) -> None:
        self.site = site
        self._terms = terms
        self._idle: list[tuple[float, Connection]] = []

    async def aclose(self) -> None:
        while self._idle:
            self._idle.pop()[1].close()

    async def post(self, body: bytes, reading: Reading) -> None:
        """Send JSON and feed the answer to `reading`. Raises ProviderFailed; cancelling drops the connection."""
        watch = Watch(self._terms.deadlines)
        with watch.scope:
            connection = self._rested() or await self._connected()
            try:
                target, headers = self._head
                head = await connection.ask(target, headers, body)
                await self._read(connection, head, reading, watch)
            except CUT as error:
                what = "broke the connection: the stream was cut"
                raise self.site.failure("network", what, detail=repr(error)) from None
            except h11.LocalProtocolError as error:
                # The original may quote a header, and so the key.
                what = f"could not be asked ({type(error).__name__})"
                raise self.site.failure("unknown", what, detail=repr(error)) from None
            finally:
                if connection.rested():
                    self._idle.append((trio.current_time() + IDLE_S, connection))
                else:
                    connection.close()
        if watch.expired and not reading.complete:
            raise self.site.failure("timeout", watch.late(), final=watch.final)

    def _rested(self) -> Connection | None:
        """The one that was used last, for that one is the least likely to be gone."""
        now = trio.current_time()
        while self._idle:
            until, connection = self._idle.pop()
            if now < until and connection.usable:
                return connection
            connection.close()
        return None

    async def _connected(self) -> Connection:
        url = urlsplit(self.site.url)
        tls = _trust_store() if self._terms.tls else None
        try:
            with trio.fail_after(CONNECT_S):
                return await connect(url.hostname or "", url.port or (443 if tls else 80), tls)
        except trio.TooSlowError:
            raise self.site.failure("timeout", f"did not accept a connection within {CONNECT_S:g} s") from None
        except (OSError, ValueError, trio.BrokenResourceError) as error:
            what = f"cannot be reached: {cause}" if (cause := cause_of(error)) else "cannot be reached"
            what = "could not prove who it is (TLS failed)" if _is_tls(error) else what
            raise self.site.failure("network", what, detail=repr(error)) from None

    @cached_property
    def _head(self) -> tuple[str, list[tuple[str, str]]]:
        """The target and the headers, the same for all calls."""
        url = urlsplit(self.site.url)
        host = url.netloc.rpartition("@")[2].removesuffix(":443" if self._terms.tls else ":80")
        headers = {"host": host if host.isascii() else host.encode("idna").decode(), "user-agent": "hookgate"}
        # Packed answers would be buffered by proxies, and could grow a millionfold behind the size limits.
        headers |= {"accept": "text/event-stream, application/json", "accept-encoding": "identity"}
        headers |= {"content-type": "application/json"}
        headers |= {name.lower(): value for name, value in self._terms.headers.items()}
        if url.username or url.password:
            said = f"{unquote(url.username or '')}:{unquote(url.password or '')}"
            headers["authorization"] = f"Basic {b64encode(said.encode()).decode('ascii')}"
        target = quote(url.path, safe="/%:@!$&'()*+,;=~") + (
            f"?{quote(url.query, safe=_IN_QUERY)}" if url.query else ""
        )
        return target, list(headers.items())

    async def _read(self, connection: Connection, head: Head, reading: Reading, watch: Watch) -> None:
        if not 200 <= head.status <= 299:
            body = b"" if _packed(head) else await _body(connection, MAX_ERROR_BYTES, ERROR_BODY_S)
            raise self.site.refusal(head.status, head.headers, body, time.time())
        if packed := _packed(head):
            what = f"sent a packed answer (Content-Encoding: {packed[:40]}), which it was asked not to"
            raise self.site.failure("format", what)
        media_type = head.headers.get("content-type", "").partition(";")[0].strip().lower()
        match media_type:
            case "text/event-stream" | "text/plain" | "":
                await self._read_stream(connection, Feed(self.site, reading, watch))
            case "application/json":
                await self._read_whole(connection, reading)
            case _:
                raise self.site.stranger(media_type, await _body(connection, MAX_ERROR_BYTES, ERROR_BODY_S))

    async def _read_whole(self, connection: Connection, reading: Reading) -> None:
        body = await _body(connection, MAX_EVENT, math.inf)
        if len(body) > MAX_EVENT:
            raise self.site.failure("format", f"sent an answer of more than {MAX_EVENT >> 20} MiB in one piece")
        members = parsed(self.site, body)
        if members.get("error"):
            raise self.site.broken_off(members, whole=True)
        reading.take_whole(members)

    async def _read_stream(self, connection: Connection, feed: Feed) -> None:
        try:
            with feed.scope:
                while piece := await connection.receive():
                    feed.take(piece)
        except CUT:
            if not feed.complete:
                raise
        if not feed.complete:
            raise self.site.failure("network", "ended its answer without an end marker: the stream was cut")


_IN_QUERY = "/%:@!$&'()*+,;=~?[]"


@cache
def _trust_store() -> ssl.SSLContext:
    """Loaded once, and only for https: it costs up to 100 ms. The machine's own authorities count as well."""
    import httpx

    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _is_tls(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error is not None


def _packed(head: Head) -> str:
    """The encodings of a body that is not sent as it is; none of them is ever unpacked."""
    encoding = head.headers.get("content-encoding", "").strip().lower()
    return "" if encoding == "identity" else encoding


async def _body(connection: Connection, limit: int, patience_s: float) -> bytes:
    """A little more than `limit` bytes at most, and what has come in that time."""
    parts: list[bytes] = []
    size = 0
    with trio.move_on_after(patience_s):
        while size <= limit and (part := await connection.receive()):
            parts.append(part)
            size += len(part)
    return b"".join(parts)
