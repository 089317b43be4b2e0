"""A model endpoint: its base URL, its headers, and the connections that its first call makes.

Knows no HTTP library: importing one is the dearest part of a start, and a chat waits for a person first.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from hookgate.protocol.dataclasses import dataclass
from hookgate.providers.endpoint.faults import Site, secrets_in
from hookgate.providers.endpoint.patience import Deadlines

if TYPE_CHECKING:
    from hookgate.providers.endpoint.http import Connections
    from hookgate.providers.endpoint.sse import Reading

USUAL = Deadlines()


@dataclass(frozen=True)
class Terms:
    """What every call of an endpoint has in common. `tls`: whether connections are encrypted."""

    headers: Mapping[str, str]
    deadlines: Deadlines
    tls: bool


class Endpoint:
    """One URL with its connections."""

    def __init__(self, terms: Terms, site: Site) -> None:
        self.site = site
        self._terms = terms
        self._connections: Connections | None = None

    async def post(self, body: bytes, reading: Reading) -> None:
        """Send JSON and feed the answer to `reading`. Raises ProviderFailed; cancelling drops the connection."""
        await self._connected().post(body, reading)

    async def aclose(self) -> None:
        if self._connections is not None:
            await self._connections.aclose()

    def _connected(self) -> Connections:
        if self._connections is None:
            from hookgate.providers.endpoint.http import Connections

            self._connections = Connections(self._terms, self.site)
        return self._connections


@asynccontextmanager
async def open_endpoint(
    base_url: str, path: str, headers: Mapping[str, str], deadlines: Deadlines
) -> AsyncGenerator[Endpoint, None]:
    """Of `{base_url}{path}`. Nothing is connected yet; leaving closes what is then. Raises ValueError for a URL or
    header that cannot be."""
    base = _base(base_url)
    url = base._replace(path=base.path.rstrip("/") + path).geturl()
    site = Site(_host(base), secrets_in([*headers.values(), base.password or ""]), url, path)
    for word in (*headers, *headers.values()):
        word.encode("ascii")
    async with aclosing(Endpoint(Terms(headers, deadlines, base.scheme == "https"), site)) as endpoint:
        yield endpoint


def _base(base_url: str) -> SplitResult:
    base = urlsplit(base_url.strip())
    if base.scheme not in ("http", "https") or not base.hostname:
        # The URL itself is not repeated: it may hold a password.
        raise ValueError("a model's base URL must read http://HOST... or https://HOST...")
    return base


def _host(base: SplitResult) -> str:
    """As people write it; reading the port also checks it."""
    return f"{base.hostname}:{base.port}" if base.port else str(base.hostname)
