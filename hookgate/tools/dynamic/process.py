"""What a dynamic tool needs of a running program, whoever starts it and whatever wire it speaks. Starts nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import trio

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import JsonObject, ToolResult, ToolSpec


@dataclass(frozen=True, slots=True)
class ProgramSpec:
    """How to start a tool's program; `environment` is all that it sees."""

    name: str
    command: tuple[str, ...]
    directory: str
    environment: Mapping[str, str]
    hello_timeout_s: float


class ToolProcess(Protocol):
    @property
    def declared(self) -> ToolSpec | None:
        """The one tool that it says it has; None where it names none or several."""
        ...

    @property
    def ended(self) -> trio.Event:
        """Set when it answers no more."""
        ...

    async def call(self, arguments: JsonObject, timeout_s: float) -> ToolResult:
        """What it answers. Raises ToolProcessFailed where it gives no answer."""
        ...


class ToolProcessFailed(Exception):
    """The program cannot be started, has ended, or gave no answer; the text says which."""


OpenToolProcess = Callable[[ProgramSpec], AbstractAsyncContextManager[ToolProcess]]
"""Starts a program that has introduced itself; leaving stops its whole process group. Raises ToolProcessFailed."""
