"""A start makes hundreds of classes and frees next to nothing: the collector looks at them in vain."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from types import ModuleType
from typing import cast

UNWANTED = "rich"
COLLECT_EVERY = 10_000
"""Objects that have come to stay for the time being. With Python's own number, 700, one message in three has a
collection, and that is an eighth of what messages cost: a turn makes few cycles."""


def begin() -> None:
    """No collections until `begun`, and nothing of rich, which structlog would import for tracebacks that are not
    shown; and the three standard streams are there, so that no pipe takes their place, and take any text."""
    gc.disable()
    # As Python has it for what cannot be imported.
    sys.modules.setdefault(UNWANTED, cast(ModuleType, None))
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            _fill(descriptor, name)
    # A sign that the locale does not have must not cost the answer; where Python passes bytes through, it stays so.
    stdout = cast(TextIOWrapper, sys.stdout)
    if stdout.errors == "strict":
        stdout.reconfigure(errors="backslashreplace")


def _fill(descriptor: int, name: str) -> None:
    mode = "r" if name == "stdin" else "w"
    with suppress(OSError):
        opened = os.open(os.devnull, os.O_RDWR)
        if opened != descriptor:
            os.dup2(opened, descriptor)
            os.close(opened)
    setattr(sys, name, open(descriptor, mode, closefd=False))  # noqa: SIM115 - open as long as the process


def allow_imports() -> None:
    """From here on all that is asked for is imported: whatever is laid out needs rich."""
    if not sys.modules.get(UNWANTED, True):
        del sys.modules[UNWANTED]


def begun() -> None:
    """What exists now is here to stay; collect what comes, and import what is asked for."""
    allow_imports()
    gc.freeze()
    gc.set_threshold(COLLECT_EVERY)
    gc.enable()
