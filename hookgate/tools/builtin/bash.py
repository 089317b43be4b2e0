"""The tool `bash`: one shell command in the workspace, inside the sandbox, to its end or on into the background."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from math import inf

import trio

from hookgate.processes.command import Command, Ended, run_command
from hookgate.processes.guardian.strays import marked
from hookgate.protocol import call_context
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.values import Fault, Json, ToolCall, ToolResult, ToolSpec
from hookgate.protocol.values.effects import ProcessEffect
from hookgate.tools import arguments
from hookgate.tools.schema.objects import gives, takes
from hookgate.tools.shell.background import Background, Job
from hookgate.tools.shell.background_report import effect, report
from hookgate.tools.shell.capture import Capture
from hookgate.tools.shell.sandbox import Sandbox, Shelter
from hookgate.tools.text import SPARE_BYTES, cut

DEFAULT_TIMEOUT_S = 60
MAX_TIMEOUT_S = 600
FIRST_OUTPUT_S = 0.5
"""How long a call waits for the first output of a command in the background, or for its early end."""

# The command line that the result repeats: half of what a tool may add round output that is cut to its limit.
_SHOWN_BYTES, _SHOWN_LINES = SPARE_BYTES // 2, 200

_PROPERTIES: Mapping[str, Json] = {
    "command": {"type": "string", "description": "The command line."},
    "timeout": {
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": MAX_TIMEOUT_S,
        "description": f"Seconds after which it is killed. Default {DEFAULT_TIMEOUT_S}.",
    },
}
_BACKGROUND: Mapping[str, Json] = {
    "background": {
        "type": "boolean",
        "description": (
            "Let it run on after the answer, which gives its id and its first output: for servers and long jobs. "
            "Read on with bash_output, end it with bash_kill; without a timeout it ends with the conversation."
        ),
    }
}

SPEC = ToolSpec(
    name="bash",
    description=(
        "Run a command with /bin/sh in the workspace. The answer is the output (stdout and stderr together), the "
        "exit status and the time it took. Nothing keeps running when the command ends. Long output is cut; the "
        "answer then names a file with all of it."
    ),
    parameters=takes("command", **_PROPERTIES),
    mutates=False,
    affects_workspace=True,
    # The tool keeps its own deadline; this one only has to leave it the time to kill and to report.
    timeout_s=MAX_TIMEOUT_S + 30.0,
    output_schema=gives(
        command={"type": "string"},
        exit_code={"type": ["integer", "null"]},
        seconds={"type": "number"},
        output={"type": "string"},
        truncated={"type": "boolean"},
        timed_out={"type": "boolean"},
    ),
)
# In the background the object has an id and a state besides.
WITH_BACKGROUND = replace(SPEC, parameters=takes("command", **_PROPERTIES, **_BACKGROUND))


class Bash:
    """`environment` is all that a command sees, but for TMPDIR, which is the sandbox's own folder.

    Without a room the spec offers no background.
    """

    def __init__(
        self, sandbox: Sandbox | Shelter, environment: Mapping[str, str], background: Background | None = None
    ) -> None:
        self.spec = SPEC if background is None else WITH_BACKGROUND
        self._sandbox = sandbox
        self._environment = {**environment, "TMPDIR": str(sandbox.tmp)}
        self._background = background

    async def execute(self, call: ToolCall) -> ToolResult:
        line = arguments.required(call, "command")
        sandbox = await self._sandbox.chosen()
        argv = await trio.to_thread.run_sync(sandbox.wrap, marked(line))
        room = self._background if arguments.flag(call, "background") else None
        timeout_s = arguments.number(call, "timeout", DEFAULT_TIMEOUT_S if room is None else inf)
        workspace, environment = self._sandbox.workspace, self._environment
        command = Command(argv, workspace, environment, timeout_s, guarded=room is not None)
        return await (self._run(line, command) if room is None else _put_aside(room, line, command))

    async def _run(self, line: str, command: Command) -> ToolResult:
        capture, began = Capture(self._sandbox.tmp), trio.current_time()
        try:
            ended = await run_command(command, _Watched(capture))
        except BaseException:
            # Cancelled, alone or in a group; what could not even be started has its own result.
            killed = Ended(-1, timed_out=False, seconds=trio.current_time() - began, pid=0)
            call_context.work.get().cut_short(_judged(_text(line, capture.text(), killed), killed, command.timeout_s))
            raise
        finally:
            with trio.CancelScope(shield=True):
                await capture.close()
        result = _judged(_text(line, capture.text(), ended), ended, command.timeout_s)
        return replace(result, data=_members(line, capture, ended), effects=(_effect(line, capture, ended),))


class _Watched:
    """Output on its way to the capture, told to whoever watches the call."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._tell = call_context.progress.get()

    async def take(self, chunk: bytes) -> None:
        await self._capture.take(chunk)
        if piece := self._decoder.decode(chunk):
            self._tell(piece)


async def _put_aside(background: Background, line: str, command: Command) -> ToolResult:
    job = await background.start(call_context.session.get(), line, command)
    try:
        with trio.move_on_after(FIRST_OUTPUT_S):
            await job.finished.wait()
    except BaseException:
        # Nobody has been told its id, so nobody could end it.
        background.release(job)
        raise
    return _begun(job, command.timeout_s)


def _begun(job: Job, timeout_s: float) -> ToolResult:
    text, members = report(job)
    effects = (effect(job),)
    if job.ended is None or not job.finished.is_set():
        return ToolResult(text, data=members, effects=effects)
    return replace(_judged(text, job.ended, timeout_s), data=members, effects=effects)


def _text(line: str, output: str, ended: Ended) -> str:
    shown = cut(line, _SHOWN_BYTES, _SHOWN_LINES)
    part = f"{output}\n\n" if output else ""
    return f"$ {shown}\n\n{part}[exit {ended.exit_code}]  Took {ended.seconds:.1f}s"


def _judged(text: str, ended: Ended, timeout_s: float) -> ToolResult:
    if ended.timed_out:
        reason = f"timed out after {timeout_s:g} s and was killed"
        fault = Fault("transient", "bash", reason, timed_out=True)
        return ToolResult(f"{text}\n({reason})", is_error=True, error=fault)
    if ended.exit_code != 0:
        killed = ended.exit_code < 0
        reason = "killed by a signal" if killed else f"exit {ended.exit_code}"
        return ToolResult(text, is_error=True, error=Fault("unknown", "bash", reason))
    return ToolResult(text)


def _members(line: str, capture: Capture, ended: Ended) -> dict[str, Json]:
    return {
        "command": line,
        "exit_code": ended.exit_code,
        "seconds": round(ended.seconds, 3),
        "output": capture.shown(),
        "truncated": capture.truncated,
        "timed_out": ended.timed_out,
    }


def _effect(line: str, capture: Capture, ended: Ended) -> ProcessEffect:
    return ProcessEffect(
        line,
        exit_code=ended.exit_code,
        pid=ended.pid,
        timed_out=ended.timed_out,
        output_truncated=capture.truncated,
    )
