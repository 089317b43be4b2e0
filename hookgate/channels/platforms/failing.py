"""A request that a platform has refused, or that did not reach it: what is said of that alike, whichever it is."""

from __future__ import annotations

from hookgate.protocol.chat.channel import Undelivered


class ApiFailed(Exception):
    """`why`: in words of our own. `retry_after_s`: as the platform asks. Each has codes of its own besides."""

    platform: str

    def __init__(self, why: str, retry_after_s: float | None = None) -> None:
        super().__init__(why)
        self.why, self.retry_after_s = why, retry_after_s

    @property
    def is_revoked(self) -> bool:
        """The token is none, or none any more."""
        raise NotImplementedError

    @property
    def is_final(self) -> bool:
        """The same would be refused again, and nobody here can mend that."""
        raise NotImplementedError

    @property
    def undelivered(self) -> Undelivered:
        return Undelivered(f"{self.platform}: {self.why}", self.retry_after_s, final=self.is_final)
