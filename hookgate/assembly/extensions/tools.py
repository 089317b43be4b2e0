"""Joins the tools of extensions to the registry, and keeps those from a request whose chat may not have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

import structlog

from hookgate.hooks.inside import InsideHook
from hookgate.hooks.rules import Mount, Rules
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.answers import CONTINUE, Answer, Modify
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.values import LLMRequest, Step
from hookgate.protocol.zot.names import EXTENSION
from hookgate.tools.errors import BadSpec, NameConflict
from hookgate.tools.names import RESERVED
from hookgate.tools.registry import Registry

log = structlog.get_logger("hookgate.extensions")

Covers = Callable[[str, Step], bool]
"""Whether an extension, by its name, takes part in this step."""


@dataclass
class OfferedTools:
    """`offer` is told all tools of an extension each time they change; none: it is down. `brought` hears which hook
    has registered which."""

    registry: Registry
    brought: Callable[[str, Iterable[str]], None] = lambda _hook, _tools: None
    _held: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def offer(self, extension: str, rank: int, tools: Sequence[Tool]) -> None:
        """Of several extensions' tools of one name the first in load order is visible."""
        provider = EXTENSION + extension
        held = frozenset(tool.spec.name for tool in tools if self._registered(tool, -rank))
        for name in self._held.get(extension, frozenset()) - held:
            self.registry.unregister(name, provider)
        self._held[extension] = held
        self.brought(provider, held)

    def _registered(self, tool: Tool, priority: int) -> bool:
        spec = tool.spec
        try:
            if spec.name in RESERVED:
                raise NameConflict(spec.name, "hookgate")
            self.registry.register(tool, priority=priority)
        except (BadSpec, NameConflict) as error:
            log.warning("extension_tool_refused", provider=spec.provider, tool=spec.name, reason=str(error))
            return False
        return True


def tool_matcher(covers: Covers) -> Mount:
    """Takes the tools of extensions out of a request that they have no part in."""

    async def judge(question: Question) -> Answer:
        request = question.subject
        if not isinstance(request, LLMRequest):
            return CONTINUE
        kept = tuple(it for it in request.tools if fits(it.provider, question.step, covers))
        return CONTINUE if len(kept) == len(request.tools) else Modify({"tools": kept})

    return Mount(
        InsideHook("zot match", {Stage.BEFORE_LLM: judge}), Rules(frozenset({Stage.BEFORE_LLM}), inside=True)
    )


def fits(provider: str, step: Step, covers: Covers) -> bool:
    """Whether a tool of this provider may be had there, as far as extensions have a say in it."""
    return not provider.startswith(EXTENSION) or covers(provider.removeprefix(EXTENSION), step)
