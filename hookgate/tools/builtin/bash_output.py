"""The tool `bash_output`: what a command in the background has printed since it was last asked."""

from __future__ import annotations

from hookgate.protocol import call_context
from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.tools import arguments
from hookgate.tools.output import OUTPUT_ARGUMENT, Form, form_of
from hookgate.tools.schema.objects import takes
from hookgate.tools.shell.background import Background
from hookgate.tools.shell.background_report import MEMBERS, as_json, report

MAX_WAIT_S = 300

SPEC = ToolSpec(
    name="bash_output",
    description=(
        "Read what a command in the background has printed since the last reading, and whether it still runs or "
        "how it ended. With wait, the answer comes as soon as it has ended, or has printed something new and then "
        "paused. Of much new output only the newest is given; the answer then names a file with all of it."
    ),
    parameters=takes(
        "id",
        id={"type": "string", "description": "As bash gave it, for example bg1."},
        wait={
            "type": "number",
            "minimum": 0,
            "maximum": MAX_WAIT_S,
            "description": "Seconds to wait at most. Default 0.",
        },
        output=OUTPUT_ARGUMENT,
    ),
    mutates=False,
    affects_workspace=False,
    access="none",
    timeout_s=MAX_WAIT_S + 30.0,
    output_schema=MEMBERS,
)


class BashOutput:
    def __init__(self, background: Background, default_output: Form = "labeled") -> None:
        self.spec = SPEC
        self._background = background
        self._default_output: Form = default_output

    async def execute(self, call: ToolCall) -> ToolResult:
        form = form_of(call, self._default_output)
        job = self._background.job(call_context.session.get(), arguments.required(call, "id"), "bash_output")
        await job.settled(arguments.number(call, "wait", 0))
        text, members = report(job)
        return ToolResult(as_json(members) if form == "json" else text, data=members)
