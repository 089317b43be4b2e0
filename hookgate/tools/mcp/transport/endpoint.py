"""Which addresses an MCP server's URL leads to, and whether hookgate may connect there and send a token."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from urllib.parse import SplitResult, urlsplit

from hookgate.network.addresses import NotPublic, is_local_name, is_public, reachable
from hookgate.protocol.dataclasses import dataclass
from hookgate.tools.mcp.server import ConnectFailed


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A checked host: every request to it goes to one of these addresses, whatever the name means later."""

    host: str
    addresses: tuple[str, ...]


async def checked(url: str, token: str | None, allow_private: bool) -> Endpoint:
    """Raises ConnectFailed: no http(s) URL, an address that is not public, a token that others could read."""
    parts = _parts(url)
    host = str(parts.hostname)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        addresses = await reachable(host, port, allow_private=allow_private)
    except NotPublic:
        # The address itself is not told: what a name means inside is nobody's business.
        raise ConnectFailed(_not_public(host), lasting=True) from None
    except (OSError, UnicodeError) as error:
        raise ConnectFailed(f"{host}: {error}") from None
    if token is not None and parts.scheme != "https" and not all(map(_is_loopback, addresses)):
        raise ConnectFailed("a token is sent over https only", lasting=True)
    return Endpoint(host, addresses)


def url_problem(url: str) -> str | None:
    """What is wrong with the form of a URL, for a refusal that comes before anything is resolved."""
    try:
        _parts(url)
    except ConnectFailed as error:
        return str(error)
    return None


def never(url: str, *, allow_private: bool) -> str:
    """Why no connection is made there whatever a resolver says; empty where one may be."""
    if problem := url_problem(url):
        return problem
    host = str(_parts(url).hostname)
    return "" if allow_private or not (is_local_name(host) or _is_private(host)) else _not_public(host)


def _is_private(host: str) -> bool:
    try:
        return not is_public(host)
    except ValueError:
        return False


def _not_public(host: str) -> str:
    return f"{host} is not on the public internet (rule public_addresses); an operator may allow it: allow_private"


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ConnectFailed(f"{url[:200]!r} is not a URL", lasting=True) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ConnectFailed("the URL must read http://HOST... or https://HOST...", lasting=True)
    if "@" in parts.netloc:
        raise ConnectFailed("the URL must not carry a user name or password", lasting=True)
    return parts


def _is_loopback(address: str) -> bool:
    ip = ip_address(address.partition("%")[0])
    mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
    return (mapped or ip).is_loopback
