"""Errors named for what ended."""

from __future__ import annotations

from typing import Literal

ProviderFault = Literal[
    "timeout", "network", "rate_limit", "server", "auth", "billing", "format", "overflow", "empty", "unknown"
]

PASSING: frozenset[ProviderFault] = frozenset({"timeout", "network", "rate_limit", "server", "empty"})
"""The classes that can pass by themselves, and so are worth another try."""


class TurnAborted(Exception):
    """A hook ended the turn, by abort_turn or, where it has `failed`, by its failure policy: then the reason says who
    failed where. The transcript keeps what happened."""

    def __init__(self, hook: str, stage: str, reason: str, *, failed: bool = False) -> None:
        why = f": {reason}" if reason else ""
        super().__init__(f"{reason}; the turn ends" if failed else f"hook {hook} aborted the turn at {stage}{why}")
        self.hook, self.stage, self.reason = hook, stage, reason


class SessionAborted(TurnAborted):
    """A hook stopped the session's whole loop (hard_abort). The turn is rolled back."""

    def __init__(self, hook: str, stage: str, reason: str) -> None:
        super().__init__(hook, stage, reason)
        self.args = (f"hook {hook} stopped this conversation at {stage}{': ' + reason if reason else ''}",)


class ApprovalExpired(TurnAborted):
    """Nobody has decided in time about a call whose rule ends the turn then."""

    def __init__(self, asked_by: str, tool: str, reason: str) -> None:
        super().__init__(asked_by, "approve_tool", reason)
        self.args = (f"{tool} needs an approval, and {reason}: the turn ends here",)


class ProviderFailed(Exception):
    """A model call failed. `detail` (a raw body, say) is for the log, never for a chat.

    `retry_after_s` is what the endpoint asked for, in seconds, or None; `final`: whatever its kind, another try is
    not worth the time.
    """

    def __init__(
        self,
        kind: ProviderFault,
        reason: str,
        *,
        retry_after_s: float | None = None,
        detail: str = "",
        final: bool = False,
    ) -> None:
        super().__init__(reason)
        self.kind: ProviderFault = kind
        self.reason, self.retry_after_s, self.detail, self.final = reason, retry_after_s, detail, final

    def at(self, provider: str) -> ProviderFailed:
        """The same, naming the provider as the configuration calls it."""
        named = ProviderFailed(self.kind, f"{provider}: {self.reason}", detail=self.detail, final=self.final)
        named.retry_after_s = self.retry_after_s
        return named


class StepLimitReached(Exception):
    """The model still asked for tools at the last allowed model call."""


class BadMessage(ValueError):
    """The other side sent something that is not what the protocol says; the text names what."""
