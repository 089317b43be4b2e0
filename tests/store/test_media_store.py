"""Which files the store takes: by what they would cost whoever opens them, and by being one kind of file alone."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from PIL import Image

from hookgate.protocol.chat.media import MediaReference, MediaRefused, file_name, inline, media_reference
from hookgate.store.media import FileMedia, MediaLimits
from hookgate.store.media.sniffing import Most

LIMITS = MediaLimits(most=Most(pixels=10_000, unpacked=1_000_000))


def picture(format_: str, side: int = 4, frames: int = 1) -> bytes:
    file = io.BytesIO()
    images = [Image.new("L", (side, side), number % 256) for number in range(frames)]
    images[0].save(file, format_, save_all=frames > 1, append_images=images[1:])
    return file.getvalue()


def archive(content: bytes = b"hello") -> bytes:
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as made:
        made.writestr("a.txt", content)
    return file.getvalue()


BOMB = bytes(2_000_000)
SPOT = b"\x2c" + struct.pack("<4HB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\x00"


def gif(*blocks: bytes) -> bytes:
    return b"GIF89a" + struct.pack("<2H3B", 1, 1, 0x80, 0, 0) + bytes(6) + b"".join(blocks) + b";"


def entries(count: int, said: int) -> bytes:
    """An archive of empty files, and how many there are as its end says."""
    entry = struct.pack("<4s4B4H3I5H2I", b"PK\1\2", 20, 3, 20, *bytes(8), 1, *bytes(6)) + b"a"
    ending = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, said, said, len(entry) * count, 0, 0)
    return entry * count + ending


def needy() -> bytes:
    """A small file which takes much memory to unpack."""
    packer = lzma.LZMACompressor(filters=[{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 128 << 20}])
    return packer.compress(b"hello") + packer.flush()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (archive(BOMB), "unpacks to more than 1 MB"),
        (gzip.compress(BOMB), "unpacks to more than 1 MB"),
        (gzip.compress(BOMB[:600_000]) * 2, "unpacks to more than 1 MB"),
        (bz2.compress(BOMB), "unpacks to more than 1 MB"),
        (lzma.compress(BOMB), "unpacks to more than 1 MB"),
        (lzma.compress(BOMB[:600_000]) * 2, "unpacks to more than 1 MB"),
        (needy(), "MiB of memory"),
        *((pack(b"") * 10_001, "more than 10000 parts") for pack in (gzip.compress, bz2.compress, lzma.compress)),
        (entries(20_001, 20_001), "more than 20000 entries"),
        (entries(20_001, 1), "more than 20000 entries"),
        (gif(SPOT * 5_001), "more than 5000 frames"),
        (gif(b"!\xfe" + b"\1a" * 200_001 + b"\0", SPOT), "200000 blocks"),
        (picture("GIF", 100, 30), "30 frames"),
        (picture("PNG", 101), "101 x 101 pixels"),
        (picture("GIF") + archive(), "an archive besides"),
        (picture("JPEG") + archive(), "an archive besides"),
        (picture("PNG")[:60] + b"%PDF-1.7", "a PDF besides"),
        (b"GIF89a/*<script>*/=1;", "a page with code besides"),
        (b"ID3<?php system($_GET[0]) ?>" + bytes(100), "a page with code besides"),
    ],
)
async def test_what_floods_or_is_two_things_at_once_is_refused(content: bytes, why: str, tmp_path: Path) -> None:
    with pytest.raises(MediaRefused, match=why):
        await FileMedia(tmp_path, LIMITS).keep(content)
    assert not (tmp_path / "users").exists()


def hardest(content: bytes) -> bytes:
    return lzma.compress(content, preset=9 | lzma.PRESET_EXTREME) + bytes(8)


@pytest.mark.parametrize("pack", [archive, gzip.compress, bz2.compress, lzma.compress, hardest])
async def test_what_unpacks_to_little_is_a_file_as_any(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    store = FileMedia(tmp_path, LIMITS)
    packed = pack(b"a" * 900_000)
    kept = await store.keep(packed)
    assert (await store.size(kept.digest), await store.size("0" * 64)) == (len(packed), None)


async def test_pictures_that_move_are_taken(tmp_path: Path) -> None:
    comment = b"!\xfe" + b"\1a" * 1_000 + b"\0"
    for content in (picture("GIF", 10, 50), gif(comment, SPOT * 5_000), picture("GIF", 10, 2)[:-1]):
        assert (await FileMedia(tmp_path, LIMITS).keep(content)).type == "image/gif"


async def test_all_its_folders_are_for_their_owner_alone(tmp_path: Path) -> None:
    store = tmp_path / "state" / "journal.media"
    await FileMedia(store).keep(b"hello", "ann")
    folders = [store.parent, *(it for it in store.parent.rglob("*") if it.is_dir())]
    assert len(folders) == 5
    assert {it.stat().st_mode & 0o777 for it in folders} == {0o700}


def test_a_name_goes_with_a_file_and_leads_nowhere() -> None:
    named = MediaReference("application/pdf", "0" * 64, "Bericht: März (2).pdf")
    assert media_reference(str(named)) == named
    assert media_reference(f"media:text/plain:{'0' * 64}:..%2F..%2Fetc%2Fpasswd") == MediaReference(
        "text/plain", "0" * 64, "passwd"
    )
    assert file_name("..\\a\u202eb\n.exe") == "ab.exe"
    held = inline("data:text/plain;name=a%20b.txt;base64,aGk=")
    assert held is not None
    assert (held.type, held.content, held.name) == ("text/plain", b"hi", "a b.txt")
    assert inline("data:text/plain,hi") is inline("data:text/plain;base64,%%%") is None
