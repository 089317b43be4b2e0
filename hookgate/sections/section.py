"""What all sections share: they are frozen, and what they do not know is a mistake."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Milliseconds = Annotated[int, Field(gt=0, le=86_400_000)]
Globs = tuple[str, ...]
Mode = Literal["enforce", "audit", "off"]
Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def nested() -> Any:  # noqa: ANN401 - takes the type of the field
    """A section that may be missing, validated with the whole: for a default of its own a model would be built."""
    return Field(default_factory=dict, validate_default=True)


class MatchSection(Section):
    channels: Globs = ()
    chats: Globs = ()
    chat_types: Globs = ()
    senders: Globs = ()
    tools: Globs = ()
    models: Globs = ()
    agents: Globs = ()
