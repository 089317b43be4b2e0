"""What a hook has said about a call, as the record of that call holds it."""

from __future__ import annotations

from hookgate.protocol.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Judgement:
    """`digest`: of the hook's program and its configuration. `failed`: it gave no usable answer, and `action` is what
    its failure policy makes of that."""

    stage: str
    hook: str
    digest: str
    action: str
    reason: str = ""
    failed: bool = False
