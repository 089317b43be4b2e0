"""The zot extensions of a running gateway: which are up, what keeps one from being loaded, loading them again."""

from __future__ import annotations

from hookgate.assembly.app import Runtime
from hookgate.assembly.extensions.looking import unloaded
from hookgate.extensions.discovery import FoundExtensions


def loaded_extensions(runtime: Runtime) -> tuple[str, ...]:
    """The names of those that are up, in load order."""
    return runtime.extensions.loaded(runtime.mounts) if runtime.extensions else ()


def starting_extensions(runtime: Runtime) -> tuple[str, ...]:
    """The names of those that have not come up yet and still may, in load order."""
    return runtime.extensions.starting(runtime.mounts) if runtime.extensions else ()


def extension_problems(runtime: Runtime) -> tuple[str, ...]:
    """A line for each that could not be loaded; all else goes on."""
    return runtime.extensions.problems(runtime.mounts) if runtime.extensions else ()


def extension_notes(runtime: Runtime) -> tuple[str, ...]:
    """A line for each that lacks something which nobody has been told of; told once."""
    return runtime.extensions.learning.take_notes() if runtime.extensions else ()


def absent_extensions(runtime: Runtime) -> tuple[str, ...]:
    """A line for each that is not among the hooks."""
    return unloaded(runtime.extensions.found) if runtime.extensions else ()


async def reload_extensions(runtime: Runtime, found: FoundExtensions | None = None) -> tuple[str, ...]:
    """Stop them all and load what is there now, or what a look has `found` just now; the names of those then up."""
    if runtime.extensions is not None:
        await runtime.extensions.reload(runtime.mounts, found)
    return loaded_extensions(runtime)
