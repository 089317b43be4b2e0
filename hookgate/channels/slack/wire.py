"""What of Slack's objects is read, as models: members that nobody here knows are left out, wrong types are a
ValidationError. Knows no meaning."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Ts = Annotated[str, Field(pattern=r"^\d{10}\.\d{6}$")]
"""Of a message, in its channel; such texts are ordered as the times are."""
Id = Annotated[str, Field(pattern=r"^[A-Z0-9]{1,40}$")]
MaybeId = Annotated[str, Field(pattern=r"^[A-Z0-9]{0,40}$")]


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", defer_build=True)


class Me(_Wire):
    """The bot itself, as `auth.test` says."""

    user_id: Id
    bot_id: MaybeId = ""
    team_id: Id
    user: str = ""


class FileOf(_Wire):
    name: str | None = ""
    mimetype: str = ""
    size: int = 0
    url_private_download: str = ""
    url_private: str = ""
    subtype: str = ""


class Message(_Wire):
    """`user`: empty where a bot without one says it. `user_team`, `source_team`, `team`: the workspace of
    whoever says it, by the first that is there."""

    type: str
    subtype: str = ""
    channel: Id
    channel_type: str = ""
    user: MaybeId | None = ""
    bot_id: str | None = ""
    text: str | None = ""
    ts: Ts
    thread_ts: Ts | None = None
    parent_user_id: MaybeId = ""
    user_team: MaybeId | None = ""
    source_team: MaybeId | None = ""
    team: MaybeId | None = ""
    files: list[FileOf] = Field(default_factory=list[FileOf])


class EventCallback(_Wire):
    """`event`: whatever happened, by its type. `team_id`: the workspace where it did."""

    type: str = ""
    team_id: MaybeId | None = ""
    event: dict[str, Any]


class User(_Wire):
    id: Id
    team_id: MaybeId | None = ""
    username: str = ""
    name: str = ""


class Container(_Wire):
    message_ts: str = ""
    channel_id: str = ""
    thread_ts: str | None = ""


class Action(_Wire):
    value: str = ""
    type: str = ""


class ButtonMessage(_Wire):
    """The message that a button stands in. `blocks`: of whichever kind."""

    blocks: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])


class Team(_Wire):
    id: MaybeId = ""


class Interaction(_Wire):
    """`team`: the workspace where it was done."""

    type: str
    user: User
    team: Team | None = None
    trigger_id: str = ""
    container: Container = Container()
    message: ButtonMessage | None = None
    actions: list[Action] = Field(default_factory=list[Action])


class SlashCommand(_Wire):
    command: str
    text: str = ""
    user_id: Id
    team_id: MaybeId | None = ""
    channel_id: Id
    trigger_id: str


class Envelope(_Wire):
    """Of Socket Mode. `reason`: of a `disconnect`."""

    type: str
    envelope_id: str = ""
    payload: dict[str, Any] = Field(default_factory=dict[str, Any])
    reason: str = ""


class Posted(_Wire):
    ts: Ts


class SocketUrl(_Wire):
    url: str


class UploadUrl(_Wire):
    upload_url: str
    file_id: str


class JoinedConversation(_Wire):
    """A conversation that the bot is in."""

    id: Id
    is_archived: bool = False


class More(_Wire):
    next_cursor: str = ""


class Places(_Wire):
    channels: list[JoinedConversation]
    response_metadata: More | None = None


class Past(_Wire):
    """`messages`: as they are, without where they stand."""

    messages: list[dict[str, Any]]
    response_metadata: More | None = None
