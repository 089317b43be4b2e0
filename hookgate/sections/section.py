"""What all sections share: they are frozen, and what they do not know is a mistake.

Their annotations are values where they stand: of a string pydantic would have to make one again, at each start.
"""

from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo
from pydantic_core.core_schema import CoreSchema, with_info_plain_validator_function

from hookgate.mistakes import close
from hookgate.protocol.chat import CHAT_TYPES

T = TypeVar("T")

Several = Annotated[tuple[T, ...], Field(strict=False)]
"""An array of TOML."""
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")]
Variable = Annotated[str, Field(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")]
"""Of the environment; empty: none."""
Milliseconds = Annotated[int, Field(gt=0, le=86_400_000)]
Globs = Several[Annotated[str, Field(min_length=1)]]
NONE = ("!*",)
Chosen = Annotated[Globs, AfterValidator(lambda patterns: patterns or NONE)]
"""Which there shall be, of what there is. Whoever writes an empty list wants none, not all."""
KNOWN_CHANNELS = (
    *("cli", "rpc", "acp", "telegram", "discord", "slack", "matrix", "whatsapp", "signal", "irc", "email"),
    *("embedded", "feishu", "line", "dingtalk", "qq", "wecom", "webhook", "web", "api"),
)
"""Names that channels have: a chat's and those of `hookgate rpc`, `hookgate acp` and `hookgate.Runtime`, and those
that programs round hookgate bring."""


def _names_channels(patterns: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    """A name that is a letter off a known one is a mistake; any other may be a channel of one's own. The context has
    the names of those that stand in the same file."""
    known = (*KNOWN_CHANNELS, *(info.context or ()))
    for pattern in patterns:
        name = pattern.removeprefix("!")
        if not any(fnmatchcase(channel, name) for channel in known):
            near = get_close_matches(name.lower(), KNOWN_CHANNELS, n=1, cutoff=0.8)
            if near:
                raise ValueError(f"{pattern!r} covers no channel that is known (did you mean {near[0]!r}?)")
    return patterns


Channels = Annotated[Globs, AfterValidator(_names_channels)]


def covering(what: str, known: tuple[str, ...]) -> AfterValidator:
    """Of globs over a few words that never become more: one that covers none of them is a mistake."""

    def check(patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern.removeprefix("!")) for name in known):
                hint = close(pattern, known) or f"; there are {', '.join(known)}"
                raise ValueError(f"{pattern!r} is no {what}{hint}")
        return patterns

    return AfterValidator(check)


ChatTypes = Annotated[Globs, covering("type of a chat", CHAT_TYPES)]
Mode = Literal["enforce", "audit", "off"]
Count = Annotated[int, Field(ge=1, le=10**9)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, strict=True)


class _Later:
    """A section is built when the first of its kind is read: most files have few of them, and each takes a
    millisecond of a start."""

    def __get_pydantic_core_schema__(self, section: type[Section], _handler: object) -> CoreSchema:
        def read(value: object, info: ValidationInfo) -> Section:
            return section.model_validate(value, context=info.context)

        return with_info_plain_validator_function(read)


Later = Annotated[T, _Later()]


def nested(section: type[Section]) -> Any:  # noqa: ANN401 - takes the type of the field
    """A section that may be missing: then it is as it usually is, and not even built."""
    return Field(default_factory=section.model_construct)


class MatchSection(Section):
    channels: Channels = ()
    chats: Globs = ()
    chat_types: ChatTypes = ()
    threads: Several[str] = ()
    senders: Globs = ()
    roles: Globs = ()
    tools: Globs = ()
    models: Globs = ()
    agents: Globs = ()
