"""What somebody says on a platform, as its channel has read it, and words of theirs among ours. Pure: knows no
connection, no clock and no rule about who is heard."""

from __future__ import annotations

import re
import unicodedata

from pydantic import ValidationError

from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.dataclasses import dataclass

MAX_NAME = 100
MAX_QUOTED = 1000
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Attachment:
    """`name`: what its sender calls it; `size` in bytes, 0: nobody said."""

    file_id: str
    kind: str
    name: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class PlatformMessage:
    """`album`: what belongs together has the same; empty: it stands alone. `mentioned`, `reply_to_bot`: as in
    Inbound."""

    chat: Chat
    text: str
    message_id: str
    attachments: tuple[Attachment, ...] = ()
    album: str = ""
    mentioned: bool = False
    reply_to_bot: bool = False

    @property
    def is_meant(self) -> bool:
        return self.mentioned or self.reply_to_bot or self.chat.chat_type == "direct"

    @property
    def stops(self) -> bool:
        """It means what runs, not what was said before it."""
        return self.text == "/stop" and not self.attachments

    @property
    def inbound(self) -> Inbound:
        """Without its files."""
        meant = (self.mentioned, self.reply_to_bot)
        return Inbound(self.chat, self.text, (), self.message_id, 0, *meant, self.album)


@dataclass(frozen=True, slots=True)
class Skipped:
    """`odd`: nobody expected that."""

    why: str
    odd: bool = False


def named(name: str) -> str:
    """Somebody's own word among ours: one line, nothing that cannot be seen, no bracket that could end ours."""
    spaced = name.replace("\n", " ").replace("\t", " ")
    shown = "".join(char for char in spaced if not unicodedata.category(char).startswith("C"))
    cleaned = " ".join(shown.translate({ord("["): "(", ord("]"): ")"}).split())
    return cleaned if len(cleaned) <= MAX_NAME else f"{cleaned[:MAX_NAME]}..."


def clean(text: str) -> str:
    """As it was written, but for control characters: joiners and marks of direction belong to scripts and emoji."""
    return _CONTROLS.sub("", text).strip()


def quoted(text: str, head: str) -> str:
    """What somebody else has said, below a line that says so."""
    shown = clean(text[:MAX_QUOTED]) + ("..." if len(text) > MAX_QUOTED else "")
    return "\n".join((f"[{head}]", *(f"> {line}" for line in shown.splitlines())))


def problems(error: ValidationError) -> str:
    found = (f"{'.'.join(map(str, it['loc']))}: {it['type']}" for it in error.errors(include_input=False))
    return "; ".join(found)[:300]
