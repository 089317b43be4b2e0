"""What of the Bot API's objects is read, as models: members that nobody here knows are left out, wrong types are a
ValidationError. Knows no meaning."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

MAX_ID = (1 << 52) - 1


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", defer_build=True)


class User(_Wire):
    id: int = Field(ge=0, le=MAX_ID)
    is_bot: bool
    first_name: str = ""
    last_name: str = ""
    username: str = ""


class Me(User):
    """The bot itself. `can_read_all_group_messages`: privacy mode is off."""

    is_bot: bool = True
    can_read_all_group_messages: bool = False


class ChatOf(_Wire):
    id: int = Field(ge=-MAX_ID, le=MAX_ID)
    type: str


class Entity(_Wire):
    """`offset` and `length` in UTF-16 units."""

    type: str
    offset: int = Field(ge=0)
    length: int = Field(ge=0)
    user: User | None = None


class FileOf(_Wire):
    """Of whichever kind: a size of a photo, a document, a voice."""

    file_id: str
    file_size: int = 0
    file_name: str = ""


class Sticker(FileOf):
    emoji: str = ""
    is_animated: bool = False
    is_video: bool = False


class Location(_Wire):
    latitude: float
    longitude: float


class Venue(_Wire):
    title: str
    address: str = ""


class Contact(_Wire):
    phone_number: str
    first_name: str = ""
    last_name: str = ""


class Poll(_Wire):
    question: str


class Quote(_Wire):
    text: str


class Content(_Wire):
    """What somebody says, in whichever message it stands."""

    message_id: int
    sender: User | None = Field(None, alias="from")
    text: str = ""
    caption: str = ""
    photo: list[FileOf] = Field(default_factory=list[FileOf])
    document: FileOf | None = None
    voice: FileOf | None = None
    audio: FileOf | None = None
    video: FileOf | None = None
    video_note: FileOf | None = None
    animation: FileOf | None = None
    sticker: Sticker | None = None
    location: Location | None = None
    venue: Venue | None = None
    contact: Contact | None = None
    poll: Poll | None = None


class Replied(Content):
    """What a message answers. Every message of a topic answers the one that has made it."""

    forum_topic_created: dict[str, object] | None = None


class Message(Content):
    chat: ChatOf
    sender_chat: ChatOf | None = None
    message_thread_id: int = 0
    is_topic_message: bool = False
    media_group_id: str = ""
    entities: list[Entity] = Field(default_factory=list[Entity])
    caption_entities: list[Entity] = Field(default_factory=list[Entity])
    reply_to_message: Replied | None = None
    quote: Quote | None = None
    migrate_to_chat_id: int | None = Field(None, ge=-MAX_ID, le=MAX_ID)


class Button(_Wire):
    callback_data: str = ""


class Markup(_Wire):
    inline_keyboard: list[list[Button]] = Field(default_factory=list[list[Button]])


class Pressable(_Wire):
    """The message that a button stands below; one that is too old has no text and no buttons any more."""

    message_id: int
    chat: ChatOf
    reply_markup: Markup | None = None


class CallbackQuery(_Wire):
    id: str
    sender: User = Field(alias="from")
    message: Pressable | None = None
    data: str = ""


class Update(_Wire):
    message: Message | None = None
    callback_query: CallbackQuery | None = None


class Sent(_Wire):
    message_id: int


class FilePath(_Wire):
    file_path: str
    file_size: int = 0


class WebhookInfo(_Wire):
    url: str = ""
    pending_update_count: int = 0
    last_error_date: int = 0
    last_error_message: str = ""
