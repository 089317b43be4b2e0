"""Functions as the control methods of a test, and a socket where they can be asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import trio

from hookgate.control import serve
from hookgate.control.methods import Method, Methods


def looking(**functions: Callable[..., Awaitable[Any]]) -> Methods:
    """Whether they change anything is no matter here."""
    return {name: Method(function, changes=False) for name, function in functions.items()}


def open_control(path: Path, methods: Methods) -> AbstractAsyncContextManager[Path]:
    async def made() -> Methods:
        await trio.lowlevel.checkpoint()
        return methods

    return serve.open_control(path, made)
