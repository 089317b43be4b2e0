"""What a program sends with its message, as values: what was said before, tools that it runs itself, options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Json, Message, ToolSpec

CLIENT = "client"
"""The provider of a tool that whoever asks runs itself: a call of it is never run here."""


@dataclass(frozen=True, slots=True)
class ClientInput:
    """`system`: besides the agent's own. `messages`: what its conversation does not have yet and stands before the
    message, results of `tools` among them. `options`: of the model calls of this turn, above the agent's, in the
    words of chat completions."""

    system: str = ""
    messages: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    options: Mapping[str, Json] = field(default_factory=dict[str, Json])
