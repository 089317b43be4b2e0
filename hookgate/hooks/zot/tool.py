"""A tool that an extension registered: an ordinary Tool whose execution is a call to the process."""

from __future__ import annotations

from hookgate.hooks.zot.calls import GRACE_S, Calls, Lost
from hookgate.hooks.zot.chain import calling
from hookgate.protocol import call_context
from hookgate.protocol.values import TOOL_TIMEOUT_S, Fault, ToolCall, ToolResult, ToolSpec
from hookgate.protocol.zot.blocks import tool_failed, tool_result, tool_stopped
from hookgate.protocol.zot.frames import RegisterTool, ToolReply
from hookgate.protocol.zot.host import CallTool
from hookgate.protocol.zot.names import EXTENSION

MARGIN_S = GRACE_S + 1.0
"""Added to the spec's own deadline, so that a slow extension is told of by its name."""


class ZotTool:
    """Bound to one process: what it registered is gone with it."""

    def __init__(self, extension: str, registered: RegisterTool, calls: Calls) -> None:
        self.spec = ToolSpec(
            name=registered.name,
            description=registered.description,
            parameters=registered.schema,
            timeout_s=TOOL_TIMEOUT_S + MARGIN_S,
            provider=f"{EXTENSION}{extension}",
        )
        self._extension = extension
        self._calls = calls

    async def execute(self, call: ToolCall) -> ToolResult:
        """Every failure is a result, in zot's words."""
        work = call_context.work.get()
        with calling(self.spec.name):
            reply = await self._calls.ask(
                ToolReply,
                lambda call_id: CallTool(call_id, self.spec.name, call.arguments),
                TOOL_TIMEOUT_S,
                work.chat,
                late=lambda reply: work.cut_short(tool_stopped(self.spec.name, self._result(reply))),
            )
        if not isinstance(reply, Lost):
            return self._result(reply)
        fault = _fault(reply, self._extension, self.spec.name)
        so_far = self._result(reply.so_far) if isinstance(reply.so_far, ToolReply) else None
        return tool_failed(self._extension, fault, so_far)

    def _result(self, reply: ToolReply) -> ToolResult:
        return tool_result(self._extension, self.spec.name, reply)


def _fault(lost: Lost, extension: str, tool: str) -> Fault:
    match lost.cause:
        case "bad reply":
            return Fault("fatal", tool, lost.reason)
        case "too long":
            return Fault("budget", tool, lost.reason)
        case _:
            return Fault("transient", tool, lost_text(lost, extension, tool), timed_out=lost.cause == "timeout")


def lost_text(lost: Lost, extension: str, what: str) -> str:
    """What became of a call to a tool or a command, in zot's words."""
    match lost.cause:
        case "timeout":
            return f"timeout waiting for {extension}/{what}"
        case "disconnected":
            return f"extension {extension} disconnected"
        case _:
            return lost.reason
