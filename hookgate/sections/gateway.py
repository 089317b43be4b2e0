"""`[gateway]`, `[channels]` and `[[routes]]`: who is heard where, and which agent answers there."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hookgate.sections.section import Channels, Count, Globs, Section


class GatewaySection(Section):
    """`max_turns`: how many conversations are at work at once; one that waits for a person is not."""

    max_turns: Count = 8


class ChannelSection(Section):
    """`busy`: what becomes of a message while a turn runs. `show_errors`: a provider's own words, or their class."""

    kind: Literal["web"]
    agent: str = ""
    busy: Literal["queue", "steer", "reject"] = "queue"
    show_tools: bool = True
    show_denials: bool = False
    show_errors: Literal["class", "full"] = "class"


class RouteSection(Section):
    """The first route that a chat fits names its agent, before its channel does."""

    channels: Channels = ()
    chats: Globs = ()
    chat_types: Globs = ()
    agent: Annotated[str, Field(min_length=1)]
