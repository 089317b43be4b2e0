"""What a file is, by its content alone; and whether it is as harmless to open as it looks: a picture that is small
enough, an archive that does not unpack to a flood, nothing that is two kinds of file at once. Unpacks nothing but to
count."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from typing import BinaryIO, cast
from zipfile import BadZipFile, ZipFile, is_zipfile

from hookgate.protocol.chat.media import IMAGES, MediaRefused
from hookgate.protocol.dataclasses import dataclass

TEXT, UNKNOWN = "text/plain", "application/octet-stream"
SHOWN = ("image/", "audio/", "video/")
FRAMES = 25
"""So many times the pixels of the largest picture all frames of a moving one may have together."""
ENTRIES = 20_000
"""Of an archive: each is an object in memory once its contents are listed."""
PARTS = 10_000
"""Of one packed file, which may be several one after the other: each costs, though nothing may come out of it."""
GIF_FRAMES, GIF_BLOCKS = 5_000, 200_000
"""A GIF of the largest size in blocks of the usual length has 80,000."""
XZ_MEMORY_BYTES = 72 << 20
"""What is packed with `xz -9` needs 65 MiB."""
_PDF_WITHIN = 1024
_PIECE, _XZ_PIECE = 1 << 20, 1 << 16


@dataclass(frozen=True, slots=True)
class Most:
    """`pixels` of a picture; `unpacked`: bytes that an archive unpacks to."""

    pixels: int = 40_000_000
    unpacked: int = 500_000_000


def sniffed(content: bytes) -> str:
    """A media type; anything that is no picture and has no known beginning is text, if it is UTF-8, or unknown."""
    import filetype

    guessed: object = filetype.guess(content)  # pyright: ignore[reportUnknownMemberType]
    if guessed is not None:
        type_ = str(getattr(guessed, "mime", UNKNOWN))
        return "image/png" if type_ == "image/apng" else type_
    try:
        return TEXT if "\0" not in content.decode("utf-8") else UNKNOWN
    except UnicodeDecodeError:
        return UNKNOWN


def check(content: bytes, type_: str, most: Most) -> None:
    """Raises MediaRefused."""
    if type_.startswith(SHOWN):
        _refuse_second_kind(content, type_)
    if type_.startswith("image/"):
        _check_picture(content, type_, most.pixels)
    if is_zipfile(io.BytesIO(content)):
        _check_zip(content, most.unpacked)
    elif type_ in PACKED:
        if content.count(PACKED[type_]) > PARTS:
            raise MediaRefused(f"the archive is put together from more than {PARTS} parts")
        _refuse_flood(_unpacked(content, type_, most.unpacked), most.unpacked)


def _refuse_second_kind(content: bytes, type_: str) -> None:
    """What is shown as the one, and opened as the other."""
    other = ""
    if is_zipfile(io.BytesIO(content)):
        other = "an archive"
    elif b"%PDF-" in content[:_PDF_WITHIN]:
        other = "a PDF"
    elif any(mark in content[:_PDF_WITHIN].lower() for mark in (b"<script", b"<html", b"<?php")):
        other = "a page with code"
    if other:
        raise MediaRefused(f"the file is {other} besides what it looks like ({type_})")


def _check_picture(content: bytes, type_: str, most_pixels: int) -> None:
    """Its head says how much it unpacks to: nothing is unpacked here."""
    if type_ not in IMAGES:
        raise MediaRefused(f"pictures have to be PNG, JPEG, GIF or WebP, not {type_}")
    if type_ == "image/gif":
        _check_gif(content)
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content)) as picture:
                width, height = picture.size
                frames = int(getattr(picture, "n_frames", 1)) if width * height <= most_pixels else 1
    except Image.DecompressionBombError:
        raise MediaRefused("the picture unpacks to too many pixels") from None
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError):
        raise MediaRefused("the picture is damaged") from None
    if width * height > most_pixels:
        raise MediaRefused(f"the picture has {width} x {height} pixels; at most {most_pixels} in all are taken")
    if width * height * frames > FRAMES * most_pixels:
        raise MediaRefused(f"the picture has {frames} frames of {width} x {height} pixels, which is too much")


def _check_gif(content: bytes) -> None:
    """Frames and blocks of data are walked one by one, by whoever shows it as well."""
    # Behind the head and its table of colours.
    at, frames, blocks = 13 + _colours(content[10:11]), 0, 0
    while (kind := content[at : at + 1]) not in (b"", b";"):
        blocks += 1
        if kind == b",":
            frames += 1
            at += 11 + _colours(content[at + 9 : at + 10])
        else:
            at += 2 if kind == b"!" else 1
        while kind in (b",", b"!") and at < len(content) and content[at] and blocks <= GIF_BLOCKS:
            blocks += 1
            at += content[at] + 1
        at += kind in (b",", b"!")
        if frames > GIF_FRAMES or blocks > GIF_BLOCKS:
            raise MediaRefused(f"the picture has more than {GIF_FRAMES} frames or {GIF_BLOCKS} blocks of data")


def _colours(flags: bytes) -> int:
    """How many bytes the table of colours takes that these flags tell of."""
    return 3 << (flags[0] & 7) + 1 if flags and flags[0] & 0x80 else 0


def _check_zip(content: bytes, most: int) -> None:
    """By what it says of itself: whoever unpacks it is not told more than that, or stops."""
    # What the end says of their number may be a lie; each entry begins with these bytes.
    if content.count(b"PK\x01\x02") > ENTRIES:
        raise MediaRefused(f"the archive has more than {ENTRIES} entries")
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            _refuse_flood(sum(it.file_size for it in archive.infolist()), most)
    except (BadZipFile, ValueError, NotImplementedError, EOFError):
        raise MediaRefused("the archive is damaged") from None


def _refuse_flood(unpacked: int, most: int) -> None:
    if unpacked > most:
        raise MediaRefused(f"the archive unpacks to more than {most // 1_000_000} MB")


PACKED = {"application/gzip": b"\x1f\x8b\x08", "application/x-bzip2": b"BZh", "application/x-xz": b"\xfd7zXZ\0"}
"""Kinds of packed files, and what each of their parts begins with."""


def _unpacked(content: bytes, type_: str, most: int) -> int:
    """How many bytes come out of it, as far as that is allowed; what is damaged ends there. Raises MediaRefused."""
    pieces = _of_xz(content) if type_ == "application/x-xz" else _of_file(content, type_)
    size = 0
    try:
        for piece in pieces:
            size += piece
            if size > most:
                break
    except MediaRefused:
        raise
    except Exception:
        # The library of each kind has errors of its own.
        return size
    return size


def _of_file(content: bytes, type_: str) -> Iterator[int]:
    import bz2
    import gzip

    packed = io.BytesIO(content)
    opened = gzip.GzipFile(fileobj=packed) if type_ == "application/gzip" else bz2.BZ2File(packed)
    with cast("BinaryIO", opened) as file:
        while piece := file.read(_PIECE):
            yield len(piece)


def _of_xz(content: bytes) -> Iterator[int]:
    """With bounded memory, which the library's file has no word for. Raises MediaRefused."""
    import lzma

    packed, rest = io.BytesIO(content), b""
    while rest := (rest.lstrip(b"\0") or packed.read(_XZ_PIECE)):
        part = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY_BYTES)
        while not part.eof:
            if part.needs_input and not (rest := rest or packed.read(_XZ_PIECE)):
                return
            try:
                yield len(part.decompress(rest, _PIECE))
            except lzma.LZMAError as error:
                # The library tells what it refused and what is damaged apart by words alone.
                if "emory" in str(error):
                    raise MediaRefused(
                        f"to unpack it takes more than {XZ_MEMORY_BYTES >> 20} MiB of memory"
                    ) from None
                raise
            rest = b""
        rest = part.unused_data
