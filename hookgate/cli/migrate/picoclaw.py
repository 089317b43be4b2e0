"""The `hooks` block of picoclaw's config.json, read and judged as picoclaw does; knows nothing of hookgate.toml."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hookgate.cli.migrate.toml import key, string
from hookgate.config import ConfigError
from hookgate.protocol.codec import decode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.events.payloads import PAYLOADS
from hookgate.protocol.hook.stages import BEYOND_V1, Stage

PAIRS = ((Stage.BEFORE_LLM, Stage.AFTER_LLM), (Stage.BEFORE_TOOL, Stage.AFTER_TOOL))
ALL_EVENTS = ("", "*", "all")
HEARD = frozenset(
    name for payload in PAYLOADS if payload.runtime.startswith("agent.") for name in (payload.kind, payload.runtime)
)
"""Events that hookgate has too, in both spellings."""

ONLY_PICOCLAW = (
    "llm_delta interrupt_received context_compress session_summarize follow_up_queued",
    "subturn_spawn subturn_end subturn_result_delivered subturn_orphan",
    "message_sent message_delivered message_received message_reply message_blocked thread_closed",
    "agent.llm.delta agent.interrupt.received agent.context.compress agent.session.summarize agent.follow_up.queued",
    "agent.subturn.spawn agent.subturn.end agent.subturn.result_delivered agent.subturn.orphan",
    "agent.message.sent agent.message.delivered agent.message.received agent.message.reply agent.message.blocked",
    "agent.thread.closed",
    "channel.lifecycle.initialized channel.lifecycle.started",
    "channel.lifecycle.start_failed channel.lifecycle.stopped",
    "channel.webhook.registered channel.webhook.unregistered channel.rate_limited",
    "channel.message.outbound_queued channel.message.outbound_sent channel.message.outbound_failed",
    "bus.publish.failed bus.close.started bus.close.drained bus.close.completed",
    "gateway.start gateway.ready gateway.shutdown",
    "gateway.reload.started gateway.reload.completed gateway.reload.failed",
    "mcp.server.connecting mcp.server.connected mcp.server.failed",
    "mcp.tool.discovered mcp.tool.call.start mcp.tool.call.end",
)
UNHEARD = frozenset(name for line in ONLY_PICOCLAW for name in line.split())
"""Events that only picoclaw has."""


class Refused(Exception):
    """picoclaw would not start this hook; the text is its reason."""


class Block(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, members: object) -> object:
        if members is None:
            return {}
        if not isinstance(members, dict):
            return members
        return {name: member for name, member in cast("dict[str, Any]", members).items() if member is not None}


class Defaults(Block):
    """Milliseconds; zero and below mean picoclaw's own default."""

    observer_timeout_ms: int = 0
    interceptor_timeout_ms: int = 0
    approval_timeout_ms: int = 0


class Builtin(Block):
    enabled: bool = False
    priority: int = 0
    config: Any = None


class Process(Block):
    enabled: bool = False
    priority: int = 0
    transport: str = ""
    command: list[str] = Field(default_factory=list)
    dir: str = ""
    env: dict[str, str] = Field(default_factory=dict)
    observe: list[str] = Field(default_factory=list)
    intercept: list[str] = Field(default_factory=list)


class Hooks(Block):
    enabled: bool = True
    defaults: Defaults = Defaults()
    builtins: dict[str, Builtin] = Field(default_factory=dict)
    processes: dict[str, Process] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Modes:
    """What a process is asked and told.

    `unheard` names events that hookgate does not have, `unknown` what picoclaw does not know either; `runtime`: the
    process reads the newer envelope.
    """

    stages: tuple[Stage, ...]
    observe: tuple[str, ...]
    unheard: tuple[str, ...]
    unknown: tuple[str, ...]
    runtime: bool


# --- reading ------------------------------------------------------------------------------------------------


def read(file: Path) -> tuple[Hooks, tuple[str, ...]]:
    """The block, and a notice for all that is left out of the file. Raises ConfigError.

    The file is a whole config.json, or the block alone.
    """
    members = _members(file)
    if "hooks" not in members and members.keys() & {"processes", "builtins", "defaults"}:
        members = {"hooks": members}
    if "hooks" not in members:
        raise ConfigError(f"{file}: there is no `hooks` block")
    block: object = members["hooks"] or {}
    if not isinstance(block, dict):
        raise ConfigError(f"{file}: hooks: must be an object")
    others = [key(name) for name in members if name != "hooks"]
    beside = [f"{', '.join(others)}: left out, only `hooks` is taken over"] if others else []
    hooks, left_out = _carried(cast("dict[str, Any]", block))
    return hooks, (*beside, *left_out)


def _carried(block: dict[str, Any]) -> tuple[Hooks, list[str]]:
    """All of it but what is not understood, and a notice for each key that this costs."""
    notices: list[str] = []
    while True:
        try:
            return Hooks.model_validate(block), notices
        except ValidationError as error:
            wrong = [_left_out(it["loc"], it["type"], it["msg"]) for it in error.errors(include_url=False)]
            dropped = [f"{_place(loc)}: left out, {what}" for loc, what in wrong if _dropped(block, loc)]
            if not dropped:
                raise
            notices += dropped


def _left_out(loc: tuple[int | str, ...], kind: str, message: str) -> tuple[tuple[int | str, ...], str]:
    """What is dropped for a mistake, and why: a hook of which half is not understood is dropped whole."""
    if kind == "extra_forbidden":
        return loc, "neither picoclaw nor hookgate knows it"
    what = "it must be an object" if kind == "model_type" else message
    if len(loc) > 2 and loc[0] in ("processes", "builtins"):
        what = f"{key(str(loc[2]))}: {what}"
    return loc[:2], f"{what}; {UNJUDGED}" if loc[:1] == ("processes",) else what


UNJUDGED = "so nothing that it should judge is judged here"


def _dropped(block: dict[str, Any], loc: tuple[int | str, ...]) -> bool:
    """False where it has been dropped for another mistake."""
    inner: Any = block
    for part in loc[:-1]:
        inner = cast("dict[str, Any]", inner).get(str(part))
        if not isinstance(inner, dict):
            return False
    return cast("dict[str, Any]", inner).pop(str(loc[-1]), None) is not None


def _members(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"{file}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from None
    try:
        members = decode(text)
    except BadMessage as error:
        raise ConfigError(f"{file}: is not JSON: {error}") from None
    if not isinstance(members, dict):
        raise ConfigError(f"{file}: must hold a JSON object")
    return cast("dict[str, Any]", members)


def _place(loc: tuple[int | str, ...]) -> str:
    return ".".join(("hooks", *(key(str(part)) for part in loc)))


# --- judging ------------------------------------------------------------------------------------------------


def modes(process: Process) -> Modes:
    """Raises Refused, with picoclaw's words, in picoclaw's order."""
    if process.transport not in ("", "stdio"):
        raise Refused(f"unsupported transport {string(process.transport)}")
    if not process.command:
        raise Refused("command is required")
    observe, strange_events = _observed(process.observe)
    names = [name for name in dict.fromkeys(process.intercept) if name]
    stages = tuple(Stage(name) for name in names if name in KNOWN_STAGES)
    unknown = (*strange_events, *(f"unsupported intercept {string(it)}" for it in names if it not in KNOWN_STAGES))
    if not observe and not stages:
        raise Refused("; ".join(("no hook modes enabled", *unknown)))
    runtime = any("." in name for name in observe)
    heard = tuple(name for name in observe if name == "*" or name in HEARD)
    return Modes(stages, heard, tuple(name for name in observe if name not in heard), unknown, runtime)


KNOWN_STAGES = frozenset(Stage) - BEYOND_V1
"""Those of version 1: picoclaw has no others."""


def _observed(names: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is observed, and what is no event. The first name that means everything ends the list: picoclaw does not
    look at what follows it."""
    everything = next((place for place, name in enumerate(names) if name in ALL_EVENTS), None)
    looked_at = tuple(dict.fromkeys(names[:everything]))
    unknown = tuple(f"unsupported observe event {string(it)}" for it in looked_at if it not in HEARD | UNHEARD)
    known = tuple(it for it in looked_at if it in HEARD | UNHEARD)
    return known if everything is None else ("*",), unknown
