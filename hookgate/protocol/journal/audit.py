"""The record of one call for the audit chain: who wanted it, what hooks said about it, and what it came to."""

from __future__ import annotations

from typing import Literal

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.judgement import Judgement
from hookgate.protocol.values import ProposedCall, Step, ToolCall, ToolResult

CallOutcome = Literal["ran", "cached", "answered", "denied", "not_run", "unknown", "cut_off"]
"""`answered`: by a hook, in the tool's place; `not_run`: it could not be made; `unknown`: a crash came while it ran;
`cut_off`: its turn ended first."""


@dataclass(frozen=True, slots=True)
class CallAudit:
    """`id`: the journal's name for it; `call`: as the tool got it, or as it was written where that cannot be read.
    `policy`: the revision of the approval rules. `result` None: there is none."""

    id: str
    step: Step
    call: ToolCall | ProposedCall
    policy: str
    outcome: CallOutcome
    result: ToolResult | None = None
    judgements: tuple[Judgement, ...] = ()
    duration_ns: int = 0
