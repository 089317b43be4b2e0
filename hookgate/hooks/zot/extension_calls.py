"""Tools that an extension calls itself: which call of the host's each belongs to, and one answer for each.

How a tool is run is the business of whoever is given as `RunTool`; which tools there are is not known here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog
import trio

from hookgate.hooks.zot.calls import Call, Calls
from hookgate.hooks.zot.chain import calling
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import JsonObject, ToolResult, bare_text
from hookgate.protocol.zot.blocks import result_members
from hookgate.protocol.zot.frames import ToolReply, ToolWanted
from hookgate.protocol.zot.host import ToolAnswer

TIMEOUT_S = 60.0
MAX_DEPTH = 4
"""Tools that may have called each other, the model's own call included."""
MAX_NAME = 200
"""Characters of a tool's name: every result and every log line about a call has it."""
MAX_RUNNING = 64
"""Of one extension at a time."""

NOT_OPTED_IN = "extension did not opt in to call_tool"
NOT_HERE = "call_tool does not work here"
UNUSABLE = "call_tool requires a name and JSON object args"
LONG_NAME = f"call_tool: the name is longer than {MAX_NAME} characters"
NO_PARENT = "unknown or expired parent tool call"
PARENT_NEEDED = "parent_id is required while an extension tool is active"
NO_CHAT = "no chat is served: call_tool works while a tool call, a command or an interception of one chat runs"
CYCLE = "tool call cycle detected"
TOO_DEEP = "tool call depth limit reached"
TOO_MANY = "too many tool calls run already"
WITHDRAWN = "aborted: the extension cancelled it"
LATE = f"timed out after {TIMEOUT_S:g} s"
ENDED = "aborted: what it was called for has ended"
BROKEN = "something went wrong inside hookgate; the log has it"

log = structlog.get_logger("hookgate.hooks")


@dataclass(frozen=True)
class ExtensionCall:
    """A tool call of an extension's, for the chat that it serves. `id` is the extension's own and names the call."""

    extension: str
    id: str
    chat: Chat
    name: str
    arguments: JsonObject


RunTool = Callable[[ExtensionCall], Awaitable[ToolResult]]
"""Runs it as any call of the chat is run: through the gate, with approvals. Raises nothing (but Cancelled)."""


class ExtensionCalls:
    """`run` None: nobody here can run tools. `opted_in`: the extension has said that it calls some."""

    def __init__(
        self, extension: str, calls: Calls, run: RunTool | None, answer: Callable[[ToolAnswer], None]
    ) -> None:
        self._extension, self._calls, self._run, self._answer = extension, calls, run, answer
        self._running: dict[str, _Job] = {}

    @property
    def opted_in(self) -> bool:
        return self._calls.serves

    @property
    def works(self) -> bool:
        return self.opted_in and self._run is not None

    def take(self, wanted: ToolWanted) -> bool:
        """Begin it, or answer why not; False for an id that is in use, which cannot be answered."""
        if wanted.id in self._running:
            return False
        served = self._served(wanted)
        if isinstance(served, str) or served.chat is None or wanted.args is None or self._run is None:
            self._say(wanted.id, wanted.name[:MAX_NAME], _failed(served if isinstance(served, str) else NO_CHAT))
            return True
        own_call = ExtensionCall(self._extension, wanted.id, served.chat, wanted.name, wanted.args)
        job = self._running[wanted.id] = _Job(own_call, self._run, self._ended)
        served.begin(job)
        return True

    def cancel(self, errand_id: str) -> None:
        job = self._running.get(errand_id)
        if job is not None:
            job.withdraw()

    def _served(self, wanted: ToolWanted) -> Call | str:
        """The call that it belongs to, or why it is refused."""
        if not self.opted_in:
            return NOT_OPTED_IN
        if self._run is None:
            return NOT_HERE
        if not wanted.name or wanted.args is None:
            return UNUSABLE
        if len(wanted.name) > MAX_NAME:
            return LONG_NAME
        served = self._parent(wanted.parent_id)
        if isinstance(served, str):
            return served
        if wanted.name in served.chain:
            return CYCLE
        if len(served.chain) >= MAX_DEPTH:
            return TOO_DEEP
        return TOO_MANY if len(self._running) >= MAX_RUNNING else served

    def _parent(self, parent_id: str) -> Call | str:
        tools = [call for call in self._calls.in_flight if call.kind is ToolReply]
        if parent_id:
            return next((call for call in tools if call.id == parent_id), NO_PARENT)
        if tools:
            return PARENT_NEEDED
        served = [call for call in self._calls.in_flight if call.chat is not None]
        return served[-1] if self._calls.chat is not None else NO_CHAT

    def _ended(self, own_call: ExtensionCall, result: ToolResult) -> None:
        del self._running[own_call.id]
        self._say(own_call.id, own_call.name, result)

    def _say(self, errand_id: str, name: str, result: ToolResult) -> None:
        members = result_members(bare_text(result), result.media, is_error=result.is_error)
        truncated = bool(members.get("truncated"))
        self._answer(ToolAnswer(errand_id, name, members["content"], result.is_error, truncated))


class _Job:
    """One call on its way; `ended` is told exactly once."""

    def __init__(
        self, own_call: ExtensionCall, run: RunTool, ended: Callable[[ExtensionCall, ToolResult], None]
    ) -> None:
        self._own_call, self._run, self._ended = own_call, run, ended
        self._scope = trio.CancelScope()
        self._withdrawn = False

    async def run(self) -> None:
        """In the task of the call that it belongs to, which takes it along when it ends."""
        result = _failed(ENDED)
        try:
            self._scope.deadline = trio.current_time() + TIMEOUT_S
            with self._scope:
                result = await self._result()
            if self._scope.cancelled_caught:
                result = _failed(WITHDRAWN if self._withdrawn else LATE)
        finally:
            self._ended(self._own_call, result)

    def withdraw(self) -> None:
        self._withdrawn = True
        self._scope.cancel()

    def drop(self) -> None:
        """It never begins."""
        self._ended(self._own_call, _failed(ENDED))

    async def _result(self) -> ToolResult:
        try:
            with calling(self._own_call.name):
                return await self._run(self._own_call)
        except Exception:
            log.exception("extension_call_crashed", extension=self._own_call.extension, tool=self._own_call.name)
            return _failed(BROKEN)


def _failed(reason: str) -> ToolResult:
    return ToolResult(reason, is_error=True)
