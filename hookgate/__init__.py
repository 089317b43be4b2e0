"""A gateway between chat channels and language models in which every call passes external hook processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookgate.embedding.runtime import Runtime as Runtime

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    # What embeds hookgate gets its Runtime here; a command must not pay for the import.
    if name == "Runtime":
        from hookgate.embedding.runtime import Runtime

        return Runtime
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
