"""The question whether an extension of the project may run, and what is kept of the answer. Starts nothing."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from hookgate.assembly.extensions.looking import looked
from hookgate.assembly.settings import ExtensionFlags
from hookgate.channels.printable import named
from hookgate.channels.terminal.dialogue import YES_OR_NO, Dialogue
from hookgate.channels.terminal.question import DIGEST_CHARS, Part, Question, measured
from hookgate.cli.agreeing import Put, yes_or_no
from hookgate.extensions.discovery import FoundExtensions, Stranger
from hookgate.extensions.trust import Trust
from hookgate.sections import Config
from hookgate.sections.zot import ZotExtension

RUN_IT = yes_or_no("Run it? A yes is kept until the folder changes.")
USE_THEM = yes_or_no("Use them? A yes is kept until the folder changes.")


async def introduce(
    config: Config, flags: ExtensionFlags, put: Put, tell: Callable[[str], None]
) -> FoundExtensions | None:
    """Ask about each extension of the project that would run if it were trusted; a yes is kept. Raises ConfigError.

    What is agreed to is what was there before the question: whatever changes meanwhile is not part of it. So there is
    a look to go on with only where nobody was asked; else None.
    """
    if flags.trust is None:
        return None
    found = await looked(config, flags)
    asked = [it for it in found.strangers if _wanted(config, it) and it.standing.kind != "unreadable"]
    for stranger in asked:
        if await put(Dialogue(question(stranger), YES_OR_NO)) == "yes":
            _keep(flags.trust, stranger, tell)
    return None if asked else found


def _wanted(config: Config, stranger: Stranger) -> bool:
    return config.zot.extensions.get(stranger.manifest.name, ZotExtension()).enabled


def question(stranger: Stranger) -> Question:
    """Whose program or skills, where, and how it would be started, whatever the manifest holds."""
    directory, manifest = stranger.entry.directory, stranger.manifest
    name = named(manifest.name)
    again = " once more, since it has changed" if stranger.standing.kind == "changed" else ""
    if manifest.exec:
        head = f"Run the extension {name} of this project{again}? It is a program, and runs as you."
        what = Part("command", shlex.join(manifest.command(directory)))
    else:
        head = f"Use the skills of the extension {name} of this project{again}? They instruct the model."
        what = Part("skills", shlex.join(manifest.skills))
    parts = (Part("folder", str(directory)), what)
    foot = (
        f"{measured(manifest.name, parts)} above",
        f"all that is in the folder: sha256 {stranger.standing.sha256[:DIGEST_CHARS]}",
    )
    return Question(head, parts, foot, RUN_IT if manifest.exec else USE_THEM)


def _keep(trust: Trust, stranger: Stranger, tell: Callable[[str], None]) -> None:
    try:
        trust.agree(stranger.entry.directory, stranger.standing.sha256)
    except OSError as error:
        tell(f"! it runs now, but that is not kept: {error.filename}: {error.strerror}")
