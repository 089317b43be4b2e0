"""`[zot]`: zot extensions, all together and one by one."""

from typing import Literal

from pydantic import Field

from hookgate.sections.section import Later, MatchSection, Milliseconds, Section, Several, nested


class ZotExtension(Section):
    """One extension, by its manifest's name. `timeout_ms`: how long an interception may take; `match`: the chats that
    have its tools and commands, and the calls that it is asked about."""

    enabled: bool = True
    fail_closed: bool | None = None
    env: dict[str, str] = Field(default_factory=dict)
    env_pass: Several[str] = ()
    match: Later[MatchSection] = nested(MatchSection)
    timeout_ms: Milliseconds | None = None


class ZotSection(Section):
    """zot extensions. `discover`: whether those of the project are loaded as well; unset, a chat does and a daemon
    does not. `trust`: whether a chat asks before it runs one of these, and again when it has changed.

    `home`: empty for zot's usual one; `version`: what they are told of zot's, empty for hookgate's. `priority`: of
    all of them among the hooks. `hello_timeout_ms`: so long prompts wait for one that has not said hello, which goes
    on starting meanwhile; `start_timeout_ms`: so long it may.
    """

    enabled: bool = True
    discover: bool | None = None
    trust: Literal["ask", "always", "never"] = "ask"
    home: str = ""
    version: str = ""
    priority: int = 0
    fail_closed: bool = False
    hello_timeout_ms: Milliseconds = 10_000
    start_timeout_ms: Milliseconds = 300_000
    extensions: dict[str, Later[ZotExtension]] = Field(default_factory=dict)
