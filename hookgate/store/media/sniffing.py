"""What a file is, by its content alone; and whether a picture is small enough to be unpacked by whoever shows it."""

from __future__ import annotations

import io
import warnings

from hookgate.protocol.media import IMAGES, MediaRefused

TEXT, UNKNOWN = "text/plain", "application/octet-stream"


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


def check_picture(content: bytes, type_: str, most_pixels: int) -> None:
    """Its head says how much it unpacks to: nothing is unpacked here. Raises MediaRefused."""
    if not type_.startswith("image/"):
        return
    if type_ not in IMAGES:
        raise MediaRefused(f"pictures have to be PNG, JPEG, GIF or WebP, not {type_}")
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content)) as picture:
                width, height = picture.size
    except Image.DecompressionBombError:
        raise MediaRefused("the picture unpacks to too many pixels") from None
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError):
        raise MediaRefused("the picture is damaged") from None
    if width * height > most_pixels:
        raise MediaRefused(f"the picture has {width} x {height} pixels; at most {most_pixels} in all are taken")
