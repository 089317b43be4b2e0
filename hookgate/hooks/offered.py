"""The tools that hooks put into a request: those they declared, those they add, and that a model can use them.

Which of them are away while their hook's process starts again is known here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import structlog

from hookgate.hooks.rules import Mount
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.events.payloads import HookFailed
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import LLMRequest, Step, ToolSpec
from hookgate.protocol.zot.names import EXTENSION

MAX_KNOWN = 1024
"""Tools of hooks that are known to be usable."""

log = structlog.get_logger("hookgate.hooks")

Fits = Callable[[ToolSpec], bool]
"""Whether a tool that a hook has brought is one that the agent may have there."""


def fitting(request: LLMRequest, fits: Fits) -> LLMRequest:
    """Without those of hooks' tools that do not; the very same where all do."""
    unfit = {spec.name for spec in request.tools if spec.owner and not fits(spec)}
    return replace(request, tools=tuple(it for it in request.tools if it.name not in unfit)) if unfit else request


class Offered:
    """`problem`: what is wrong with a spec, if something is. Each hook is told of a tool once."""

    def __init__(self, problem: Callable[[ToolSpec], str | None], emit: Callable[[HookFailed, Step], None]) -> None:
        self._problem = problem
        self._emit = emit
        self._told: set[tuple[str, str]] = set()
        self._fine: dict[tuple[str, str], ToolSpec] = {}
        self._brought: dict[tuple[str, str], str] = {}
        self._registered: dict[str, str] = {}
        self._remembered: dict[str, tuple[Sequence[Mount], Sequence[ToolSpec]]] = {}
        self.absent: Callable[[str], str] = lambda _tool: ""
        """Why a tool cannot be called just now that neither a hook nor an extension has brought; else empty."""

    def declared(self, mounts: Sequence[Mount], step: Step, request: LLMRequest, fits: Fits) -> LLMRequest:
        """With the tools that hooks declared at hello, where their match covers this chat and model."""
        taken = {spec.name for spec in request.tools}
        added: list[ToolSpec] = []
        for mount in mounts:
            if not mount.enforces or not mount.rules.match.matches(step, "", request.model):
                continue
            for spec in mount.hook.declared.tools:
                own = replace(spec, provider=f"hook:{mount.name}")
                if spec.name not in taken and fits(own) and self._is_fine(mount, step, spec):
                    taken.add(spec.name)
                    added.append(own)
        return replace(request, tools=(*request.tools, *added)) if added else request

    def usable(self, mount: Mount, question: Question, request: LLMRequest) -> LLMRequest:
        """Of the tools that a hook wrote those that can be used, each once; a known one that it broke as it was."""
        assert isinstance(question.subject, LLMRequest)  # noqa: S101 - as after it, so before
        known = {spec.name: spec for spec in question.subject.tools}
        kept: dict[str, ToolSpec] = {}
        for spec in request.tools:
            before = known.get(spec.name)
            usable = spec if spec is before or self._is_fine(mount, question.step, spec) else before
            if usable is not None:
                kept.setdefault(spec.name, usable)
        tools = tuple(kept.values())
        return request if tools == request.tools else replace(request, tools=tools)

    def brought(self, extension: str, tools: Iterable[str]) -> None:
        """It has registered these, offered or not yet; they stay known where its process ends."""
        self._registered |= dict.fromkeys(tools, extension)

    def remember(self, mounts: Sequence[Mount], step: Step, request: LLMRequest) -> None:
        """Which hook or extension has brought a tool that this agent's model is offered now."""
        before = self._remembered.get(step.agent)
        # Of one call of the model to the next they are mostly the very same.
        if before is not None and before[0] is mounts and before[1] is request.tools:
            return
        names = {mount.name for mount in mounts}
        if len(self._brought) >= MAX_KNOWN:
            self._brought.clear()
            self._remembered.clear()
        self._remembered[step.agent] = mounts, request.tools
        for spec in request.tools if names else ():
            hook = spec.owner or spec.provider
            # Empty: a name that is another's by now.
            self._brought[step.agent, spec.name] = hook if hook in names else ""

    def away(self, mounts: Sequence[Mount], step: Step, tool: str, model: str) -> str:
        """Why nobody can call a tool just now that was offered to this agent's model, or that an extension or
        a server has registered; empty where nothing is known of it, or it is there."""
        hook = self._brought.get((step.agent, tool), self._registered.get(tool))
        for mount in mounts if hook else ():
            if mount.name == hook and (how := mount.down()) and mount.rules.match.matches(step, "", model):
                kind = "extension" if mount.name.startswith(EXTENSION) else "hook"
                return f"the {kind} {mount.name.removeprefix(EXTENSION)} {how}"
        return self.absent(tool)

    def _is_fine(self, mount: Mount, step: Step, spec: ToolSpec) -> bool:
        place = (mount.name, spec.name)
        # A hook adds the same tool to each request.
        known = self._fine.get(place)
        if known is spec or known == spec:
            return True
        problem = self._problem(spec)
        if problem is None:
            if len(self._fine) >= MAX_KNOWN:
                self._fine.clear()
            self._fine[place] = spec
        elif place not in self._told:
            self._told.add(place)
            self._emit(HookFailed(mount.name, Stage.BEFORE_LLM, problem, "continue"), step)
            log.warning("hook_tool_refused", hook=mount.name, tool=spec.name, reason=problem)
        return problem is None
