"""Signatures after Standard Webhooks: whoever knows a secret has sent this body, under this id, about now. Pure:
knows no HTTP, no clock and nothing of what a body means."""

from __future__ import annotations

import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256

from hookgate.protocol.dataclasses import dataclass

PREFIX = "whsec_"
LEAST_BYTES = 24
"""Of a secret."""
WINDOW_S = 300
"""What was signed longer ago, or so far ahead, was recorded by somebody."""
ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
MOST_SIGNATURES = 10
VERSION = "v1"
# Without a full stop, which stands between the parts of what is signed: an id with one could give some of itself to
# the next part.
_ID = re.compile(r"[!-\-/-~]{1,256}")
_SECONDS = re.compile(r"[0-9]{1,11}")


class BadSecret(Exception):
    """It is none; the text says what one looks like, and nothing of this one."""


class NotSigned(Exception):
    """Nobody can tell who has sent it; the text is for whoever did."""


class BadId(Exception):
    """Signed or not: the id is none."""


@dataclass(frozen=True, slots=True)
class Head:
    """What the headers say; nothing of it is believed before `is_signed`."""

    id: str
    timestamp: int
    signatures: tuple[str, ...]


def read_secret(text: str) -> bytes:
    """The key of `whsec_...`. Raises BadSecret."""
    encoded = text.removeprefix(PREFIX).rstrip("=")
    try:
        key = b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError:
        key = b""
    if not text.startswith(PREFIX) or len(key) < LEAST_BYTES:
        raise BadSecret(f"a secret is {PREFIX} and base64 of at least {LEAST_BYTES} bytes")
    return key


def signed(secrets: Sequence[bytes], id_: str, at: int, body: bytes) -> dict[str, str]:
    """The headers; a signature for each secret, so that a receiver may know any of them. `at`: Unix seconds."""
    signatures = " ".join(_signature(it, id_, at, body) for it in secrets)
    return {ID: id_, TIMESTAMP: str(at), SIGNATURE: signatures}


def read_head(headers: Mapping[str, str], now: float) -> Head:
    """`headers`: by names in small letters. Raises NotSigned and BadId."""
    id_, at, signatures = (headers.get(name, "") for name in (ID, TIMESTAMP, SIGNATURE))
    if not (id_ and at and signatures):
        raise NotSigned(f"{ID}, {TIMESTAMP} and {SIGNATURE} have to be there")
    if not _ID.fullmatch(id_):
        raise BadId(f"{ID} has to be at most 256 visible characters of ASCII without a full stop")
    if not _SECONDS.fullmatch(at):
        raise NotSigned(f"{TIMESTAMP} has to be seconds since 1970")
    if abs(now - int(at)) > WINDOW_S:
        raise NotSigned(f"{TIMESTAMP} is more than {WINDOW_S} s off: the clocks differ, or it comes too late")
    return Head(id_, int(at), tuple(signatures.split(" ", MOST_SIGNATURES)[:MOST_SIGNATURES]))


def is_signed(secrets: Sequence[bytes], head: Head, body: bytes) -> bool:
    """By one of these; how long that takes says nothing of how near somebody came."""
    own = [_signature(it, head.id, head.timestamp, body).encode() for it in secrets]
    given = [it.encode("utf-8", "replace") for it in head.signatures]
    return any([hmac.compare_digest(one, other) for one in own for other in given])


def _signature(secret: bytes, id_: str, at: int, body: bytes) -> str:
    digest = hmac.digest(secret, b"%b.%d.%b" % (id_.encode(), at, body), sha256)
    return f"{VERSION},{b64encode(digest).decode()}"
