"""The question whether an extension of the project may run, and what is kept of the answer. Starts nothing."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Awaitable, Callable

from hookgate.channels.printable import one_line, printable
from hookgate.cli.zot import ExtensionFlags, looked
from hookgate.extensions.discovery import Found, Stranger
from hookgate.extensions.trust import Trust
from hookgate.sections import Config
from hookgate.sections.zot import ZotExtension

QUESTION = "  Run it? A yes is kept until the folder changes. [y/N] "
OF_SKILLS = "  Use them? A yes is kept until the folder changes. [y/N] "
Ask = Callable[[str], Awaitable[str | None]]
"""One line typed at this prompt; None where nobody can answer any more."""


async def introduce(config: Config, flags: ExtensionFlags, ask: Ask) -> Found | None:
    """Ask about each extension of the project that would run if it were trusted; a yes is kept. Raises ConfigError.

    What is agreed to is what was there before the question: whatever changes meanwhile is not part of it. So there is
    a look to go on with only where nobody was asked; else None.
    """
    if flags.trust is None:
        return None
    found = await looked(config, flags)
    asked = [it for it in found.strangers if _wanted(config, it) and it.standing.kind != "unreadable"]
    for stranger in asked:
        if await _agreed(stranger, ask):
            _keep(flags.trust, stranger)
    return None if asked else found


def _wanted(config: Config, stranger: Stranger) -> bool:
    return config.zot.extensions.get(stranger.manifest.name, ZotExtension()).enabled


async def _agreed(stranger: Stranger, ask: Ask) -> bool:
    sys.stdout.write("\n".join(described(stranger)) + "\n")
    sys.stdout.flush()
    question = QUESTION if stranger.manifest.exec else OF_SKILLS
    return ((await ask(question)) or "").strip().lower() in ("y", "yes")


def described(stranger: Stranger) -> list[str]:
    """Whose program or skills, where, and how it would be started: a line each, whatever the manifest holds."""
    directory, manifest = stranger.entry.directory, stranger.manifest
    name = one_line(manifest.name)
    again = " once more, since it has changed" if stranger.standing.kind == "changed" else ""
    if not manifest.exec:
        return [
            f"? Use the skills of the extension {name} of this project{again}? They instruct the model.",
            f"  folder:  {one_line(str(directory))}",
            f"  skills:  {one_line(shlex.join(manifest.skills))}",
        ]
    return [
        f"? Run the extension {name} of this project{again}? It is a program, and runs as you.",
        f"  folder:  {one_line(str(directory))}",
        f"  command: {one_line(shlex.join(manifest.command(directory)))}",
    ]


def _keep(trust: Trust, stranger: Stranger) -> None:
    try:
        trust.agree(stranger.entry.directory, stranger.standing.sha256)
    except OSError as error:
        sys.stderr.write(printable(f"! it runs now, but that is not kept: {error.filename}: {error.strerror}\n"))
