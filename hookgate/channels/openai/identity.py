"""Which conversation a request belongs to, and under which name the gateway knows the request again. Pure.

A conversation is one of its key's, whatever else it is called by: nobody can name another's.
"""

from __future__ import annotations

import hashlib
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from secrets import token_hex
from typing import Any, cast

from hookgate.channels.openai.errors import bad_request
from hookgate.channels.openai.history import Keeper
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass

SESSION, HISTORY = "x-hookgate-session", "x-hookgate-history"
OPENWEBUI_CHAT = "x-openwebui-chat-id"
IDEMPOTENCY, RETRIES = "idempotency-key", "x-stainless-retry-count"
MAX_NAME = 200
ALONE = "~"
"""How the name of a conversation begins that is one request's alone."""
KEYED = "key"
"""Behind the dash in the id of a message that was asked for with an Idempotency-Key, before what its body is."""
CALL = re.compile(r"call_([0-9a-f]{32})_(.+)", re.DOTALL)
"""The id of a call as the client of such a conversation is given it: it names the conversation."""


@dataclass(frozen=True, slots=True)
class Identity:
    """`session`: empty: none is named, so the request is a conversation of its own. `keeper`: who knows what was
    said. `key`: by which the client names the request again; `repeats`: it says that this is one."""

    session: str
    keeper: Keeper = ""
    key: str = ""
    repeats: bool = False


def identify(headers: Mapping[str, str], body: Mapping[str, Any]) -> Identity:
    """By the first name that there is; what is meant for caches or safety is none. Raises ApiError."""
    metadata = body.get("metadata")
    named = (
        (headers.get(SESSION), "", SESSION),
        (_text(body, "session_id"), "", "session_id"),
        (_text(body, "conversation"), "", "conversation"),
        (_text(metadata, "session_id"), "", "metadata.session_id"),
        ("" if _is_chore(body) else headers.get(OPENWEBUI_CHAT), "openwebui=", OPENWEBUI_CHAT),
        (_text(body, "user"), "user=", "user"),
    )
    name, prefix, member = next((it for it in named if it[0]), ("", "", ""))
    if name and (len(name) > MAX_NAME or not name.isprintable()):
        raise bad_request(f"the name of a session has at most {MAX_NAME} characters that can be read", member)
    keeper = headers.get(HISTORY, "client" if prefix == "openwebui=" else "")
    if keeper not in ("", "server", "client"):
        raise bad_request("the history is kept by 'server' or 'client'", HISTORY)
    retries, key = headers.get(RETRIES, "0"), headers.get(IDEMPOTENCY, "")
    if len(key) > MAX_NAME:
        raise bad_request(f"it has at most {MAX_NAME} characters", IDEMPOTENCY)
    return Identity(f"{prefix}{name}", keeper, key, retries not in ("", "0"))


def _text(members: object, name: str) -> str:
    value = cast("Mapping[str, object]", members).get(name) if isinstance(members, Mapping) else None
    # A conversation of the Responses API is an object with its id.
    value = cast("Mapping[str, object]", value).get("id") if isinstance(value, Mapping) else value
    return value if isinstance(value, str) else ""


def _is_chore(body: Mapping[str, Any]) -> bool:
    """A title, tags or a search that Open WebUI asks for under the id of the chat: nobody has said that there."""
    if _text(body.get("metadata"), "task"):
        return True
    messages = body.get("messages")
    last = cast("list[object]", messages)[-1] if isinstance(messages, list) and messages else None
    return _text(last, "content").lstrip().startswith("### Task:")


def fingerprint(*parts: str | bytes) -> str:
    joined = b"\0".join(it.encode("utf-8", "replace") if isinstance(it, str) else it for it in parts)
    return hashlib.sha256(joined).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Addressed:
    """Where a request is said: its chat, and the id of its message."""

    chat: Chat
    message: str

    @property
    def alone(self) -> bool:
        return self.session.startswith(ALONE)

    @property
    def session(self) -> str:
        """As the client can name it."""
        return self.chat.thread.partition("/")[2]


def place(channel: str, user: str, agent: str, identity: Identity, digest: str) -> Addressed:
    """`agent`: the one that the client has chosen; empty: none. `digest`: of the body."""
    same = fingerprint(user, identity.key or digest)
    message = f"{same}-{KEYED}{digest[:24]}" if identity.key else f"{same}-{token_hex(4)}"
    # What has a key of its own has one conversation, whatever it asks there.
    alone = f"{same}-{KEYED}" if identity.key else message
    session = identity.session or f"{ALONE}{same}{fingerprint(alone)[:8]}"
    return Addressed(chat_of(channel, user, agent, session), message)


def chat_of(channel: str, user: str, agent: str, session: str) -> Chat:
    return Chat(channel, user, user, thread=f"{agent}/{session}")


def agent_of(chat: Chat) -> str:
    """The one that was chosen; empty: none."""
    return chat.thread.partition("/")[0] if "/" in chat.thread else ""


def call_id(chat: Chat, call: str) -> str:
    """As the client gets it."""
    session = chat.thread.partition("/")[2]
    return f"call_{session.removeprefix(ALONE)}_{call}" if session.startswith(ALONE) else call


def named_call(call: str) -> tuple[str, str]:
    """The conversation that a call's id names, and its id there; empty: it names none."""
    found = CALL.fullmatch(call)
    return (f"{ALONE}{found[1]}", found[2]) if found else ("", call)


def response_id(where: Addressed) -> str:
    """It names the conversation and the message, to whoever has the key."""
    named = urlsafe_b64encode(f"{where.chat.thread}|{where.message}".encode()).decode()
    return f"resp_{named.rstrip('=')}"


def named_response(response: str) -> tuple[str, str]:
    """The thread and the message; empty: it names none."""
    named = response.removeprefix("resp_")
    try:
        thread, _, message = urlsafe_b64decode(named + "=" * (-len(named) % 4)).decode().rpartition("|")
    except ValueError:
        return "", ""
    return thread, message
