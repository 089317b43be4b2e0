"""Makes tools, takes them away and brings them back.

One task owns everything that runs; one change happens at a time. Who may ask for a change is decided elsewhere:
the gate and a person have said yes before anything here is called.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path

import structlog
import trio

from hookgate.protocol.catalog import EVERYWHERE, RowOrigin, ToolRow
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.values import JsonObject
from hookgate.tools.dynamic.argv import ArgvTool, approved, described, find
from hookgate.tools.dynamic.draft import NEW_TOOL, Draft, invalid
from hookgate.tools.dynamic.identity import digest, tool_spec
from hookgate.tools.dynamic.ledger import Ledger
from hookgate.tools.dynamic.made import MadeTool, Program, Workplace, started
from hookgate.tools.dynamic.packages import lacking, required
from hookgate.tools.dynamic.scaffold import program_text
from hookgate.tools.dynamic.standing import Facts, Standing, standing
from hookgate.tools.errors import BadSpec, NameConflict, ToolError
from hookgate.tools.registry import check_spec

UNREGISTER_TOOL = "unregister_tool"
APPROVE = "approve"

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Terms:
    """What the operator allows. `packages` are what a tool may require besides the standard library."""

    max_tools: int = 32
    packages: tuple[str, ...] = ()
    argv_roots: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Made:
    """What became of a wish for a tool."""

    name: str
    replaced: bool = False
    unchanged: bool = False


class Workshop:
    """Every method that changes something raises ToolError, and then nothing has changed."""

    def __init__(self, terms: Terms, place: Workplace, ledger: Ledger) -> None:
        self.terms, self.place, self.ledger = terms, place, ledger
        self._running: dict[str, Tool] = {}
        self._failed: dict[str, str] = {}
        self._lasting: dict[str, str] = {}
        self._changing = trio.Lock()
        self._requests, self._inbox = trio.open_memory_channel[MadeTool](inf)

    async def run(self, task_status: trio.TaskStatus[None]) -> None:
        """Own every process until cancelled. Reports started once what the catalog holds has been tried."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._employ, nursery)
            await self._restore_all()
            task_status.started()

    async def _employ(self, nursery: trio.Nursery) -> None:
        async for tool in self._inbox:
            nursery.start_soon(tool.run)

    async def standings(self) -> tuple[Standing, ...]:
        """Every kept tool, and why it does not run where it does not."""
        return tuple([await self._standing(row) for row in self.ledger.rows])

    async def _standing(self, row: ToolRow) -> Standing:
        if row.name in self._running:
            return Standing(row, "ok", running=True)
        now = await self.ledger.digest(row, self.terms.argv_roots)
        found = standing(row, Facts(now, self.ledger.holder(row.name), lacking(required(row), self.terms.packages)))
        return replace(found, reason=found.reason or self._failed.get(row.name, ""))

    # --- changes ---

    def allow_always(self, sha256: str, by: str) -> None:
        """Once a tool of this digest is made, it comes back with every start, as long as it is exactly that."""
        self._lasting[sha256] = by

    async def make(self, draft: Draft, *, replace_it: bool = False, approved_by: str = "approval") -> Made:
        """Write, start, keep and register it."""
        text = program_text(draft)
        _check(draft.members)
        if problem := lacking(draft.requires, self.terms.packages):
            raise invalid(problem)
        path, sha256 = self.ledger.shelf.path(draft.name), digest(text, draft.members)
        async with self._changing:
            old = self.ledger.row(draft.name)
            replaced = await self._gives_way(old, Program(text, draft.members), sha256, replace_it)
            always = self._lasting.pop(sha256, "")
            granted = sha256 if always else old.granted if old else None
            row = _approved(self._row(draft.members, path, sha256), "model", always or approved_by)
            row = replace(row, granted=granted)
            if (running := self._running.get(draft.name)) is not None and not replaced:
                if always:
                    await self.ledger.keep(row, running, old)
                return Made(draft.name, unchanged=True)
            async with self._started(Program(text, draft.members)) as tool:
                await self.ledger.keep(row, tool, old, text)
            self._exchange(draft.name, tool)
        return Made(draft.name, replaced=replaced)

    async def register_argv(self, path: Path, by: str, *, everywhere: bool = False) -> Made:
        """Keep and register a program of the operator's, under the name that it gives itself."""
        program = await find(path, self.terms.argv_roots)
        members = await described(program, self.place)
        _check(members)
        name = str(members["name"])
        async with self._changing:
            self._check_name(name)
            old = self.ledger.row(name)
            row = replace(self._row(members, program.path, approved(program, members)), kind="argv")
            row = replace(row, workspace=EVERYWHERE) if everywhere else row
            tool, replaced = ArgvTool(program, members, self.terms.argv_roots, self.place), name in self._running
            await self.ledger.keep(_approved(row, "operator", by), tool, old)
            self._exchange(name, tool)
        return Made(name, replaced=replaced)

    async def approve(self, row: ToolRow, by: str, *, everywhere: bool = False) -> Made:
        """The operator vouches for a kept tool as it was seen, `row`: it runs now and comes back with every start.

        `everywhere`: in all workspaces from now on, else where it was. Raises ToolError (stale) where it is another
        by now.
        """
        name = row.name
        async with self._changing:
            if self.ledger.known(name, APPROVE) != row:
                raise ToolError("stale", APPROVE, f"{name} is not what was shown: it has changed since")
            found = await self._standing(row)
            if found.state not in ("ok", "needs_approval"):
                raise ToolError("stale", APPROVE, f"{name} is {found.state}: {found.reason}")
            async with self._revived(row) as tool:
                kept = replace(row, workspace=EVERYWHERE) if everywhere else row
                await self.ledger.keep(_approved(kept, "operator", by), tool, row)
            self._exchange(name, tool)
        return Made(name)

    async def remove(self, name: str, by: RowOrigin) -> None:
        """Out of catalog and registry, its process stopped; the file stays. The model removes its own tools alone."""
        async with self._changing:
            row = self.ledger.known(name, UNREGISTER_TOOL)
            if by == "model" and row.origin == "operator":
                raise _operators(UNREGISTER_TOOL, name)
            await self.ledger.drop(row)
            self._exchange(name, None)

    def _exchange(self, name: str, tool: Tool | None) -> None:
        """What ran under this name ends; what comes instead runs already."""
        self._failed.pop(name, None)
        old = self._running.pop(name, None)
        if isinstance(old, MadeTool):
            old.stop()
        if tool is not None:
            self._running[name] = tool

    # --- conditions ---

    def _row(self, members: JsonObject, source: Path, sha256: str) -> ToolRow:
        name, where = str(members["name"]), self.ledger.workspace
        return ToolRow(name, "process", members, str(source), sha256, "model", where)

    def _check_name(self, name: str) -> None:
        holder = self.ledger.holder(name)
        if holder:
            raise invalid(f"name: {name!r} is taken by {holder}; choose another")
        others = self.ledger.names - {name}
        if len(others) >= self.terms.max_tools:
            reason = f"there are {len(others)} tools of this kind already, as many as are allowed"
            raise ToolError("budget", NEW_TOOL, f"{reason}; remove one with {UNREGISTER_TOOL} first")

    async def _gives_way(self, row: ToolRow | None, wanted: Program, sha256: str, replace_it: bool) -> bool:
        """Whether there is another tool of this name that may be replaced; False where there is none."""
        name = wanted.name
        self._check_name(name)
        if row is not None and row.origin == "operator":
            raise _operators(NEW_TOOL, name)
        there = await self.ledger.shelf.text(self.ledger.shelf.path(name))
        # The same tool once more: after a restart that is how the model gets it approved again.
        if there in (None, wanted.text) and (row is None or row.sha256 == sha256):
            return False
        if not replace_it:
            raise invalid(f"name: there is a tool {name!r} already; give replace to put this one in its place")
        return True

    # --- starting ---

    @asynccontextmanager
    async def _started(self, program: Program) -> AsyncGenerator[MadeTool]:
        """A tool whose process is up. Unless the caller gets through, it is stopped again."""
        tool = MadeTool(program, self.place)
        try:
            self._requests.send_nowait(tool)
            await started(tool)
            yield tool
        except BaseException:
            tool.stop()
            raise

    @asynccontextmanager
    async def _revived(self, row: ToolRow) -> AsyncGenerator[Tool]:
        """The tool of a row, from what lies on disk, if that is what was approved."""
        if row.kind == "argv":
            program = await find(Path(row.source), self.terms.argv_roots)
            _refuse_changed(row, approved(program, row.spec))
            yield ArgvTool(program, row.spec, self.terms.argv_roots, self.place)
            return
        # Read once: what is compared is what runs.
        text = await self.ledger.shelf.text(Path(row.source)) or ""
        _refuse_changed(row, digest(text, row.spec))
        if problem := lacking(required(row), self.terms.packages):
            raise ToolError("permission", APPROVE, problem, denied_by="rule:packages")
        async with self._started(Program(text, row.spec)) as tool:
            yield tool

    async def _restore_all(self) -> None:
        """Start what may start, side by side; each has its own deadline, and none keeps another from starting."""
        async with trio.open_nursery() as nursery:
            for found in await self.standings():
                if found.state == "ok":
                    nursery.start_soon(self._restore, found.row)

    async def _restore(self, row: ToolRow) -> None:
        try:
            async with self._revived(row) as tool:
                self.ledger.registry.register(tool)
                self._running[row.name] = tool
        except (ToolError, OSError, NameConflict, BadSpec) as error:
            self._failed[row.name] = str(error)

    async def warn(self) -> None:
        """A log line for each kept tool that does not run: for whoever begins to work, not for who only looks."""
        for found in await self.standings():
            if not found.running:
                state = "failed" if found.state == "ok" else found.state
                _log.warning("tool_not_restored", tool=found.row.name, state=state, reason=found.reason)


@asynccontextmanager
async def open_workshop(workshop: Workshop) -> AsyncGenerator[Workshop]:
    """Bring back what the catalog holds, then be open for changes. Leaving stops every process.

    Once open, nothing that happens to a tool raises here.
    """
    async with trio.open_nursery() as nursery:
        await nursery.start(workshop.run)
        yield workshop
        nursery.cancel_scope.cancel()


def _approved(row: ToolRow, origin: RowOrigin, by: str) -> ToolRow:
    return replace(row, origin=origin, approved_by=by, approved_at=time.time())


def _refuse_changed(row: ToolRow, found: str) -> None:
    if found != row.sha256:
        raise ToolError("stale", APPROVE, f"{row.source} is not what was approved")


def _check(members: JsonObject) -> None:
    try:
        check_spec(tool_spec(members))
    except BadSpec as error:
        raise invalid(str(error)) from None


def _operators(op: str, name: str) -> ToolError:
    reason = f"{name!r} belongs to the operator, and only the operator changes it"
    return ToolError("permission", op, reason, denied_by="rule:operator")
