"""Signed checkpoints of the audit chain, in a file beside the journal: what they cover cannot be cut off unseen.

Each names the one before, so that none is dropped unseen either, and the chain that it is of. Older ones, which name
neither, come before all others and count as what they are. The key is a file of its own, for its owner alone and
hidden from tools. Blocks.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Literal

from hookgate.protocol.codec import canonical, decode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.store.files import FILE_MODE
from hookgate.store.journal.audit.chain import GENESIS, Link, hashed, links
from hookgate.store.journal.tables import Tables

LINE_BYTES = 1024
"""More than one checkpoint takes."""
FIRST = "0" * 64
"""What the first checkpoint names as the one before."""
DOMAIN = "hookgate audit checkpoint"
"""What is signed begins so: nothing else that is ever signed with the key is taken for a checkpoint."""
State = Literal["anchored", "unanchored", "broken", "truncated"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`anchored`: the last record that a checkpoint covers; 0: none does. `state` is "unanchored" where others come
    after that one. `why`: where and how it is broken."""

    state: State
    records: int
    anchored: int
    why: str = ""


def key_file(journal: Path) -> Path:
    return journal.with_name(f"{journal.name}.key")


def anchor_file(journal: Path) -> Path:
    return journal.with_name(f"{journal.name}.audit")


def anchor(journal: Path, tables: Tables) -> str:
    """Sign what has come since the last checkpoint, and that alone is read. Why it is not signed, where it is not
    whole or something is cut off; empty: it is."""
    last = _last(journal)
    signed, before = (int(str(last["n"])), bytes.fromhex(str(last["hash"]))) if last else (0, GENESIS)
    [here] = tables.one("SELECT hash FROM audit WHERE number = ?", signed) or (b"",)
    if signed and here != before:
        return f"record {signed} is not the one that was signed"
    number = signed
    for link in links(tables, signed):
        if why := _fault(link, number + 1, before, {}):
            return why
        number, before = link.number, link.hash
    if number > signed:
        line = {"n": number, "hash": before.hex(), "chain": _chain(tables), "prev": str(last.get("mac", FIRST))}
        _append(anchor_file(journal), _signed(_made_key(key_file(journal)), line))
    return ""


def _append(file: Path, line: Mapping[str, object]) -> None:
    with open(file, "a+b", opener=_private) as written:
        size = written.seek(0, os.SEEK_END)
        written.seek(max(size - 1, 0))
        # A crash may have left half a line.
        written.write((b"" if written.read() in (b"", b"\n") else b"\n") + canonical(line) + b"\n")
        written.flush()
        os.fsync(written.fileno())


def _chain(tables: Tables) -> str:
    """What no other journal has: the hash of its first record; empty: it has none."""
    [first] = tables.one("SELECT hash FROM audit WHERE number = 1") or (b"",)
    return first.hex() if isinstance(first, bytes) else str(first)


def _last(journal: Path) -> dict[str, object]:
    """The last checkpoint; empty: none, or not with this key."""
    try:
        key = key_file(journal).read_bytes()
        with open(anchor_file(journal), "rb") as file:
            file.seek(-min(2 * LINE_BYTES, file.seek(0, os.SEEK_END)), os.SEEK_END)
            lines = file.read().splitlines()
    except OSError:
        return {}
    for line in reversed(lines):
        with suppress(BadMessage):
            found: dict[str, object] = decode(line)
            return found if _is_signed(key, found) else {}
    return {}


def last_checkpoint(journal: Path) -> tuple[int, float]:
    """The record that it covers, and when it was written; zeros: there is none."""
    last = _last(journal)
    return (int(str(last["n"])), anchor_file(journal).stat().st_mtime) if last else (0, 0.0)


def verify(journal: Path, tables: Tables) -> Verdict:
    """The whole chain, and every checkpoint of it."""
    signed, why = _checkpoints(journal, _chain(tables))
    anchored, records, before = max(signed, default=0), 0, GENESIS
    for link in links(tables):
        why = why or _fault(link, records + 1, before, signed)
        if why:
            return Verdict("broken", records, anchored, why)
        records, before = link.number, link.hash
    if why:
        return Verdict("broken", records, anchored, why)
    if anchored > records:
        return Verdict(
            "truncated", records, anchored, f"a checkpoint covers {anchored} records, and {records} are here"
        )
    return Verdict("anchored" if anchored == records else "unanchored", records, anchored)


def checkpoints(journal: Path) -> tuple[dict[str, object], ...]:
    """As they were signed."""
    found = list[dict[str, object]]()
    with suppress(FileNotFoundError):
        for line in anchor_file(journal).read_bytes().splitlines():
            with suppress(BadMessage):
                found.append(decode(line))
    return tuple(found)


def _fault(link: Link, number: int, before: bytes, signed: dict[int, str]) -> str:
    if link.number != number:
        return f"record {number} is missing"
    if hashed(before, link.body) != link.hash:
        return f"record {number} is not what was written"
    if signed.get(number, link.hash.hex()) != link.hash.hex():
        return f"record {number} is another one than the checkpoint has signed"
    digests = decode(link.body)["digests"]
    for name, (salt, text) in link.texts.items():
        if digests.get(name) != hashlib.sha256(salt + text).hexdigest():
            return f"record {number}: its {name} is not what was written"
    return ""


def _checkpoints(journal: Path, chain: str) -> tuple[dict[int, str], str]:
    """Hash by number; and what is wrong with one of them. Without the key they prove nothing."""
    try:
        key = key_file(journal).read_bytes()
    except FileNotFoundError:
        return {}, ""
    signed: dict[int, str] = {}
    before, newer = FIRST, False
    for line in checkpoints(journal):
        if not _is_signed(key, line) or (newer and "prev" not in line):
            return signed, "a checkpoint is not signed with this key"
        newer = "prev" in line
        if newer and chain not in ("", line["chain"]):
            return signed, "a checkpoint is of another journal"
        if newer and line["prev"] != before:
            return signed, f"the checkpoint before that of record {line['n']} is missing"
        signed[int(str(line["n"]))], before = str(line["hash"]), str(line["mac"])
    return signed, ""


def _is_signed(key: bytes, line: dict[str, object]) -> bool:
    match line:
        case {"n": int(), "hash": str(), "chain": str(), "prev": str(), "mac": str()}:
            return line == _signed(key, line)
        case {"n": int(number), "hash": str(hash_), "mac": str(mac)}:
            return mac == _mac(key, f"{number}:{hash_}")
        case _:
            return False


def _signed(key: bytes, line: Mapping[str, object]) -> dict[str, object]:
    text = "\n".join([DOMAIN, *(str(line[name]) for name in ("chain", "n", "hash", "prev"))])
    return {**line, "mac": _mac(key, text)}


def _mac(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _made_key(file: Path) -> bytes:
    with suppress(FileExistsError), open(file, "xb", opener=_private) as made:
        made.write(token_hex(32).encode())
        made.flush()
        os.fsync(made.fileno())
    return file.read_bytes()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
