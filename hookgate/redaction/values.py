"""Known secrets as the strings in which they turn up: as they are, in URLs, in base64, in hex, in JSON strings."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

MIN_CHARS = 8
"""A shorter value turns up by accident, and replacing it would tell what it is."""


def known_forms(secrets: Iterable[str]) -> tuple[str, ...]:
    """Every spelling of the secrets that are long enough, the longest first: a part must not spoil the whole."""
    forms = {form for secret in secrets for form in _forms(secret.strip())}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def _forms(secret: str) -> set[str]:
    # A value that holds a replacement's own letters would be found in every replacement.
    if len(secret) < MIN_CHARS or "REDACTED" in secret:
        return set()
    quoted = (quote(secret, safe=""), quote(secret), quote_plus(secret))
    urls = {*quoted, *(_lower_escapes(form) for form in quoted)}
    in_json = {json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    data = secret.encode("utf-8", "replace")
    forms = {secret, *urls, *in_json, *_base64(data), data.hex(), data.hex().upper()}
    return {form for form in forms if len(form) >= MIN_CHARS}


def _lower_escapes(form: str) -> str:
    head, *parts = form.split("%")
    return "%".join([head, *(part[:2].lower() + part[2:] for part in parts)])


def _base64(data: bytes) -> set[str]:
    """Alone, and inside a longer text that is encoded as a whole (a user before it, say), at all three offsets."""
    found: set[str] = set()
    for encode in (b64encode, urlsafe_b64encode):
        alone = encode(data).decode()
        found |= {alone, alone.rstrip("=")}
        for before in range(3):
            padded = encode(bytes(before) + data).decode().rstrip("=")
            # The first and the last character may hold bits of the neighbours.
            whole = (before + len(data)) * 8 // 6
            found.add(padded[(before * 8 + 5) // 6 : whole])
    return found
