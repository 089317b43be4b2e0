"""Files of messages as they pass the loop: in the store, and such as their channel can bring. Knows no model."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from hookgate.loop.calls.execution_policy import Around
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import ChannelLimits
from hookgate.protocol.chat.media import MediaRefused, MediaStore, inline, media_reference
from hookgate.protocol.dataclasses import dataclass, replace

log = structlog.get_logger("hookgate.loop")


async def fetch(urls: Sequence[str], around: Around) -> None:
    """What hooks read on this machine's disk is there, though it came in at another one. Where it cannot be had,
    whoever reads it says so."""
    for url in urls:
        reference = media_reference(url)
        if reference is not None and around.media is not None:
            try:
                await around.media.size(reference.digest)
            except StoreFailed as error:
                log.warning("file_not_here", digest=reference.digest[:12], reason=str(error))


async def kept(urls: Sequence[str], around: Around, chat: Chat) -> tuple[str, ...]:
    """What a tool or a hook has brought in `data:` URLs, as whoever asks in the chat had sent it: in the store, and
    referred to. What the store does not take stays as it is."""
    if around.media is None or not around.keeps_files:
        return tuple(urls)
    return tuple([(await _kept(url, around.media, chat.user))[0] for url in urls])


@dataclass(frozen=True, slots=True)
class Sendable:
    """`refused`: a line for each file that cannot be sent, and is none of the message's any more."""

    outbound: Outbound
    refused: tuple[str, ...] = ()

    @property
    def told(self) -> Outbound:
        """With these lines."""
        return replace(self.outbound, text="\n".join(filter(None, (self.outbound.text, *self.refused))))


async def sendable(outbound: Outbound, around: Around, limits: ChannelLimits) -> Sendable:
    """With its files in the store, each there, and no larger than the channel takes."""
    if not outbound.media or around.media is None or not around.keeps_files:
        return Sendable(outbound)
    media, refused = list[str](), list[str]()
    for url in outbound.media:
        reference, why = await _kept(url, around.media, outbound.chat.user)
        why = why or await _missing(reference, around.media, limits.media_out)
        why = why or await _shared(reference, around.media, outbound.chat.user)
        if why:
            refused.append(f"[{_named(reference)}: not sent, {why}]")
        else:
            media.append(reference)
    return Sendable(replace(outbound, media=tuple(media)), tuple(refused))


async def _kept(url: str, store: MediaStore, by: str) -> tuple[str, str]:
    """The reference, or the URL as it is and why it stays that, where it should not."""
    file = inline(url)
    if file is None:
        return url, "it is damaged" if url.startswith("data:") else ""
    try:
        return str(replace(await store.keep(file.content, by), name=file.name)), ""
    except (MediaRefused, StoreFailed) as error:
        log.warning("file_not_kept", by=by, reason=str(error))
        return url, str(error)


async def _missing(url: str, store: MediaStore, most: int) -> str:
    """Why it cannot be sent; empty: it can."""
    reference = media_reference(url)
    if reference is None:
        return "" if url.startswith(("https://", "http://")) else "it is no address of a file"
    try:
        size = await store.size(reference.digest)
    except StoreFailed as error:
        return str(error)
    if size is None:
        return "it is not there any more"
    return f"it has {size} bytes, and at most {most} are taken here" if most and size > most else ""


async def _shared(url: str, store: MediaStore, user: str) -> str:
    """A file that a hook has from elsewhere is theirs as well from now on. Why not; empty: it is."""
    reference = media_reference(url)
    try:
        if reference is None or await store.is_of(reference.digest, user):
            return ""
        found = await store.read(reference.digest)
        if found is not None:
            await store.keep(found[1], user)
    except (MediaRefused, StoreFailed) as error:
        return str(error)
    return ""


def _named(url: str) -> str:
    reference = media_reference(url)
    file = reference or inline(url)
    return "a file" if file is None else file.name or file.type
