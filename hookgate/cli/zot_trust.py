"""The question whether an extension of the project may run, and what is kept of the answer. Starts nothing."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Awaitable, Callable

from hookgate.channels.printable import one_line, printable
from hookgate.cli.zot import ExtensionFlags, found_by
from hookgate.extensions.discovery import Stranger
from hookgate.extensions.trust import Trust
from hookgate.sections import Config
from hookgate.sections.zot import ZotExtension

QUESTION = "  Run it? [y/N] "
Ask = Callable[[str], Awaitable[str | None]]
"""One line typed at this prompt; None where nobody can answer any more."""


async def introduce(config: Config, flags: ExtensionFlags, ask: Ask) -> None:
    """Ask about each extension of the project that would run if it were trusted; a yes is kept. Raises ConfigError.

    What is agreed to is what was there before the question: whatever changes meanwhile is not part of it.
    """
    if flags.trust is None:
        return
    sections = config.zot.extensions
    for stranger in found_by(config, flags).strangers:
        wanted = sections.get(stranger.manifest.name, ZotExtension()).enabled
        if wanted and stranger.standing.kind != "unreadable" and await _agreed(stranger, ask):
            _keep(flags.trust, stranger)


async def _agreed(stranger: Stranger, ask: Ask) -> bool:
    sys.stdout.write("\n".join(described(stranger)) + "\n")
    sys.stdout.flush()
    return ((await ask(QUESTION)) or "").strip().lower() in ("y", "yes")


def described(stranger: Stranger) -> list[str]:
    """Whose program, where, and how it would be started: a line each, whatever the manifest holds."""
    directory, manifest = stranger.entry.directory, stranger.manifest
    again = " once more, since it has changed" if stranger.standing.kind == "changed" else ""
    return [
        f"? Run the extension {one_line(manifest.name)} of this project{again}? It is a program, and runs as you.",
        f"  folder:  {one_line(str(directory))}",
        f"  command: {one_line(shlex.join(manifest.command(directory)))}",
    ]


def _keep(trust: Trust, stranger: Stranger) -> None:
    try:
        trust.agree(stranger.entry.directory, stranger.standing.sha256)
    except OSError as error:
        sys.stderr.write(printable(f"! it runs now, but that is not kept: {error.filename}: {error.strerror}\n"))
