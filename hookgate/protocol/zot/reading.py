"""Frames of an extension read from the members of a JSON object.

An absent member, null, an empty string and false are the same; members that are not known are ignored. Which reply
belongs to which call is the peer's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.kinds import kind_of
from hookgate.protocol.zot.frames import (
    Block,
    ClearNotes,
    ClosePanel,
    CommandReply,
    Frame,
    Hello,
    InterceptReply,
    Level,
    Notify,
    OpenPanel,
    Panel,
    Ready,
    RegisterCommand,
    RegisterTool,
    RenderPanel,
    ShutdownAck,
    Submit,
    SubmitSlash,
    Subscribe,
    ToolReply,
    ToolUnwanted,
    ToolWanted,
    Unknown,
)

LEVELS: Mapping[str, Level] = {"info": "info", "success": "success", "warn": "warn", "error": "error"}
Members = Mapping[str, Any]


_VERDICT = frozenset({"type", "id", "block", "reason", "modified_args", "replace_text", "system_prompt"})
_RESTRICTING = frozenset({"block", "modified_args"})


def read_frame(members: Members) -> Frame:
    """Raises BadMessage with the member that is not what the protocol says."""
    kind = _text(members, "type")
    reader = _READERS.get(kind)
    return Unknown(kind) if reader is None else reader(members)


def _hello(members: Members) -> Hello:
    return Hello(_name(members), _text(members, "version"), frozenset(_texts(members, "capabilities")))


def _command(members: Members) -> RegisterCommand:
    return RegisterCommand(_name(members).removeprefix("/"), _text(members, "description"))


def _tool(members: Members) -> RegisterTool:
    schema = _object(members, "schema")
    return RegisterTool(_name(members), _text(members, "description"), schema or {"type": "object"})


def _subscribe(members: Members) -> Subscribe:
    return Subscribe(frozenset(_texts(members, "events")), frozenset(_texts(members, "intercept")))


def _intercept_reply(members: Members) -> InterceptReply:
    for name in members.keys() - _VERDICT:
        # zot reads members in any case, so an extension that works there would silently let everything pass here.
        if name.lower() in _VERDICT:
            raise BadMessage(f"{name!r} must be written {name.lower()!r}")
    prompt = members.get("system_prompt")
    if prompt is not None and not isinstance(prompt, str):
        raise BadMessage(f"system_prompt must be a string, not {kind_of(prompt)}")
    args, problem = members.get("modified_args"), ""
    if args is not None and not isinstance(args, dict):
        # The extension wants other arguments than these: zot runs no call with them either.
        args, problem = None, f"modified_args must be an object, not {kind_of(args)}"
    return InterceptReply(
        id=_text(members, "id"),
        block=_flag(members, "block"),
        reason=_text(members, "reason"),
        modified_args=cast("Members | None", args),
        replace_text=_text(members, "replace_text"),
        system_prompt=prompt,
        problem=problem,
    )


def restricts(members: Members, repeated: str | None) -> bool:
    """Whether a reply with mistakes says that a call must not go on as it is. `repeated` stands in it twice."""
    said = {name.lower() for name, value in members.items() if value is not None and value is not False}
    if members.get("modified_args") is False:
        said.add("modified_args")
    return not _RESTRICTING.isdisjoint({*said, (repeated or "").lower()})


def may_restrict(line: bytes) -> bool:
    """The same of a reply that cannot be read: whether it says anything of the kind."""
    low = line.lower()
    return any(f'"{name}"'.encode() in low for name in _RESTRICTING)


def _tool_reply(members: Members) -> ToolReply:
    blocks = tuple(_block(item) for item in _objects(members, "content"))
    return ToolReply(_text(members, "id"), blocks, _flag(members, "is_error"))


def _block(members: Members) -> Block:
    texts = (_text(members, name) for name in ("type", "text", "mime_type", "data"))
    return Block(*texts)


def _command_reply(members: Members) -> CommandReply:
    texts = {name: _text(members, name) for name in ("id", "action", "prompt", "insert", "display", "error")}
    given = _object(members, "open_panel")
    return CommandReply(**texts, panel=None if given is None else _panel(given, "id"))


def _panel(members: Members, key: str) -> Panel:
    panel_id = _required(members, key)
    return Panel(panel_id, _text(members, "title"), _texts(members, "lines"), _text(members, "footer"))


def _open_panel(members: Members) -> OpenPanel:
    given = _object(members, "panel")
    if given is None:
        raise BadMessage("panel is missing")
    return OpenPanel(_panel(given, "id"))


def _notify(members: Members) -> Notify:
    return Notify(LEVELS.get(_text(members, "level"), "info"), _required(members, "message"))


def _wanted(members: Members) -> ToolWanted:
    """What is wrong with the name or the arguments is answered, so it is no reason not to read the frame."""
    name, args = members.get("name"), members.get("args")
    return ToolWanted(
        _required(members, "id"),
        name if isinstance(name, str) else "",
        cast("Mapping[str, Any]", args) if isinstance(args, dict) else None,
        _text(members, "parent_id"),
    )


_READERS: Mapping[str, Callable[[Members], Frame]] = {
    Hello.type: _hello,
    RegisterCommand.type: _command,
    RegisterTool.type: _tool,
    Ready.type: lambda _members: Ready(),
    Subscribe.type: _subscribe,
    InterceptReply.type: _intercept_reply,
    ToolReply.type: _tool_reply,
    CommandReply.type: _command_reply,
    OpenPanel.type: _open_panel,
    RenderPanel.type: lambda members: RenderPanel(_panel(members, "panel_id")),
    ClosePanel.type: lambda members: ClosePanel(_required(members, "panel_id")),
    Notify.type: _notify,
    ClearNotes.type: lambda _members: ClearNotes(),
    Submit.type: lambda members: Submit(_text(members, "text").strip()),
    SubmitSlash.type: lambda members: SubmitSlash(_text(members, "text").strip()),
    ToolWanted.type: _wanted,
    ToolUnwanted.type: lambda members: ToolUnwanted(_required(members, "id")),
    ShutdownAck.type: lambda _members: ShutdownAck(),
}

# --- members ------------------------------------------------------------------------------------------------


def _given(members: Members, name: str) -> object:
    """None for whatever counts as absent."""
    value: object = members.get(name)
    return None if value is False or value == "" else value


def _text(members: Members, name: str) -> str:
    value = _given(members, name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadMessage(f"{name} must be a string, not {kind_of(value)}")
    return value


def _required(members: Members, name: str) -> str:
    text = _text(members, name)
    if not text:
        raise BadMessage(f"{name} is missing")
    return text


def _name(members: Members) -> str:
    return _required(members, "name")


def _flag(members: Members, name: str) -> bool:
    value = _given(members, name)
    if value is not None and value is not True:
        raise BadMessage(f"{name} must be true or false, not {kind_of(value)}")
    return value is True


def _object(members: Members, name: str) -> Mapping[str, Any] | None:
    value = _given(members, name)
    if value is not None and not isinstance(value, dict):
        raise BadMessage(f"{name} must be an object, not {kind_of(value)}")
    return cast("Mapping[str, Any] | None", value)


def _array(members: Members, name: str) -> list[object]:
    value = _given(members, name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadMessage(f"{name} must be an array, not {kind_of(value)}")
    return cast("list[object]", value)


def _texts(members: Members, name: str) -> tuple[str, ...]:
    items = _array(members, name)
    for item in items:
        if not isinstance(item, str):
            raise BadMessage(f"{name} must hold strings, not {kind_of(item)}")
    return tuple(cast("list[str]", items))


def _objects(members: Members, name: str) -> list[Mapping[str, Any]]:
    items = _array(members, name)
    for item in items:
        if not isinstance(item, dict):
            raise BadMessage(f"{name} must hold objects, not {kind_of(item)}")
    return cast("list[Mapping[str, Any]]", items)
