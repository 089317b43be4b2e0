"""Errors that tools and their registration raise; what the model reads of them is made in `failures.py`."""

from __future__ import annotations

from hookgate.protocol.values import Fault, FaultKind


class ToolError(Exception):
    """A tool cannot do what it was asked. `op` is the tool or the step of it; `reason` is for the model.

    `denied_by` is `rule:NAME` or `os` where something refused, and empty otherwise. `retry_after_s`: when the world
    said it may be ready for another try, in seconds.
    """

    def __init__(
        self, kind: FaultKind, op: str, reason: str, *, denied_by: str = "", retry_after_s: float | None = None
    ) -> None:
        super().__init__(reason)
        self.kind: FaultKind = kind
        self.op, self.reason, self.denied_by = op, reason, denied_by
        self.retry_after_s = retry_after_s

    @property
    def fault(self) -> Fault:
        return Fault(self.kind, self.op, self.reason, self.denied_by, self.retry_after_s)


class BadSpec(ValueError):
    """A tool that cannot be registered: its name, schema, description or flags are wrong."""


class NameConflict(Exception):
    """The name is reserved by another provider."""

    def __init__(self, name: str, holder: str) -> None:
        super().__init__(f"the tool name {name!r} is reserved by {holder}")
        self.name, self.holder = name, holder


class SandboxUnavailable(Exception):
    """A sandbox is required and this machine offers none."""
