"""What the journal keeps of a reply's calls, and how a turn that a crash cut off goes on with them. Asks no model."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

from hookgate.loop.batch import Batch
from hookgate.protocol.codec import canonical
from hookgate.protocol.journal.values import CallRecord
from hookgate.protocol.values import ToolCall, ToolSpec
from hookgate.tools.decode import ReadCall


def record(batch: Batch, read: ReadCall) -> CallRecord:
    """A call as it was asked for, and what its tool was then."""
    call, step = read.call, batch.step
    asked = (call, None) if isinstance(call, ToolCall) else (None, call)
    spec = batch.own_spec(read.proposed.name)
    kept = CallRecord(*asked, step.agent, step.iteration, extension=step.extension)
    return kept if spec is None else replace(kept, provider=spec.provider, owner=spec.owner, spec_digest=digest(spec))


def digest(spec: ToolSpec) -> str:
    flags = [spec.mutates, spec.affects_workspace, spec.pure, spec.access]
    return sha256(canonical([spec.name, spec.description, spec.parameters, flags])).hexdigest()
