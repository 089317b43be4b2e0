"""What an editor asks of its agent, as values read from params. What a request does not need is left unread."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from hookgate.protocol.values import JsonObject

T = TypeVar("T")
Several = Annotated[tuple[T, ...], Field(strict=False)]
"""An array."""


class BadParams(Exception):
    """The text says which member is wrong, and why."""


class _Members(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, alias_generator=to_camel, defer_build=True)


# --- content ------------------------------------------------------------------------------------------------


class TextContent(_Members):
    type: Literal["text"]
    text: str


class ImageContent(_Members):
    """`data` in base64."""

    type: Literal["image"]
    data: str
    mime_type: str


class LinkContent(_Members):
    type: Literal["resource_link"]
    uri: str
    name: str
    description: str | None = None


class Resource(_Members):
    """`text`, or `blob` in base64."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None


class EmbeddedContent(_Members):
    type: Literal["resource"]
    resource: Resource


Content: TypeAlias = Annotated[
    TextContent | ImageContent | LinkContent | EmbeddedContent, Field(discriminator="type")
]

# --- MCP servers --------------------------------------------------------------------------------------------


class Pair(_Members):
    name: str
    value: str


class StdioServer(_Members):
    type: Literal["stdio"] = "stdio"
    name: str
    command: str
    args: Several[str] = ()
    env: Several[Pair] = ()


class HttpServer(_Members):
    type: Literal["http", "sse"]
    name: str
    url: str
    headers: Several[Pair] = ()


Server: TypeAlias = HttpServer | StdioServer

# --- methods ------------------------------------------------------------------------------------------------


class Named(_Members):
    name: str = ""
    version: str = ""


class Initialize(_Members):
    """Early editors wrote versions as strings."""

    protocol_version: int | str
    client_info: Named | None = None


class Authenticate(_Members):
    method_id: str


class _Opening(_Members):
    cwd: str
    mcp_servers: Several[Server]
    additional_directories: Several[str] = ()


class NewSession(_Opening): ...


class LoadSession(_Opening):
    session_id: str


class ResumeSession(_Opening):
    mcp_servers: Several[Server] = ()
    session_id: str


class ListSessions(_Members):
    cwd: str | None = None
    cursor: str | None = None


class PromptSession(_Members):
    session_id: str
    prompt: Several[Content]


class SetMode(_Members):
    session_id: str
    mode_id: str


class CloseSession(_Members):
    session_id: str


class DeleteSession(_Members):
    session_id: str


class CancelSession(_Members):
    session_id: str


Request: TypeAlias = (
    Initialize
    | Authenticate
    | NewSession
    | LoadSession
    | ResumeSession
    | ListSessions
    | PromptSession
    | SetMode
    | CloseSession
    | DeleteSession
)
METHODS: dict[str, type[Request]] = {
    "initialize": Initialize,
    "authenticate": Authenticate,
    "session/new": NewSession,
    "session/load": LoadSession,
    "session/resume": ResumeSession,
    "session/list": ListSessions,
    "session/prompt": PromptSession,
    "session/set_mode": SetMode,
    "session/close": CloseSession,
    "session/delete": DeleteSession,
}
CANCEL = "session/cancel"

M = TypeVar("M", bound=_Members)


def read_params(shape: type[M], params: JsonObject) -> M:
    """Raises BadParams."""
    try:
        return shape.model_validate(params)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(it) for it in first["loc"])
        raise BadParams(f"{place}: {first['msg']}") from None
