"""What a file is, by its content alone; and whether it is as harmless to open as it looks: a picture that is small
enough, an archive that does not unpack to a flood, nothing that is two kinds of file at once. Unpacks nothing but to
count."""

from __future__ import annotations

import io
import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO, cast
from zipfile import BadZipFile, ZipFile, is_zipfile

from hookgate.protocol.media import IMAGES, MediaRefused

TEXT, UNKNOWN = "text/plain", "application/octet-stream"
SHOWN = ("image/", "audio/", "video/")
FRAMES = 25
"""So many times the pixels of the largest picture all frames of a moving one may have together."""
_PDF_WITHIN = 1024
_PIECE = 1 << 20


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
    elif (opened := UNPACKERS.get(type_)) is not None:
        _refuse_flood(_unpacked(opened(io.BytesIO(content)), most.unpacked), most.unpacked)


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


def _check_zip(content: bytes, most: int) -> None:
    """By what it says of itself: whoever unpacks it is not told more than that, or stops."""
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            _refuse_flood(sum(it.file_size for it in archive.infolist()), most)
    except (BadZipFile, ValueError, NotImplementedError, EOFError):
        raise MediaRefused("the archive is damaged") from None


def _refuse_flood(unpacked: int, most: int) -> None:
    if unpacked > most:
        raise MediaRefused(f"the archive unpacks to more than {most // 1_000_000} MB")


def _gzip(file: io.BytesIO) -> BinaryIO:
    import gzip

    return cast("BinaryIO", gzip.GzipFile(fileobj=file))


def _bzip2(file: io.BytesIO) -> BinaryIO:
    import bz2

    return cast("BinaryIO", bz2.BZ2File(file))


def _xz(file: io.BytesIO) -> BinaryIO:
    import lzma

    return cast("BinaryIO", lzma.LZMAFile(file))


UNPACKERS = {"application/gzip": _gzip, "application/x-bzip2": _bzip2, "application/x-xz": _xz}


def _unpacked(file: BinaryIO, most: int) -> int:
    """How many bytes come out of it, as far as that is allowed; what is damaged ends there."""
    size = 0
    # The library of each kind has errors of its own.
    with suppress(Exception), file:
        while size <= most and (piece := file.read(_PIECE)):
            size += len(piece)
    return size
