"""What a call that somebody is asked about would do to a file, drawn from the workspace of a running chat."""

from __future__ import annotations

from functools import partial

import trio

from hookgate.assembly.app import Runtime
from hookgate.assembly.narrowing import files_digest
from hookgate.channels.approving import Picture
from hookgate.protocol.values import ToolCall
from hookgate.tools.builtin import write
from hookgate.tools.builtin.preview import NAMES, preview
from hookgate.tools.files.workspace import Workspace

BUILT_IN, CONTENT = "builtin", "content"


async def picture(runtime: Runtime, call: ToolCall) -> Picture | None:
    """`call`: with its true arguments. None where it is no built-in tool that writes a file."""
    spec = runtime.agent.registry.snapshot().spec(call.name)
    if call.name not in NAMES or spec is None or spec.provider != BUILT_IN:
        return None
    keeping = runtime.tools.keeping
    workspace = Workspace(runtime.settings.workspace, keeping, keeping.hidden)
    seen = await trio.to_thread.run_sync(partial(preview, workspace, call))
    redact = runtime.tools.around.redactor.for_questions.text
    files = files_digest([(seen.path, seen.read)] if seen.read else []) if seen.read is not None else None
    whole = CONTENT if seen.read == "" and call.name == write.SPEC.name else ""
    return Picture(redact(seen.path), redact(seen.diff), seen.diff, redact(seen.problem), whole, files)
