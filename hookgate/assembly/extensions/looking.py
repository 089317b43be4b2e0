"""Which extensions are to be loaded, as they lie there now, and whether what was agreed to is still there.

Starts none.
"""

from __future__ import annotations

from pathlib import Path

import trio

from hookgate import config as configuration
from hookgate.assembly.settings import ExtensionFlags
from hookgate.channels.printable import one_line
from hookgate.config import ConfigError
from hookgate.extensions.discovery import (
    Candidate,
    Entry,
    FoundExtensions,
    Judge,
    Places,
    Problem,
    arranged,
    doubtful,
    everybody,
    there,
)
from hookgate.extensions.trust import Standing, Trust
from hookgate.sections import Config


async def looked(config: Config, flags: ExtensionFlags) -> FoundExtensions:
    """What is to be loaded, as it lies there now. In a thread where folders must be read whole, since turns may be
    running. Raises ConfigError."""
    entries, problems = _there(config, flags)
    judge = judge_of(config, flags)
    if judge is everybody or not doubtful(entries):
        return arranged(entries, problems, judge)
    return await trio.to_thread.run_sync(arranged, entries, problems, judge, abandon_on_cancel=True)


def found_by(config: Config, flags: ExtensionFlags) -> FoundExtensions:
    """The same, for those who keep nobody waiting. Raises ConfigError."""
    return arranged(*_there(config, flags), judge_of(config, flags))


def _there(config: Config, flags: ExtensionFlags) -> tuple[list[Entry], tuple[Problem, ...]]:
    zot = config.zot
    if not zot.enabled:
        if flags.named:
            raise ConfigError("zot.enabled is false, so --ext loads nothing")
        return [], ()
    project = zot.discover if zot.discover is not None else flags.discover
    here = Path.cwd() if project and zot.trust != "never" else None
    places = Places(here, configuration.extensions_folder(), configuration.zot_home(config))
    return there(flags.named, places if flags.search else None)


def judge_of(config: Config, flags: ExtensionFlags) -> Judge:
    if flags.trusting or config.zot.trust == "always":
        return everybody
    return (flags.trust or Trust(configuration.trust_folder())).standing


def unloaded(found: FoundExtensions) -> tuple[str, ...]:
    """A line for each that is not even tried."""
    return tuple(one_line(it.text) for it in (*found.problems, *found.strangers))


class Agreement:
    """Whether an extension of the project is still what was agreed to: asked before each start of its process.

    The first comes right after the look that found it, and is not asked again.
    """

    def __init__(self, candidate: Candidate, judge: Judge) -> None:
        self._candidate = candidate
        self._judge = judge
        self._first = True

    async def __call__(self) -> str:
        """Why not; empty: it is. A new agreement is one to what a reload would start."""
        if self._first:
            self._first = False
            return ""
        before, directory = self._candidate.standing, self._candidate.directory
        now = await trio.to_thread.run_sync(self._judge, directory, abandon_on_cancel=True)
        return "" if now == before else _why_not(now, before)


def _why_not(now: Standing, before: Standing) -> str:
    if now.kind == "unreadable":
        return f"it cannot be trusted any more: {now.reason}"
    return "it is not trusted any more" if now.sha256 == before.sha256 else "it has changed since it was trusted"
