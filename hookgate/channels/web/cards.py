"""An approval request as a card: the call whole, an edit of a file as a diff."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import unified_diff
from functools import lru_cache

from hookgate.channels.web.shapes import Card
from hookgate.protocol.approval import usual_title
from hookgate.protocol.codec import rfc3339
from hookgate.protocol.edits import Replacement, replacements
from hookgate.protocol.journal.decisions import Standing
from hookgate.protocol.values import Json

MAX_DIFF = 20_000
"""Characters on both sides; a diff of more takes too long, and the arguments say it all."""
MAX_MATCHED = 250_000
"""Lines before times lines after; of more nothing is matched, since that takes their product and worse."""


def card(standing: Standing, *, may: bool) -> Card:
    stored, shown = standing.request, standing.request.shown
    call = shown.call
    return Card(
        id=stored.id,
        chat=shown.chat.thread,
        title=shown.title or usual_title(call.name, shown.extension),
        text=shown.text,
        tool=call.name,
        arguments=call.arguments,
        diff=_diff(call.arguments),
        asked_by=shown.asked_by,
        sender=shown.chat.sender,
        of=(sum(vote.approved for vote in standing.votes), stored.required),
        grants=shown.grants,
        always=shown.always,
        expires_at=rfc3339(stored.expires_at) if stored.expires_at else None,
        may=may,
    )


def _diff(arguments: Mapping[str, Json]) -> str:
    """What is there and what will be, of an edit; of a file that is written, all of it."""
    path, content = arguments.get("path"), arguments.get("content")
    edits = replacements(arguments) or ((Replacement("", content),) if isinstance(content, str) else ())
    if not isinstance(path, str):
        return ""
    parts: list[str] = []
    for edit in edits:
        if sum(map(len, (*parts, edit.old, edit.new))) > MAX_DIFF:
            return ""
        parts += _compared(edit.old, edit.new, path)
    return "\n".join(parts)


@lru_cache(maxsize=200)
def _compared(old: str, new: str, path: str) -> tuple[str, ...]:
    """Asked for again with every snapshot, while the request waits."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) * len(after) <= MAX_MATCHED:
        return tuple(unified_diff(before, after, path, path, lineterm=""))
    head = f"--- {path}", f"+++ {path}", f"@@ -1,{len(before)} +1,{len(after)} @@"
    return *head, *(f"-{line}" for line in before), *(f"+{line}" for line in after)
