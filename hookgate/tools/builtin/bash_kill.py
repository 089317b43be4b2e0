"""The tool `bash_kill`: ends a command in the background."""

from __future__ import annotations

from hookgate.protocol import call_context
from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.tools import arguments
from hookgate.tools.schema.objects import takes
from hookgate.tools.shell.background import Background
from hookgate.tools.shell.background_report import MEMBERS, effect, report

SPEC = ToolSpec(
    name="bash_kill",
    description=(
        "End a command in the background with everything it has started: first politely, after 3 seconds by force. "
        "The answer has the output that nobody has read yet."
    ),
    parameters=takes("id", id={"type": "string", "description": "As bash gave it, for example bg1."}),
    mutates=False,
    affects_workspace=True,
    access="none",
    output_schema=MEMBERS,
)


class BashKill:
    def __init__(self, background: Background) -> None:
        self.spec = SPEC
        self._background = background

    async def execute(self, call: ToolCall) -> ToolResult:
        job = self._background.job(call_context.session.get(), arguments.required(call, "id"), "bash_kill")
        ran = not job.finished.is_set()
        job.reins.stop()
        await job.finished.wait()
        text, members = report(job)
        return ToolResult(text, data=members, effects=(effect(job),) if ran else ())
