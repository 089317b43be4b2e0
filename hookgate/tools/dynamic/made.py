"""A tool whose program is a process of its own: one call at a time, and a process that fails one is replaced.

One task owns the process; callers wait in line. A process is started when a call needs one and none runs, each
time from the text that was approved, whatever lies on disk by now.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import field
from pathlib import Path

import structlog
import trio

from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.values import JsonObject, ToolCall, ToolResult, ToolSpec
from hookgate.tools.dynamic.cell.cell import SYSTEM, Cell, open_cell, overfull
from hookgate.tools.dynamic.identity import CALL_TIMEOUT_S, START_TIMEOUT_S, same_tool, tool_spec
from hookgate.tools.dynamic.process import OpenToolProcess, ProgramSpec, ToolProcess, ToolProcessFailed
from hookgate.tools.errors import ToolError
from hookgate.tools.failures import failure
from hookgate.tools.shell.sandbox import Sandbox

MAX_RESULT_BYTES = 1 << 20
BUSY_S = 5.0
"""Its CPU time is limited for all calls together; after so much work the next call gets a new process."""
WATCH_S = 1.0
"""How often the private folder is looked at, also between calls: what a call left behind may fill it."""
REMOVED = "it was removed or replaced"
HINT = "Mend its code with new_tool and replace, or call it with other arguments."

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Workplace:
    """How programs are started here. Times in seconds; `environment` gives PATH and LANG; `readable` is what a made
    tool may read besides the machine's programs."""

    open_tool_process: OpenToolProcess
    sandbox: Sandbox
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    call_timeout_s: float = CALL_TIMEOUT_S
    start_timeout_s: float = START_TIMEOUT_S
    readable: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Program:
    """What was approved: the whole text, and the members of the catalog's spec."""

    text: str
    members: JsonObject

    @property
    def name(self) -> str:
        return str(self.members["name"])

    @property
    def argv(self) -> tuple[str, ...]:
        """Isolated from the caller's Python settings; without packages unless it requires some."""
        bare = () if self.members.get("requires") else ("-S",)
        return (sys.executable, "-I", *bare, "-B", "tool.py")


@dataclass
class _Live:
    """`full`: why its private folder holds too much, once it does."""

    process: ToolProcess
    cell: Cell
    over: trio.Event = field(default_factory=trio.Event)
    full: str = ""


class MadeTool:
    """`run` must run while it is called; `stop` ends it for good, at once."""

    def __init__(self, program: Program, place: Workplace) -> None:
        self.spec: ToolSpec = tool_spec(program.members)
        self._program, self._place = program, place
        self._scope = trio.CancelScope()
        self._turn = trio.Lock()
        self._wanted, self._tried = trio.Event(), trio.Event()
        self._live: _Live | None = None
        self._problem = ""
        self._busy_s = 0.0

    async def start(self) -> None:
        """Until its process is up. Raises ToolProcessFailed with the reason and what it said on stderr."""
        async with self._turn:
            await self._process()

    async def execute(self, call: ToolCall) -> ToolResult:
        async with self._turn:
            try:
                live = await self._process()
            except ToolProcessFailed as error:
                return self._unstarted(call, str(error))
            return await self._called(call, live)

    def stop(self) -> None:
        self._live, self._problem = None, REMOVED
        self._scope.cancel()

    async def run(self) -> None:
        """Own the process until stopped or cancelled."""
        try:
            with self._scope:
                while True:
                    await self._wanted.wait()
                    self._wanted = trio.Event()
                    await self._live_once()
        finally:
            self.stop()
            self._tried.set()

    # --- calls ---

    async def _process(self) -> _Live:
        live = self._live
        if live is not None and (live.over.is_set() or live.process.ended.is_set() or self._busy_s > BUSY_S):
            self._discard(live)
        if self._live is None and not self._scope.cancel_called:
            self._tried = trio.Event()
            self._wanted.set()
            await self._tried.wait()
        if self._live is None:
            raise ToolProcessFailed(self._problem)
        return self._live

    async def _called(self, call: ToolCall, live: _Live) -> ToolResult:
        """A call that ends without an answer, cut short by a timeout or a person, takes the process with it."""
        live.cell.tail.mark()
        begun, answered = trio.current_time(), False
        try:
            result = await live.process.call(call.arguments, self._place.call_timeout_s)
            answered = True
        except ToolProcessFailed as error:
            return self._unanswered(call, live, str(error))
        finally:
            self._busy_s += trio.current_time() - begun
            if not answered:
                self._discard(live)
        live.full = live.full or await overfull(live.cell)
        if live.full:
            return self._overfull(call, live)
        return self._checked(call, live, result)

    def _unstarted(self, call: ToolCall, reason: str) -> ToolResult:
        if self._scope.cancel_called:
            return failure("not_found", call.name, REMOVED)
        return failure("fatal", call.name, f"its program does not start: {reason}")

    def _unanswered(self, call: ToolCall, live: _Live, reason: str) -> ToolResult:
        if self._scope.cancel_called:
            return failure("not_found", call.name, REMOVED)
        if live.full:
            return self._overfull(call, live)
        said = _with_tail(reason, live.cell)
        if live.process.ended.is_set():
            return failure("fatal", call.name, f"its program ended: {said}", hint=HINT)
        return failure("transient", call.name, f"{said}; its process was stopped", hint=HINT)

    def _overfull(self, call: ToolCall, live: _Live) -> ToolResult:
        # The folder goes with the process.
        self._discard(live)
        return failure("budget", call.name, f"{live.full}; all of it was removed", hint=HINT)

    def _checked(self, call: ToolCall, live: _Live, result: ToolResult) -> ToolResult:
        """Only text, data and the error flag count: what else a result can say is not a made tool's to say."""
        data = result.data if isinstance(result.data, Mapping) else None
        size = max(len(result.for_llm.encode("utf-8", "replace")), len(encode(data)))
        if size > MAX_RESULT_BYTES:
            return failure("budget", call.name, f"it returned {size} bytes, more than {MAX_RESULT_BYTES}", hint=HINT)
        if result.is_error:
            return failure("unknown", call.name, _with_tail(result.for_llm, live.cell), hint=HINT)
        return ToolResult(result.for_llm, data=data)

    def _discard(self, live: _Live) -> None:
        live.over.set()
        self._live = None

    # --- the process ---

    async def _live_once(self) -> None:
        """One process, from its start to its end. A failed start is told to whoever waits for it."""
        try:
            async with self._open() as live:
                self._live, self._busy_s = live, 0.0
                self._tried.set()
                await _over(live)
                self._live = None if self._live is live else self._live
        except (ToolProcessFailed, OSError) as error:
            self._failed(str(error))
        except Exception as error:
            # Whatever it is, it is this tool's trouble and nobody else's.
            _log.exception("tool_owner_failed", tool=self._program.name)
            self._failed(f"{type(error).__name__}: {error}")

    def _failed(self, problem: str) -> None:
        self._live, self._problem = None, problem
        _log.warning("tool_failed_to_start", tool=self._program.name, reason=problem)
        self._tried.set()

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[_Live]:
        program, place = self._program, self._place
        interpreter = tuple({Path(sys.prefix), Path(sys.base_prefix)})
        walls = replace(place.sandbox, shown=interpreter, only=(*SYSTEM, *place.readable))
        async with open_cell(walls, place.environment, program.name) as cell:
            await trio.to_thread.run_sync((cell.folder / "tool.py").write_text, program.text)
            command = await cell.command(program.argv)
            wanted = ProgramSpec(program.name, command, str(cell.folder), cell.environment, place.start_timeout_s)
            try:
                async with place.open_tool_process(wanted) as process:
                    itself = self._is_itself(process)
                    if itself:
                        yield _Live(process, cell)
                if not itself:
                    raise ToolProcessFailed("it introduces itself as another tool than the one that was approved")
            except ToolProcessFailed as error:
                raise ToolProcessFailed(_with_tail(str(error), cell)) from None

    def _is_itself(self, process: ToolProcess) -> bool:
        said = process.declared
        return said is not None and same_tool(said, self._program.members)


async def _over(live: _Live) -> None:
    """Until nobody wants it any more, or it has ended by itself."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_relay, live)
        nursery.start_soon(_watch, live)
        await live.over.wait()
        nursery.cancel_scope.cancel()


async def _relay(live: _Live) -> None:
    await live.process.ended.wait()
    live.over.set()


async def _watch(live: _Live) -> None:
    while not live.full:
        await trio.sleep(WATCH_S)
        live.full = live.full or await overfull(live.cell)
    live.over.set()


def _with_tail(reason: str, cell: Cell) -> str:
    said = cell.tail.text()
    return f"{reason}\nIts stderr ends:\n{said}" if said else reason


async def started(tool: MadeTool) -> None:
    """Raises ToolError (fatal)."""
    try:
        await tool.start()
    except ToolProcessFailed as error:
        raise ToolError("fatal", tool.spec.name, f"its program does not start: {error}") from None
