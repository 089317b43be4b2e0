"""The handshake: what hookgate offers a hook, and what the hook declares of itself."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import Field

from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.kinds import kind_of
from hookgate.protocol.hook.patches import Patch, checked
from hookgate.protocol.hook.stages import BEYOND_V1, Stage
from hookgate.protocol.hook.wire import parse_tools
from hookgate.protocol.values import ToolSpec


@dataclass(frozen=True, slots=True)
class Hello:
    """What a hook says of itself; a v1 hook says nothing. `stages`, `events` narrow what config gives it."""

    name: str = ""
    tools: tuple[ToolSpec, ...] = ()
    stages: frozenset[Stage] | None = None
    events: tuple[str, ...] | None = None
    cancel: bool = False
    max_in_flight: int | None = None

    def standing(self, offered: frozenset[Stage]) -> frozenset[Stage]:
        """Where it stands of what it was offered: a plain hook of version 1 names none, and takes all that version 1
        has."""
        return offered - BEYOND_V1 if self.stages is None else offered & self.stages


class HelloPatch(Patch):
    ok: bool | None = None
    name: str | None = None
    error: str | None = None
    reason: str | None = None
    tools: list[Any] | None = None
    stages: list[str] | None = None
    events: list[str] | None = None
    cancel: bool | None = None
    max_in_flight: Annotated[int, Field(ge=1)] | None = None


Mode = Literal["observe", "llm", "tool", "approve", "message"]


def hello_params(
    name: str, stages: frozenset[Stage], observes: bool, media_dir: str = "", workspace: str = ""
) -> bytes:
    """`modes` as on the page, `stages` exactly; both in a fixed order. `media_dir`: where files of messages lie;
    `workspace`: what relative paths of tools count from."""
    ordered = [stage for stage in Stage if stage in stages]
    modes: list[Mode] = ["observe"] if observes else []
    if stages & {Stage.BEFORE_LLM, Stage.AFTER_LLM}:
        modes.append("llm")
    if stages & {Stage.BEFORE_TOOL, Stage.AFTER_TOOL}:
        modes.append("tool")
    if Stage.APPROVE_TOOL in stages:
        modes.append("approve")
    if stages & BEYOND_V1:
        modes.append("message")
    folders = {name: folder for name, folder in (("media_dir", media_dir), ("workspace", workspace)) if folder}
    return encode({"name": name, "version": 1, "stages": ordered, "modes": modes, **folders})


def parse_hello(result: object, offered: frozenset[Stage]) -> Hello:
    """Raises BadMessage where the hook refuses (`ok: false`) or declares what cannot be."""
    if not isinstance(result, dict):
        raise BadMessage(f"the hello result must be an object, not {kind_of(result)}")
    hello = checked(HelloPatch, cast("dict[str, Any]", result), "hello")
    if hello.ok is False:
        why = hello.reason or hello.error
        raise BadMessage(f"the hook refused: {why}" if why else "the hook answered ok: false")
    stages = None if hello.stages is None else _stages(hello.stages, offered)
    tools = parse_tools(hello.tools or [], "hello.tools")
    if tools and Stage.BEFORE_TOOL not in (offered if stages is None else stages):
        raise BadMessage("hello.tools needs the stage before_tool, which answers their calls")
    events = None if hello.events is None else tuple(hello.events)
    return Hello(hello.name or "", tools, stages, events, bool(hello.cancel), hello.max_in_flight)


def undeclared(hello: Hello, stages: frozenset[Stage]) -> str | None:
    """What keeps a hook that stands at these stages from working: it leaves out of its hello what has to be named."""
    declined = sorted(stages - hello.standing(stages))
    if Stage.APPROVE_TOOL in declined:
        return "it leaves approve_tool out of its stages, though it is configured to approve"
    if unheard := [stage for stage in declined if stage in BEYOND_V1]:
        return f"it is configured to stand at {', '.join(unheard)}, which its hello has to name in `stages`"
    return None


def left_out(hello: Hello, stages: frozenset[Stage]) -> str | None:
    """Where it is not asked although it is configured to stand there: its hello names other stages."""
    declined = stages - hello.standing(stages)
    names = ", ".join(stage for stage in Stage if stage in declined)
    return f"it leaves out {names}, where it is configured to stand" if names else None


def _stages(names: list[str], offered: frozenset[Stage]) -> frozenset[Stage]:
    for name in names:
        if name not in offered:
            raise BadMessage(f"hello.stages: {name[:80]!r} was not offered")
    return frozenset(Stage(name) for name in names)
