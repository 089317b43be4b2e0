"""What a person has written in the editor, with all that they have put beside it, as one message."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from hookgate.protocol.acp.requests import (
    BadParams,
    Content,
    EmbeddedContent,
    ImageContent,
    LinkContent,
    Resource,
    TextContent,
)
from hookgate.protocol.chat.media import inline

PICTURE = "image/"


def read_prompt(content: Sequence[Content]) -> tuple[str, tuple[str, ...]]:
    """Its text, and the addresses of its pictures. Raises BadParams for a picture that is none, and for
    nothing at all."""
    said, beside, media = list[str](), list[str](), list[str]()
    for number, it in enumerate(content):
        match it:
            case TextContent(text=text):
                said.append(text)
            case LinkContent(uri=uri, name=name):
                said.append(f"[{name}]({_place(uri)})")
            case ImageContent(data=data, mime_type=mime_type):
                media.append(_picture(data, mime_type, f"prompt.{number}"))
            case EmbeddedContent(resource=Resource(blob=str(blob), mime_type=str(mime_type))) if mime_type.startswith(
                PICTURE
            ):
                media.append(_picture(blob, mime_type, f"prompt.{number}.resource"))
            case EmbeddedContent(resource=resource):
                said.append(f"[{_name(resource.uri)}]({_place(resource.uri)})")
                beside.append(_embedded(resource))
    text = "\n\n".join(filter(None, ("".join(said), *beside)))
    if not text.strip() and not media:
        raise BadParams("prompt: there is nothing in it")
    return text, tuple(media)


def _picture(data: str, mime_type: str, place: str) -> str:
    url = f"data:{mime_type};base64,{data}"
    held = inline(url)
    if not mime_type.startswith(PICTURE) or held is None or not held.content:
        raise BadParams(f"{place}: a picture in base64 with a mimeType image/...")
    return url


def _embedded(resource: Resource) -> str:
    """Whole, fenced so that nothing in it ends it."""
    if resource.text is None:
        return f"({_place(resource.uri)} is attached, and no text that can be shown here.)"
    fence = fence_for(resource.text)
    return f"{_place(resource.uri)}:\n{fence}\n{resource.text}\n{fence}"


def fence_for(text: str) -> str:
    """Of a block of code that holds this text."""
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return "`" * max(3, longest + 1)


def _place(uri: str) -> str:
    """The path of a file, with its lines if they are named: what tools take."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return uri
    return unquote(parts.path) + (f"#{parts.fragment}" if parts.fragment else "")


def _name(uri: str) -> str:
    return _place(uri).rstrip("/").rpartition("/")[2] or uri
