"""One message as its channel takes it: in parts, each once, the first in the place of its preview."""

from __future__ import annotations

import structlog

from hookgate.loop.delivery.splitting import split
from hookgate.protocol.chat import Outbound
from hookgate.protocol.chat.channel import ChannelLimits, Undelivered
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.interfaces import Channel, EditingChannel, PreviewingChannel
from hookgate.protocol.journal.values import Row

log = structlog.get_logger("hookgate.loop")


def editing(channel: Channel | None) -> EditingChannel | None:
    """As one whose messages can be changed, if they can."""
    # Asked for each piece of a reply: what it says of itself is looked at first, for a protocol is dear to look for.
    if channel is None or channel.limits.edit_s is None:
        return None
    return channel if isinstance(channel, EditingChannel) else None


def is_ended_by_edit(channel: Channel) -> bool:
    """Its previews are, the last of them too."""
    return isinstance(channel, PreviewingChannel)


async def show(channel: EditingChannel, outbound: Outbound, key: str, preview: str) -> str:
    """What is being written. The receipt."""
    if isinstance(channel, PreviewingChannel):
        return await channel.preview(outbound, key, preview)
    return await put(channel, outbound, key, preview)


async def put(channel: Channel, outbound: Outbound, key: str, preview: str = "") -> str:
    """In the place of its preview, if that is still there; what takes the place of a card is nowhere else. The
    receipt."""
    editor = editing(channel) if preview else None
    if editor is None:
        return await channel.send(outbound, key)
    try:
        await editor.edit(outbound, preview)
    except Undelivered as error:
        if not error.final:
            raise
        log.info("message_gone", session=outbound.chat.session_key, why=error.why)
        if outbound.request:
            return preview
        # By its own key the channel knows the message that is gone.
        return await channel.send(outbound, f"{key}.again")
    return preview


def parts(row: Row, limits: ChannelLimits) -> list[tuple[Outbound, str]]:
    """Each with its key. What is attached comes with the last, and never by an edit; the first is the reply."""
    if row.outbound.request:
        return [(row.outbound, row.id)]
    texts = split(row.outbound.text, limits)
    if row.preview and row.outbound.media and len(texts) == 1:
        texts = (*texts, "")
    if len(texts) == 1:
        return [(row.outbound, row.id)]
    plain, rest = replace(row.outbound, media=()), replace(row.outbound, media=(), in_reply_to="")
    cut = [(replace(rest if n > 1 else plain, text=text), f"{row.id}.{n}") for n, text in enumerate(texts, 1)]
    last, key = cut[-1]
    return [*cut[:-1], (replace(last, media=row.outbound.media), key)]
