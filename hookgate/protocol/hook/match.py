"""Which calls and events a hook sees: globs over channel, chat, thread, sender, role, tool, model, agent. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from fnmatch import translate
from functools import cached_property

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.payloads import INSIDE, ON_DEMAND, PAYLOADS
from hookgate.protocol.values import Step

CRITERIA = ("channels", "chats", "chat_types", "threads", "senders", "roles", "tools", "models", "agents")


@dataclass(frozen=True)
class Globs:
    """Patterns of one criterion; `!` excludes. No positive pattern means everything that is not excluded."""

    patterns: tuple[str, ...] = ()

    def covers(self, *spellings: str) -> bool:
        """Whether one spelling is included and none is excluded."""
        if self._excluded is not None and any(map(self._excluded.match, spellings)):
            return False
        return self._included is None or any(map(self._included.match, spellings))

    @cached_property
    def _included(self) -> re.Pattern[str] | None:
        return _compiled(p for p in self.patterns if not p.startswith("!"))

    @cached_property
    def _excluded(self) -> re.Pattern[str] | None:
        return _compiled(p[1:] for p in self.patterns if p.startswith("!"))


def _compiled(patterns: Iterable[str]) -> re.Pattern[str] | None:
    parts = [translate(pattern) for pattern in patterns]
    return re.compile("|".join(parts)) if parts else None


@dataclass(frozen=True)
class Matcher:
    """All criteria must cover; a criterion about something the call does not have (a tool, say) does not count. Of
    several roles one is enough to be covered, and one to be excluded."""

    criteria: Mapping[str, Globs] = field(default_factory=dict[str, Globs])

    def matches(self, step: Step | None, tool: str = "", model: str = "") -> bool:
        return not self.criteria or self.mismatch(step, tool, model) is None

    def mismatch(self, step: Step | None, tool: str = "", model: str = "") -> str | None:
        """The first criterion that keeps a call out, in words; None where it matches."""
        for name, globs in self.criteria.items():
            values = _subject(name, step, tool, model)
            if values is not None and not globs.covers(*values) and not (name == "senders" and _claimed(step, globs)):
                return f"{name} = {list(globs.patterns)} does not cover {', '.join(map(repr, values))}"
        return None


def _claimed(step: Step | None, globs: Globs) -> bool:
    """Whether it covers the program that says who speaks: by its word nobody gets past what covers the program."""
    return step is not None and step.chat.account != "" and globs.covers(step.chat.account)


def _subject(criterion: str, step: Step | None, tool: str, model: str) -> tuple[str, ...] | None:
    match criterion:
        case "tools":
            value = tool or None
        case "models":
            value = model or (step.model if step else "") or None
        case _ if step is None:
            value = None
        case "roles":
            # For nobody's roles an empty one stands: nothing excludes it, and of what is included only `*`.
            return step.roles or ("",)
        case "channels":
            value = step.chat.channel
        case "chats":
            value = step.chat.chat_id
        case "chat_types":
            value = step.chat.chat_type
        case "threads":
            value = step.chat.thread
        case "senders":
            value = step.chat.sender
        case _:
            value = step.agent
    return None if value is None else (value,)


@dataclass(frozen=True)
class Observed:
    """The event kinds a hook asked for, in either spelling. Kinds in ON_DEMAND must be named, no glob covers them."""

    patterns: tuple[str, ...] = ()

    def covers(self, kind: str, runtime: str) -> bool:
        if kind in ON_DEMAND or kind.startswith(INSIDE):
            return kind in self.patterns or runtime in self.patterns
        if not self.patterns:
            return False
        return self._globs.covers(kind, runtime)

    @cached_property
    def _globs(self) -> Globs:
        return Globs(self.patterns)


def unknown_event(pattern: str) -> bool:
    """Whether a pattern can never cover any event: a spelling mistake in a configuration."""
    globs = Globs((pattern.removeprefix("!"),))
    return not any(globs.covers(payload.kind) or globs.covers(payload.runtime) for payload in PAYLOADS)
