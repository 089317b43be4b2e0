"""What a chat says of its extensions: their commands, what keeps one from being loaded, what a reload has led to."""

from __future__ import annotations

from hookgate.cli.runtime import Runtime
from hookgate.hooks.zot.roster import Command
from hookgate.protocol.values import Chat, Inbound


def brought(runtime: Runtime, chat: Chat) -> tuple[Command, ...]:
    """The commands of extensions."""
    return runtime.extensions.commands.listed(chat) if runtime.extensions else ()


def invoked(runtime: Runtime, inbound: Inbound) -> bool:
    """Whether it is one of them."""
    return runtime.extensions is not None and runtime.extensions.commands.read(inbound) is not None


def help_lines(runtime: Runtime, chat: Chat) -> list[str]:
    rows = (f"  /{it.name:<7} {it.description}  ({it.extension})" for it in brought(runtime, chat))
    return [" ".join(row.splitlines()) for row in rows]


def problems(runtime: Runtime) -> tuple[str, ...]:
    """A line for each that could not be loaded; all else goes on."""
    return runtime.extensions.problems(runtime.mounts) if runtime.extensions else ()


def loaded(runtime: Runtime) -> tuple[str, ...]:
    return runtime.extensions.loaded(runtime.mounts) if runtime.extensions else ()


async def reloaded(runtime: Runtime) -> str:
    """Stop them all, load what is there now; a line about it."""
    if runtime.extensions is not None:
        await runtime.extensions.reload(runtime.mounts)
    return f"· Extensions: {', '.join(loaded(runtime)) or 'none'}."
