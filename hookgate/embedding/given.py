"""What a program gives with a call, looked at before it joins a conversation: there it would stay for good."""

from __future__ import annotations

from hookgate.protocol.chat.media import inline


def as_text(name: str, given: object) -> str:
    """Raises TypeError."""
    if isinstance(given, str):
        return given
    raise TypeError(f"{name} must be a str, not {type(given).__name__}")


def image_url(given: str) -> str:
    """Raises ValueError."""
    url = as_text("an image", given)
    if url.startswith(("http://", "https://")) or inline(url) is not None:
        return url
    raise ValueError(f"an image must be an http URL or a data: URL in base64, not {url[:60]!r}")
