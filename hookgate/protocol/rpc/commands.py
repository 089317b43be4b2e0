"""The commands of RPC as values, read from a line. A line that is none says what is wrong with it."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from hookgate.protocol.approval import GRANTS, Grant
from hookgate.protocol.chat import Chat, called
from hookgate.protocol.codec import decode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage

Id: TypeAlias = str | int | float | None
"""Echoed as it came; None: the client gave none."""

UNKNOWN = "unknown command"
_ID = (str, int, float, type(None))
DEFAULT_IMAGE = "image/png"
_IMAGE = re.compile(r"image/[a-z0-9.+-]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Hello:
    token: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """`images` are `data:` URLs."""

    message: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Abort: ...


@dataclass(frozen=True, slots=True)
class Compact: ...


@dataclass(frozen=True, slots=True)
class GetState: ...


@dataclass(frozen=True, slots=True)
class GetMessages: ...


@dataclass(frozen=True, slots=True)
class Clear: ...


@dataclass(frozen=True, slots=True)
class SetModel:
    model: str


@dataclass(frozen=True, slots=True)
class SetReasoning:
    reasoning: str


@dataclass(frozen=True, slots=True)
class GetModels: ...


@dataclass(frozen=True, slots=True)
class Ping: ...


@dataclass(frozen=True, slots=True)
class ExtCommand:
    name: str
    args: str


@dataclass(frozen=True, slots=True)
class PanelKey:
    """`text` belongs to the key `rune`."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Approve:
    """A person's answer to an approval request, and how far a yes goes."""

    approval: str
    approved: bool
    grant: Grant
    reason: str


@dataclass(frozen=True, slots=True)
class Reveal:
    """What is hidden in an approval request."""

    approval: str


Command: TypeAlias = (
    Hello
    | Prompt
    | Abort
    | Compact
    | GetState
    | GetMessages
    | Clear
    | SetModel
    | SetReasoning
    | GetModels
    | Ping
    | ExtCommand
    | PanelKey
    | Approve
    | Reveal
)


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing that can be done. `malformed`: not even whose request it was can be said."""

    error: str
    malformed: bool = False


@dataclass(frozen=True, slots=True)
class Where:
    """The chat that a command is for, and who speaks there; empty: the client's own."""

    chat_id: str = ""
    chat_type: str = ""
    sender: str = ""
    thread: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """`name` as the client wrote it; empty where it wrote none."""

    id: Id
    name: str
    command: Command | Refused
    where: Where = Where()


def read_request(line: bytes) -> Request:
    """Never raises; `line` is without its end and not blank."""
    try:
        members = decode(line)
    except BadMessage as error:
        return malformed(str(error))
    if not isinstance(members, dict):
        return malformed("not an object")
    given = cast("dict[str, Any]", members)
    request_id, name = given.get("id"), given.get("type")
    if isinstance(request_id, bool) or not isinstance(request_id, _ID):
        return malformed("id must be a string or a number")
    if not (isinstance(name, str) or name is None):
        return malformed("type must be a string")
    name, request_id = name or "", request_id if request_id != "" else None
    try:
        where = _where(given) if name in IN_CHATS else Where()
    except BadMessage as error:
        return Request(request_id, name, Refused(str(error)))
    return Request(request_id, name, _command(name, given), where)


def malformed(reason: str) -> Request:
    return Request(None, "", Refused(f"malformed json: {reason}", malformed=True))


def _command(name: str, members: Mapping[str, Any]) -> Command | Refused:
    read = COMMANDS.get(name)
    if read is None:
        return Refused(UNKNOWN)
    try:
        return read(members)
    except BadMessage as error:
        return Refused(str(error))


def _where(members: Mapping[str, Any]) -> Where:
    named = tuple(_text(members, name) for name in ("chat_id", "chat_type", "sender", "thread"))
    try:
        called(Chat("", ""), *named)
    except ValueError as error:
        raise BadMessage(str(error)) from None
    return Where(*named)


def _prompt(members: Mapping[str, Any]) -> Prompt:
    images = _given(members, "images", list, [])
    return Prompt(_text(members, "message"), tuple(_image(number, it) for number, it in enumerate(images)))


def _image(number: int, image: object) -> str:
    """The picture as a `data:` URL."""
    if not isinstance(image, dict):
        raise BadMessage(f"images[{number}] must be an object")
    given = cast("dict[str, Any]", image)
    data = _text(given, "data")
    if not data:
        raise BadMessage(f"images[{number}]: data is required")
    try:
        b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadMessage(f"images[{number}]: bad base64: {error}") from None
    mime_type = _text(given, "mime_type") or DEFAULT_IMAGE
    if not _IMAGE.fullmatch(mime_type):
        raise BadMessage(f"images[{number}]: mime_type must be one of image/*, not {mime_type[:60]!r}")
    return f"data:{mime_type};base64,{data}"


def _approve(members: Mapping[str, Any]) -> Approve:
    # Only the JSON value true is a yes.
    approved = members.get("approved") is True
    asked = _text(members, "grant") or "once"
    grant = GRANTS.get(asked)
    if grant is None:
        raise BadMessage(f"grant must be one of {', '.join(GRANTS)}, not {asked[:60]!r}")
    return Approve(_text(members, "approval"), approved, grant, _text(members, "reason"))


def _text(members: Mapping[str, Any], name: str) -> str:
    return _given(members, name, str, "")


def _given(members: Mapping[str, Any], name: str, kind: type[Any], usual: object) -> Any:  # noqa: ANN401 - of `kind`
    """A member; null is as good as absent. Raises BadMessage where it is something else."""
    value = members.get(name)
    if value is None:
        return usual
    if not isinstance(value, kind):
        raise BadMessage(f"{name} must be {'a string' if kind is str else 'an array'}")
    return value


IN_CHATS = frozenset(
    {
        *("prompt", "abort", "compact", "clear", "get_state", "get_messages"),
        *("set_model", "set_reasoning", "get_models", "ext_command"),
    }
)
"""Those that are for one chat, and so may name it."""
COMMANDS: Mapping[str, Callable[[Mapping[str, Any]], Command]] = {
    "hello": lambda members: Hello(_text(members, "token")),
    "prompt": _prompt,
    "abort": lambda _members: Abort(),
    "compact": lambda _members: Compact(),
    "get_state": lambda _members: GetState(),
    "get_messages": lambda _members: GetMessages(),
    "clear": lambda _members: Clear(),
    "set_model": lambda members: SetModel(_text(members, "model")),
    "set_reasoning": lambda members: SetReasoning(_text(members, "reasoning")),
    "get_models": lambda _members: GetModels(),
    "ping": lambda _members: Ping(),
    "ext_command": lambda members: ExtCommand(_text(members, "name").removeprefix("/"), _text(members, "args")),
    "panel_key": lambda members: PanelKey(_text(members, "key"), _text(members, "text")),
    "approve": _approve,
    "reveal": lambda members: Reveal(_text(members, "approval")),
}
