"""The configured guards as hooks of this process: which stands where, in which order, enforcing or in audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import structlog

from hookgate.guards.edited_tests import TestEditGuard
from hookgate.guards.fan_out import FanOutGuard
from hookgate.guards.loop import LoopGuard, LoopLimits
from hookgate.guards.plan_first import PlanFirstGuard
from hookgate.guards.read_first import ReadFirstGuard
from hookgate.guards.remembered import SpecOf
from hookgate.guards.shell.guard import TOOL, ShellGuard
from hookgate.hooks.inside import InsideHook, Judge
from hookgate.hooks.rules import Mode, Mount, Rules
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.event import Event
from hookgate.protocol.hook.match import Globs, Matcher, Observed
from hookgate.protocol.hook.stages import Stage
from hookgate.sections.guards import GuardsSection
from hookgate.sections.guards import LoopGuard as LoopSection

log = structlog.get_logger("hookgate.guards")

GUARD = "guard:"
"""What the names of these hooks begin with."""
_FIRST = -1000
"""The priority of the first guard: it counts every call, whoever refuses it later."""
_EARLY = ("turn_end", "tool_exec_skipped")
_ENDED = (*_EARLY, "tool_exec_end")


@dataclass(frozen=True)
class _Guard:
    """One guard, ready to be mounted. Empty `tools`: asked about every tool."""

    name: str
    mode: Mode
    judges: Mapping[Stage, Judge]
    hear: Callable[[Event], None] | None = None
    observes: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


def guard_mounts(section: GuardsSection, workspace: Path, spec_of: SpecOf) -> tuple[Mount, ...]:
    """The guards that are not off, in the order in which they are asked; redaction is none of them.

    `spec_of`: the visible tool of a name, now.
    """
    root = str(workspace)
    guards = (
        _loop(section.loop, spec_of),
        _fan_out(section, spec_of),
        _plan_first(section, spec_of),
        _test_edit(section, root, spec_of),
        _read_first(section, root, spec_of),
        _shell(section),
    )
    return tuple(_mount(number, guard) for number, guard in enumerate(guards) if guard.mode != "off")


def _mount(number: int, guard: _Guard) -> Mount:
    rules = Rules(
        stages=frozenset(guard.judges),
        observe=Observed(guard.observes),
        match=Matcher({"tools": Globs(guard.tools)} if guard.tools else {}),
        priority=_FIRST + number,
        mode=guard.mode,
        on_failure={Stage.BEFORE_TOOL: "deny"},
        inside=True,
    )
    return Mount(InsideHook(f"{GUARD}{guard.name}", guard.judges, guard.hear, waits=False), rules)


def _loop(section: LoopSection, spec_of: SpecOf) -> _Guard:
    limits = LoopLimits(
        same_advice=section.same_advice,
        same_refuse=section.same_refuse,
        tool_advice=section.tool_advice,
        tool_refuse=section.tool_refuse,
        advice_limit=section.advice_limit,
        repeats=section.repeats,
    )
    it = LoopGuard(limits, spec_of)
    judges = {
        Stage.BEFORE_LLM: it.before_llm,
        Stage.BEFORE_TOOL: it.before_tool,
        Stage.AFTER_TOOL: it.after_tool,
    }
    return _Guard("loop", section.mode, judges, it.hear, _ENDED)


def _fan_out(section: GuardsSection, spec_of: SpecOf) -> _Guard:
    limits = section.fan_out.limits
    it = FanOutGuard(limits, spec_of)
    judges = _around(it.before_tool, it.after_tool)
    # A tool without a limit costs nothing; and where none has one, no tool does.
    return _Guard("fan_out", section.fan_out.mode if limits else "off", judges, it.hear, _EARLY, tuple(limits))


def _plan_first(section: GuardsSection, spec_of: SpecOf) -> _Guard:
    it = PlanFirstGuard(section.plan_first.plan_tools, spec_of)
    judges = _around(it.before_tool, it.after_tool)
    return _Guard("plan_first", section.plan_first.mode, judges, it.hear, ("turn_end",))


def _test_edit(section: GuardsSection, root: str, spec_of: SpecOf) -> _Guard:
    it = TestEditGuard(root, section.test_edit.refuse, spec_of)
    return _Guard("test_edit", section.test_edit.mode, _around(it.before_tool, it.after_tool))


def _read_first(section: GuardsSection, root: str, spec_of: SpecOf) -> _Guard:
    it = ReadFirstGuard(root, section.read_before_write.strict, spec_of)
    return _Guard("read_before_write", section.read_before_write.mode, _around(it.before_tool, it.after_tool))


def _shell(section: GuardsSection) -> _Guard:
    it = ShellGuard(section.shell.profile)
    return _Guard("shell", section.shell.mode, {Stage.BEFORE_TOOL: it.before_tool}, tools=(TOOL,))


def _around(before: Judge, after: Judge) -> Mapping[Stage, Judge]:
    return {Stage.BEFORE_TOOL: before, Stage.AFTER_TOOL: after}
