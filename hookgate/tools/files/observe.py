"""Compares the files that a call names before and after it ran: what changed is observed, whatever it claims.

Knows no tool. Looking never harms a call: what cannot be seen in time is not told.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import structlog
import trio

from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.protocol.values.effects import Effect, FileEffect
from hookgate.tools.files.observe_paths import Parts, named_paths
from hookgate.tools.files.observe_scan import Scan, ScanLimits, changes, scan
from hookgate.tools.files.workspace import Workspace

PATIENCE_S = 1.0
"""For a file system that does not answer; the work itself has its own, smaller limits."""

T = TypeVar("T")

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Before:
    named: tuple[Parts, ...]
    scan: Scan


async def watch(workspace: Workspace, call: ToolCall) -> Callable[[ToolResult], Awaitable[ToolResult]]:
    """Looks before a call that may change the workspace, while nobody else does; what it returns, after it.

    The result then has the changes of files that were seen: they take the place of equal claims.
    """
    before = await _looked(lambda: _before(workspace, call))

    async def compared(result: ToolResult) -> ToolResult:
        # The call has happened, so a cancellation must not lose what is known of it; the next step ends the turn.
        seen = await _looked(lambda: _changes(workspace, before) if before else (), shield=True)
        return replace(result, effects=merged(result.effects, seen)) if seen else result

    return compared


async def _looked(look: Callable[[], T], *, shield: bool = False) -> T | None:
    with trio.move_on_after(PATIENCE_S, shield=shield):
        try:
            return await trio.to_thread.run_sync(look, abandon_on_cancel=True)
        except Exception:
            _log.exception("files_not_observed")
    return None


def _before(workspace: Workspace, call: ToolCall) -> _Before | None:
    named = named_paths(workspace, call)
    return _Before(named, scan(workspace, named, ScanLimits())) if named else None


def _changes(workspace: Workspace, before: _Before) -> tuple[FileEffect, ...]:
    after = scan(workspace, before.named, ScanLimits(), before.scan.files)
    return changes(before.scan, after, before.named)


def merged(claimed: Iterable[Effect], seen: Iterable[FileEffect]) -> tuple[Effect, ...]:
    """The claims in their order, with what was seen in place of those that say the same; then the rest of it."""
    found = {(it.op, it.path, it.from_path): it for it in seen}
    effects: list[Effect] = []
    for claim in claimed:
        match claim:
            case FileEffect(op="append", path=path) if ("modify", path, None) in found:
                effects.append(replace(found.pop(("modify", path, None)), op="append"))
            case FileEffect(op=op, path=path, from_path=origin) if (op, path, origin) in found:
                effects.append(found.pop((op, path, origin)))
            case _:
                effects.append(claim)
    return (*effects, *found.values())
