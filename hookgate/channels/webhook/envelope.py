"""What is said in a chat as a CloudEvent 1.0 in JSON: messages, approval requests as they stand, events. Pure.

The same row gives the same bytes, whenever it is sent.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from hookgate.channels import outcome
from hookgate.channels.platforms.files import File, filename
from hookgate.channels.webhook.reading import OWN
from hookgate.protocol.approval import usual_title
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.decisions import Standing

TYPE = "application/cloudevents+json"


@dataclass(frozen=True, slots=True)
class Envelope:
    """`source`: of all events of a channel."""

    source: str
    id: str

    def message(self, outbound: Outbound, files: Sequence[File], notes: Sequence[str]) -> bytes:
        """`notes`: a line for each file that is not attached."""
        data = {
            **_place(outbound.chat),
            "text": "\n".join(filter(None, (outbound.text, *notes))),
            "in_reply_to": outbound.in_reply_to or None,
            "media": [_file(number, it) for number, it in enumerate(files, 1)],
        }
        return self._event(f"message.{outbound.kind}", outbound.chat, data)

    def request(self, chat: Chat, standing: Standing) -> bytes:
        """As it is seen from this chat."""
        stored, shown = standing.request, standing.request.shown.seen_from(chat)
        # Whether an approved call runs already is of no interest to who has approved it.
        state = "approved" if standing.state == "spent" else standing.state
        data = {
            **_place(chat),
            "text": shown.title or usual_title(shown.call.name, shown.extension),
            "request": {
                "id": stored.id,
                "state": state,
                "outcome": outcome.became(standing) or None,
                "tool": shown.call.name,
                "arguments": shown.call.arguments,
                "why": shown.text or None,
                "asked_by": shown.asked_by,
                "required": stored.required,
                "allowed": sum(vote.approved for vote in standing.votes),
                "expires_at": stored.expires_at or None,
                "grants": shown.grants if state == "open" else (),
            },
        }
        if state == "open":
            data |= {"approve": f"/approve {stored.id}", "deny": f"/deny {stored.id}"}
        return self._event(f"approval.{state}", chat, data)

    def event(self, kind: str, record: Mapping[str, Any]) -> bytes:
        data = {"meta": record.get("meta"), "payload": record.get("payload")}
        return encode({**self._head(f"event.{kind}"), "time": record.get("time"), "data": data})

    def _event(self, type_: str, chat: Chat, data: Mapping[str, object]) -> bytes:
        return encode({**self._head(type_), "subject": chat.session_key, "data": data})

    def _head(self, type_: str) -> dict[str, object]:
        return {
            "specversion": "1.0",
            "id": self.id,
            "source": self.source,
            "type": f"{OWN}{type_}",
            "datacontenttype": "application/json",
        }


def id_of(instance: str, key: str) -> str:
    """Of the row with this key, for ever the same; `instance`: one journal's, so that a new one begins no old ids
    again."""
    return f"msg_{sha256(f'{instance} {key}'.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"


def _place(chat: Chat) -> dict[str, object]:
    return {"chat": chat.chat_id, "thread": chat.thread or None, "sender": chat.sender or None}


def _file(number: int, file: File) -> dict[str, str]:
    return {"name": filename(number, file), "type": file.type, "content": b64encode(file.content).decode()}
