"""Functions as the control methods of a test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from hookgate.control.methods import Method, Methods


def looking(**functions: Callable[..., Awaitable[Any]]) -> Methods:
    """Whether they change anything is no matter here."""
    return {name: Method(function, changes=False) for name, function in functions.items()}
