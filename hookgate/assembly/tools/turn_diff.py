"""What a turn changed in the workspace, as a diff for the person at the terminal. Knows no turn: it is told of calls.

A file that a call names is kept as it was before; one that changes unnamed is listed, its earlier content unknown.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from time import monotonic
from typing import TypeVar

import structlog
import trio

from hookgate.channels.printable import printable
from hookgate.loop.calls.execution_policy import Compare
from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.tools.errors import ToolError
from hookgate.tools.files.diffs import Content, diff
from hookgate.tools.files.files import opened
from hookgate.tools.files.observe_paths import Parts, named_paths, shown_path
from hookgate.tools.files.observe_scan import Scan, ScanLimits, scan
from hookgate.tools.files.workspace import Workspace, WorkspacePath

MAX_LINES = 500
MAX_FILE_BYTES = 1024 * 1024
MAX_KEPT_BYTES = 32 * 1024 * 1024
_READING_S = 0.2
_NAMED = ScanLimits(hashed=0, crowded=False)
_WHOLE = ScanLimits(entries=5000, seconds=0.5, hashed=0, crowded=False)
_PATIENCE_S = 2.0
_SAY_WHAT_THEY_CHANGE = frozenset({"write", "edit"})

_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class Recorder:
    """Watches every call that may change the workspace; `take` ends a turn. Never raises."""

    def __init__(self, workspace: Workspace, coloured: bool = False) -> None:
        self._workspace = workspace
        self._coloured = coloured
        self._taking = trio.Lock()
        """Held while a turn's diff is made: the next turn changes nothing before it is."""
        self._reset()

    async def watch(self, call: ToolCall) -> Compare:
        """The result does not matter: a call that fails may have changed something too."""
        async with self._taking:
            whole = await _looked(lambda: self._remember(call))
            if whole is not None:
                self._running.append(whole)

        async def compared(result: ToolResult) -> ToolResult:
            if whole is not None:
                await _looked(partial(self._compare, whole))
                self._running = [it for it in self._running if it is not whole]
            return result

        return compared

    async def take(self) -> str:
        """The diff of everything since the last time, with a line feed at its end; empty where nothing changed."""
        async with self._taking:
            lines = await _looked(self._lines) or []
            self._reset()
        more = len(lines) - MAX_LINES
        shown = [self._line(line) for line in lines[:MAX_LINES]]
        if more > 0:
            shown.append(f"... [{more} more lines]")
        return "".join(f"{line}\n" for line in shown)

    def _reset(self) -> None:
        self._running: list[Scan] = []
        self._first: dict[Parts, Content | None] = {}
        self._unknown: set[Parts] = set()
        self._room = MAX_KEPT_BYTES

    def _line(self, line: str) -> str:
        """What goes to a file or to a program stays as it is; a terminal gets nothing that moves its cursor."""
        if not self._coloured:
            return line
        colour = _BOLD if line.startswith(("--- ", "+++ ")) else _COLOURS.get(line[:1], "")
        return f"{colour}{printable(line)}{_PLAIN}" if colour else printable(line)

    # --- in a thread ----------------------------------------------------------------------------------------

    def _remember(self, call: ToolCall) -> Scan | None:
        """All that is there, where the call may change what it does not name."""
        named = named_paths(self._workspace, call)
        found = scan(self._workspace, named, _NAMED)
        # What another call that still runs has changed is no longer as it was before the turn.
        for before in tuple(self._running):
            self._differing(before, found)
        self._keep(dict.fromkeys((*named, *found.files)))
        return None if call.name in _SAY_WHAT_THEY_CHANGE else scan(self._workspace, [()], _WHOLE)

    def _keep(self, files: Iterable[Parts]) -> None:
        """The first sight of a file in a turn counts."""
        until = monotonic() + _READING_S
        for parts in files:
            if monotonic() > until:
                return
            if parts in self._first or parts in self._unknown:
                continue
            content = self._read(parts, self._room)
            self._first[parts] = content
            self._room -= len(content.data or b"") if content else 0

    def _compare(self, before: Scan) -> None:
        after = scan(self._workspace, [()], _WHOLE, before.files)
        self._differing(before, after)
        self._unknown.update(before.files.keys() - after.files.keys())

    def _differing(self, before: Scan, after: Scan) -> None:
        for parts, now in after.files.items():
            earlier = before.files.get(parts)
            if earlier is None and before.complete:
                self._first.setdefault(parts, None)
            elif earlier is None or now.differs(earlier):
                self._unknown.add(parts)

    def _lines(self) -> list[str]:
        lines: list[str] = []
        for parts in sorted({*self._first, *self._unknown}):
            lines += self._changed(parts)
        return lines

    def _changed(self, parts: Parts) -> Sequence[str]:
        name = shown_path(parts).replace("\n", "\\n")
        if parts in self._first:
            return diff(name, self._first[parts], self._read(parts))
        what = "changed" if os.path.lexists(self._workspace.root.joinpath(*parts)) else "deleted"
        return [f"{name}: {what}, earlier content unknown"]

    def _read(self, parts: Parts, room: int = MAX_KEPT_BYTES) -> Content | None:
        """None where there is nothing, or nothing that has content."""
        try:
            with opened(self._workspace, WorkspacePath(shown_path(parts), parts), "diff") as file:
                status = os.fstat(file.fileno())
                data = file.read(status.st_size) if status.st_size <= min(MAX_FILE_BYTES, room) else None
                return Content(status.st_size, data, (status.st_ino, status.st_mtime_ns))
        except (OSError, ToolError):
            return None


async def _looked(look: Callable[[], T]) -> T | None:
    """In a thread, and not for ever: a diff is not worth a turn."""
    with trio.move_on_after(_PATIENCE_S):
        try:
            return await trio.to_thread.run_sync(look, abandon_on_cancel=True)
        except Exception:
            _log.exception("turn_not_recorded")
    return None
