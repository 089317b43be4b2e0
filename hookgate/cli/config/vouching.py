"""The question whether what changed while commands of tools ran is a person's own, and what is kept of the answer."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import trio

from hookgate.assembly.keeping.kept import Keeping, seals_folder
from hookgate.assembly.keeping.seal_files import all_files
from hookgate.assembly.keeping.seals import Seals
from hookgate.channels.printable import one_line, printable
from hookgate.channels.terminal.dialogue import YES_OR_NO, Dialogue
from hookgate.channels.terminal.question import Part, Question
from hookgate.cli.agreeing import Put, agreed, yes_or_no
from hookgate.cli.printing import say
from hookgate.program.signals import run_interruptibly

QUESTION = yes_or_no("Go by them as they are now?")
HEAD = "These files guard hookgate, and changed while a command of a tool was running:"


async def ask_about_changes(keeping: Keeping, put: Put) -> None:
    """Ask a person about all of this configuration that changed; what they do not vouch for stays left out."""
    seals = Seals(keeping.sealed, seals_folder())
    digests = await trio.to_thread.run_sync(_changed, seals)
    try:
        if digests and await put(Dialogue(_question(digests), YES_OR_NO)) == "yes":
            await trio.to_thread.run_sync(_vouch, seals, digests)
    finally:
        seals.close()


def accept_changes(*, yes: bool) -> int:
    """Of all workspaces, for a person at a terminal; also while hookgate runs, which hears of it. The exit status."""
    seals = Seals(_recorded, seals_folder())
    digests = _changed(seals)
    try:
        if not digests:
            say("Nothing that guards hookgate has changed while a command of a tool was running.")
            return 0
        if not yes and not run_interruptibly(agreed, _question(digests)):
            say("Nothing was accepted:")
            for line in _lines(digests):
                say(f"  {line}")
            return 1
        return 0 if _vouch(seals, digests) else 1
    finally:
        seals.close()


def _changed(seals: Seals) -> dict[str, str]:
    seals.restore()
    return seals.digests(seals.broken(seals.roots())) if seals.doubtful else {}


def _recorded() -> list[str]:
    known = [file.read() for file in all_files(seals_folder())]
    return [path for it in known for path in (*it.digests, *it.roots)]


def _vouch(seals: Seals, digests: dict[str, str]) -> bool:
    try:
        seals.vouch(digests)
    except OSError as error:
        sys.stderr.write(printable(f"! it is not kept: {error.filename}: {error.strerror}\n"))
        return False
    return True


def _question(digests: dict[str, str]) -> Question:
    return Question(HEAD, (Part("files", "\n".join(_lines(digests))),), (), QUESTION)


def _lines(digests: dict[str, str]) -> list[str]:
    return [one_line(f"{path}: {_when(path) if digest else 'is gone'}") for path, digest in digests.items()]


def _when(path: str) -> str:
    status = Path(path).lstat()
    return f"{status.st_size} bytes, changed {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(status.st_ctime))}"
