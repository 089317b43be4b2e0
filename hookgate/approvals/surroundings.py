"""What requests stand in: where their calls work, who hears of them, and where they can be shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from time import time

from hookgate.approvals.grants import Parts
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.payloads import Payload
from hookgate.protocol.interfaces import Channel, Redactor
from hookgate.protocol.values import Step, ToolCall

EVERYWHERE = "in all conversations of whoever asks now"


def always_counts(*, serving: bool, kept: bool) -> str:
    """What is allowed for always stands in the journal: the gateway's is for all, each other run has its own."""
    if serving:
        return EVERYWHERE
    return f"{EVERYWHERE} that are kept by this name" if kept else f"{EVERYWHERE}, until this run of hookgate ends"


@dataclass(frozen=True)
class Surroundings:
    """`emit` tells events; without a redactor nothing is secret. `directory`: where tools work. `clock`: seconds of
    the wall clock. `channels` by name, for what is shown elsewhere than in the chat that asks. `scripts`:
    the digest of the files that a call runs; it may block. `always`: in which conversations a yes for always counts,
    in words."""

    emit: Callable[[Payload, Step | None], None]
    redactor: Redactor | None = None
    directory: str = ""
    clock: Callable[[], float] = time
    channels: Mapping[str, Channel] = field(default_factory=dict[str, Channel])
    parts: Parts = lambda _call: None
    scripts: Callable[[ToolCall], str] | None = None
    always: str = EVERYWHERE
