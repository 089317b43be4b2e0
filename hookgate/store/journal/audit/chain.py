"""The chain of what was asked, decided and run: each record holds the digest of the one before it.

A record is written in the transaction that it tells of. What a conversation may want forgotten stands beside it, the
record has a salted digest: forgetting takes the text away and leaves the chain whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from secrets import token_bytes
from time import monotonic_ns

from hookgate.protocol.codec import canonical
from hookgate.protocol.dataclasses import dataclass
from hookgate.store.journal.tables import Tables

GENESIS = bytes(32)
NEW_RECORD = "INSERT INTO audit (number, conversation, body, hash) VALUES (?, ?, ?, ?)"
NEW_TEXT = "INSERT INTO audit_texts (record, name, conversation, salt, text) VALUES (?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Link:
    """`hash` is SHA-256 over the hash before it and `body`, which is JSON. `texts`: salt and text of what the body
    has a digest of, as far as it is not forgotten."""

    number: int
    body: bytes
    hash: bytes
    texts: Mapping[str, tuple[bytes, bytes]]


def note(tables: Tables, conversation: int, said: Mapping[str, object], **texts: str) -> None:
    """`said` stays for good; `texts` can be forgotten. One chain for all: it is the last thing that a step writes."""
    tables.last(lambda: _write(tables, conversation, said, texts))


def _write(tables: Tables, conversation: int, said: Mapping[str, object], texts: Mapping[str, str]) -> None:
    row = tables.one("SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1")
    number, before = (row[0] + 1, row[1]) if row else (1, GENESIS)
    digests: dict[str, str] = {}
    for name, text in texts.items():
        salt, raw = token_bytes(16), text.encode("utf-8", "surrogatepass")
        digests[name] = hashlib.sha256(salt + raw).hexdigest()
        tables.run(NEW_TEXT, number, name, conversation, salt, raw)
    when = {"at": tables.clock(), "monotonic_ns": monotonic_ns()}
    body = canonical({"n": number, "prev": before.hex(), **when, **said, "digests": digests})
    tables.run(NEW_RECORD, number, conversation, body, hashed(before, body))


def hashed(before: bytes, body: bytes) -> bytes:
    return hashlib.sha256(before + body).digest()


def links(tables: Tables, after: int = 0) -> Iterator[Link]:
    for number, body, hash_ in tables.each(
        "SELECT number, body, hash FROM audit WHERE number > ? ORDER BY number", after
    ):
        rows = tables.all("SELECT name, salt, text FROM audit_texts WHERE record = ?", number)
        texts = {name: (_raw(salt), _raw(text)) for name, salt, text in rows}
        yield Link(number, _raw(body), _raw(hash_), texts)


def _raw(value: object) -> bytes:
    """Whoever changed it may have left something else there."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
