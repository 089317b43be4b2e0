"""What stands round the execution of a call: memo, lease, what it changed, redaction. Every part may be missing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import field

from hookgate.protocol.chat.media import MediaStore
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.match import Globs
from hookgate.protocol.interfaces import Redactor, Replacing
from hookgate.protocol.values import Json, ToolCall, ToolResult, ToolSpec
from hookgate.tools.lease import Lease
from hookgate.tools.memo import Budget

Compare = Callable[[ToolResult], Awaitable[ToolResult]]
Watch = Callable[[ToolCall], Awaitable[Compare]]
"""Looks before a call that may change files; what it returns looks again, and may put what changed into the result's
effects. Neither raises."""


class Unredacted:
    """Where nothing is secret."""

    @property
    def for_questions(self) -> Replacing:
        return self

    def text(self, text: str) -> str:
        return text

    def value(self, value: Json) -> Json:
        return value

    def held_from(self, text: str) -> int:
        return len(text)

    def cut_from(self, text: str) -> int:
        return len(text)

    def marker(self, value: Json) -> bool:
        return False


@dataclass(frozen=True)
class Around:
    """`memo` None: nothing is kept. `pure`: read-only tools that the operator calls pure besides those that say so.

    `running` gives what is held while a tool of this spec runs, if anything is. `busy`: whether background processes
    of a session live, so that no result stays true for long. `forget` ends them. `media` has the files that messages
    refer to; `keeps_files`: those that tools and hooks bring go there as well.
    """

    memo: Budget | None = field(default_factory=Budget)
    pure: Globs | None = None
    lease: Lease = field(default_factory=Lease)
    watches: tuple[Watch, ...] = ()
    redactor: Redactor = field(default_factory=Unredacted)
    busy: Callable[[str], bool] = lambda _session: False
    forget: Callable[[str], object] = lambda _session: None
    media: MediaStore | None = None
    keeps_files: bool = False
    running: Callable[[ToolSpec], AbstractAsyncContextManager[None] | None] = lambda _spec: None

    def keeps(self, spec: ToolSpec, session: str) -> bool:
        """Whether results of this tool may be had from the memo now."""
        pure = spec.pure or (self.pure is not None and self.pure.covers(spec.name))
        return pure and spec.read_only and self.memo is not None and not self.busy(session)
