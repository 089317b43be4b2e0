"""The tool `bash`: one shell command in the workspace, inside the sandbox."""

from __future__ import annotations

from collections.abc import Mapping

import trio

from hookgate.protocol.values import Fault, ToolCall, ToolResult, ToolSpec
from hookgate.tools import arguments
from hookgate.tools.capture import Capture
from hookgate.tools.command import Command, Ended, run_command
from hookgate.tools.sandbox import Sandbox, Shelter
from hookgate.tools.text import SPARE_BYTES, cut

DEFAULT_TIMEOUT_S = 60
MAX_TIMEOUT_S = 600
# The command line that the result repeats: half of what a tool may add round output that is cut to its limit.
_SHOWN_BYTES, _SHOWN_LINES = SPARE_BYTES // 2, 200

SPEC = ToolSpec(
    name="bash",
    description=(
        "Run a command with /bin/sh in the workspace. The answer is the output (stdout and stderr together), the "
        "exit status and the time it took. Nothing keeps running when the command ends. Long output is cut; the "
        "answer then names a file with all of it."
    ),
    parameters={
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command line."},
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": MAX_TIMEOUT_S,
                "description": f"Seconds after which it is killed. Default {DEFAULT_TIMEOUT_S}.",
            },
        },
        "required": ["command"],
        "additionalProperties": False,
    },
    mutates=False,
    affects_workspace=True,
    # The tool keeps its own deadline; this one only has to leave it the time to kill and to report.
    timeout_s=MAX_TIMEOUT_S + 30.0,
)


class Bash:
    """`environment` is all that a command sees, but for TMPDIR, which is the sandbox's own folder."""

    def __init__(self, sandbox: Sandbox | Shelter, environment: Mapping[str, str]) -> None:
        self.spec = SPEC
        self._sandbox = sandbox
        self._environment = {**environment, "TMPDIR": str(sandbox.tmp)}

    async def execute(self, call: ToolCall) -> ToolResult:
        line = arguments.required(call, "command")
        sandbox = await self._sandbox.chosen()
        argv = await trio.to_thread.run_sync(sandbox.wrap, ["/bin/sh", "-c", line])
        timeout_s = arguments.number(call, "timeout", DEFAULT_TIMEOUT_S)
        capture = Capture(self._sandbox.tmp)
        try:
            ended = await run_command(Command(argv, self._sandbox.workspace, self._environment, timeout_s), capture)
        finally:
            with trio.CancelScope(shield=True):
                await capture.close()
        return _result(_text(line, capture.text(), ended), ended, timeout_s)


def _text(line: str, output: str, ended: Ended) -> str:
    shown = cut(line, _SHOWN_BYTES, _SHOWN_LINES)
    part = f"{output}\n\n" if output else ""
    return f"$ {shown}\n\n{part}[exit {ended.exit_code}]  Took {ended.seconds:.1f}s"


def _result(text: str, ended: Ended, timeout_s: float) -> ToolResult:
    if ended.timed_out:
        reason = f"timed out after {timeout_s:g} s and was killed"
        return ToolResult(f"{text}\n({reason})", is_error=True, error=Fault("transient", "bash", reason))
    if ended.exit_code != 0:
        killed = ended.exit_code < 0
        reason = "killed by a signal" if killed else f"exit {ended.exit_code}"
        return ToolResult(text, is_error=True, error=Fault("unknown", "bash", reason))
    return ToolResult(text)
