"""Which files the store takes: by what they would cost whoever opens them, and by being one kind of file alone."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from PIL import Image

from hookgate.protocol.media import MediaReference, MediaRefused, file_name, inline, media_reference
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


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (archive(BOMB), "unpacks to more than 1 MB"),
        (gzip.compress(BOMB), "unpacks to more than 1 MB"),
        (gzip.compress(BOMB[:600_000]) * 2, "unpacks to more than 1 MB"),
        (bz2.compress(BOMB), "unpacks to more than 1 MB"),
        (lzma.compress(BOMB), "unpacks to more than 1 MB"),
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


@pytest.mark.parametrize("pack", [archive, gzip.compress, bz2.compress, lzma.compress])
async def test_what_unpacks_to_little_is_a_file_as_any(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    store = FileMedia(tmp_path, LIMITS)
    packed = pack(b"a" * 900_000)
    kept = await store.keep(packed)
    assert (await store.size(kept.digest), await store.size("0" * 64)) == (len(packed), None)


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
