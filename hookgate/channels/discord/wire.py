"""What of Discord's objects is read, as models: members that nobody here knows are left out, wrong types are a
ValidationError. Knows no meaning."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MAX_NUMBER = 1 << 53


def _given(value: object) -> object:
    """Null where it might as well be missing."""
    return "" if value is None else value


def _listed(value: object) -> object:
    return [] if value is None else value


Snowflake = Annotated[str, Field(pattern=r"^[0-9]{1,20}$")]
"""Ids grow with time."""
Text = Annotated[str, BeforeValidator(_given)]
Id = Annotated[str, BeforeValidator(_given), Field(pattern=r"^[0-9]{0,20}$")]
"""Empty: none."""


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", defer_build=True)


class Payload(_Wire):
    """Of the gateway: its kind, its data, of a dispatch its number and name."""

    op: int
    d: object = None
    s: int | None = Field(None, ge=0, le=MAX_NUMBER)
    t: str | None = None


class Hello(_Wire):
    heartbeat_interval: float = Field(gt=0, le=3_600_000, strict=False)


class Ready(_Wire):
    session_id: str = Field(min_length=1, max_length=200)
    resume_gateway_url: str = Field(max_length=500)


class User(_Wire):
    id: Snowflake
    username: Text = ""
    global_name: Text = ""
    bot: bool = False
    system: bool = False

    @property
    def name(self) -> str:
        return self.global_name or self.username


class Application(_Wire):
    id: Snowflake
    flags: int = 0


class SessionStarts(_Wire):
    """`reset_after` in milliseconds."""

    remaining: int
    reset_after: float = Field(0, strict=False)
    max_concurrency: int = Field(1, ge=1)


class GatewayBot(_Wire):
    url: str
    shards: int = Field(1, ge=1)
    session_start_limit: SessionStarts


class Room(_Wire):
    """A channel of a server, one of its threads, or a person."""

    id: Snowflake
    type: int = 0
    parent_id: Id = ""
    guild_id: Id = ""


class RoleTags(_Wire):
    bot_id: Id = ""


class Role(_Wire):
    id: Snowflake
    tags: RoleTags = RoleTags()


class Guild(_Wire):
    """`channels` and `threads`: those that are open, which need not say of which server they are."""

    id: Snowflake
    roles: list[Role] = Field(default_factory=list[Role])
    channels: list[Room] = Field(default_factory=list[Room])
    threads: list[Room] = Field(default_factory=list[Room])


class Attachment(_Wire):
    id: Snowflake
    filename: Text = ""
    size: int = Field(0, ge=0)
    url: str
    content_type: Text = ""


class Sticker(_Wire):
    name: Text = ""


class PollText(_Wire):
    text: Text = ""


class Poll(_Wire):
    question: PollText = PollText()


class Content(_Wire):
    """What somebody says, in whichever message it stands."""

    content: Text = ""
    attachments: Annotated[list[Attachment], BeforeValidator(_listed)] = Field(default_factory=list[Attachment])
    sticker_items: Annotated[list[Sticker], BeforeValidator(_listed)] = Field(default_factory=list[Sticker])
    mentions: Annotated[list[User], BeforeValidator(_listed)] = Field(default_factory=list[User])


class Snapshot(_Wire):
    """Of a message that was passed on."""

    message: Content


class Quoted(Content):
    """What a message answers."""

    id: Snowflake
    author: User | None = None


class Named(_Wire):
    """Of a message that cannot be read otherwise."""

    id: Snowflake


class Message(Content):
    id: Snowflake
    channel_id: Snowflake
    guild_id: Id = ""
    channel_type: int | None = None
    type: int = 0
    author: User
    webhook_id: Id = ""
    referenced_message: Quoted | None = None
    message_snapshots: Annotated[list[Snapshot], BeforeValidator(_listed)] = Field(default_factory=list[Snapshot])
    poll: Poll | None = None


class Button(_Wire):
    custom_id: Text = ""


class Row(_Wire):
    components: Annotated[list[Button], BeforeValidator(_listed)] = Field(default_factory=list[Button])


class Pressable(_Wire):
    """The message that a button stands below."""

    id: Snowflake
    components: Annotated[list[Row], BeforeValidator(_listed)] = Field(default_factory=list[Row])


class Option(_Wire):
    name: str
    value: str | int | float | bool = ""


class Chosen(_Wire):
    """Of a component: its `custom_id`; of a command: its name and what was written behind it."""

    custom_id: Text = ""
    name: Text = ""
    options: Annotated[list[Option], BeforeValidator(_listed)] = Field(default_factory=list[Option])


class Member(_Wire):
    user: User | None = None


class Interaction(_Wire):
    id: Snowflake
    application_id: Snowflake
    type: int
    token: str = Field(pattern=r"^[A-Za-z0-9_.=-]{1,500}$")
    channel_id: Id = ""
    channel: Room | None = None
    guild_id: Id = ""
    member: Member | None = None
    user: User | None = None
    message: Pressable | None = None
    data: Chosen = Chosen()

    @property
    def by(self) -> User | None:
        return self.user or (self.member.user if self.member is not None else None)


class Sent(_Wire):
    id: Snowflake
    content: Text = ""
