"""`[gateway]`, `[channels]`, `[[routes]]` and `[http]`: who is heard where, and which agent answers there."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from hookgate.sections.section import Channels, Count, Globs, Section, Several, Variable

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False, strict=False)]
USER = r"^[A-Za-z0-9_.@-]{1,64}$"


class GatewaySection(Section):
    """`max_turns`: how many conversations are at work at once; one that waits for a person is not. `drain_s`: how
    long running turns have to end when `hookgate serve` is told to stop. `idle_s`: a conversation that rests for so
    long is in the journal alone."""

    max_turns: Count = 8
    drain_s: Seconds = 30.0
    idle_s: Seconds = 900.0


class ChannelSection(Section):
    """`allow`: who of those that can log in is heard, by id, person or `role:NAME`; empty: all of them.
    `busy`: what becomes of a message while a turn runs. `show_errors`: a provider's own words, or their class.

    Of the page: `token_env` names the variable with the token that logs in `owner`; `users`: names, and argon2 hashes
    of their passwords; with neither, hookgate makes a token and shows it. `origin`: how people reach the page where
    it is not by an address. `show_trace`: what each hook decided.
    """

    kind: Literal["web"]
    agent: str = ""
    allow: Several[Annotated[str, Field(min_length=1)]] = ()
    busy: Literal["queue", "steer", "reject"] = "queue"
    show_tools: bool = True
    show_denials: bool = False
    show_errors: Literal["class", "full"] = "class"
    token_env: Variable = ""
    users: dict[Annotated[str, Field(pattern=USER)], Annotated[str, Field(pattern=r"^\$argon2id\$")]] = Field(
        default_factory=dict
    )
    origin: Annotated[str, Field(pattern=r"^(https?://[^/]+)?$")] = ""
    show_trace: bool = False


class RouteSection(Section):
    """The first route that a chat fits names its agent, before its channel does."""

    channels: Channels = ()
    chats: Globs = ()
    chat_types: Globs = ()
    agent: Annotated[str, Field(min_length=1)]


class HttpSection(Section):
    listen: str = "127.0.0.1:8710"

    @field_validator("listen")
    @classmethod
    def _is_an_address(cls, listen: str) -> str:
        host, _, port = listen.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65535:
            raise ValueError("write it ADDRESS:PORT, for example 127.0.0.1:8710")
        return listen
