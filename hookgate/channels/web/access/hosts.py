"""Where a request may come from: a name that leads elsewhere, or a page of somebody else's, gets no answer."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_ours(host: str, origin: str) -> bool:
    """Whether `host` (of the request's head) is one that the page is reached by. An address leads nowhere else; a
    name may, so only `origin`'s and that of this machine are good."""
    name, port = _split(f"//{host}")
    if name == "localhost" or _is_address(name):
        return True
    return bool(origin) and (name, port or None) == _split(origin)


def is_same_site(claimed: str, host: str, origin: str) -> bool:
    """Whether a request that changes something comes from our own page; `claimed` is its Origin, empty where a client
    that is no browser sends none."""
    if not claimed or (origin and claimed == origin.rstrip("/")):
        return True
    return urlsplit(claimed).scheme in ("http", "https") and claimed.partition("//")[2] == host


def _split(url: str) -> tuple[str, int | None]:
    try:
        parts = urlsplit(url)
        return (parts.hostname or "").lower(), parts.port
    except ValueError:
        return "", None


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
