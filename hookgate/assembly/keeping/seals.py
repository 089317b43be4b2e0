"""Whether what hookgate starts and believes is what it was before commands of tools ran.

Paths alone guard nothing: a command in the background keeps its mounts while an editor replaces the file below them,
and under Landlock, or without a sandbox, there are none. So what lies there is known by digest. It is taken anew
before a command begins, when nobody but a person can have changed it, and looked at again when the last one ends.
What changed in between is not started and not believed until a person has vouched for it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import AsyncGenerator, Callable, Container, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import structlog
import trio

from hookgate.assembly.keeping.digests import Digests, changed_since
from hookgate.assembly.keeping.seal_files import KnownDigests, SealFile, all_files, own_file
from hookgate.processes.guardian.strays import command_begins, command_ended

log = structlog.get_logger("hookgate.seals")

ACCEPT = "hookgate config accept"
"""What a person types once they have looked."""
_CLOCK_S = 0.05
"""The time of a file may lag behind the clock by so much."""
_MAX_NAMED = 3

Sealed = Callable[[], Iterable[str]]
"""The paths of files and folders that count now. Blocks a little."""


class Seals:
    """`folder` keeps what outlives this process. Only one thread looks at a time."""

    def __init__(self, sealed: Sealed, folder: Path) -> None:
        self._sealed, self._folder = sealed, folder
        self._file = own_file(folder)
        self._digests = Digests()
        self._good: dict[str, str] = {}
        self._roots: frozenset[str] = frozenset()
        self._broken: dict[str, str] = {}
        """By path what it held when it was good; empty: it was not there."""
        self._written = KnownDigests()
        self._since = 0.0
        self._running = 0
        self._turn = trio.Lock()
        self._looking = threading.Lock()

    # --- round commands of tools ---

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """While a command of a tool runs. What can only be a person's change until then is taken as good."""
        async with self._turn:
            if not self._running:
                await trio.to_thread.run_sync(self._begin)
            self._running += 1
        try:
            yield
        finally:
            with trio.CancelScope(shield=True):
                async with self._turn:
                    if self._running == 1:
                        await trio.to_thread.run_sync(self._end)
                    self._running -= 1

    def _begin(self) -> None:
        command_begins()
        with self._looking:
            self._take()
            # Should this process be killed, the next one knows what was there.
            self._keep(KnownDigests({**self._good, **self._broken}, tuple(self._roots)))
            self._since = time.time() - _CLOCK_S

    def _take(self) -> None:
        self._learn()
        roots = frozenset(self._sealed())
        self._roots, self._good = roots, self._digests.below(roots)
        for path, good in tuple(self._broken.items()):
            if self._good.get(path, "") == good:
                del self._broken[path]
            else:
                self._good[path] = good

    def _end(self) -> None:
        # What a command has left behind could make its change after the look.
        if not command_ended():
            log.warning("left_by_a_command", reason="what it has left running cannot be ended")
        with self._looking:
            self._learn()
            found = self._changed(frozenset(self._sealed()) | self._roots)
            if new := refusal(tuple(sorted(found.keys() - self._broken.keys()))):
                log.warning("changed_by_a_command", reason=new)
            self._broken.update(found)
            self._keep(KnownDigests(dict(self._broken)))

    def _changed(self, roots: Iterable[str]) -> dict[str, str]:
        """By path what it was before the command that runs. What was not looked at then tells by its time."""
        known = frozenset(root for root in roots if _within(root, self._roots))
        late = [root for root in roots if root not in known and changed_since(root, self._since)]
        before = {path: digest for path, digest in self._good.items() if _within(path, known)}
        return {**differing(before, self._digests.below(known)), **dict.fromkeys(self._digests.below(late), "")}

    # --- before something is started or believed ---

    @property
    def doubtful(self) -> bool:
        """Whether anything can be broken: a command runs, or one has left something."""
        return self._running > 0 or bool(self._broken)

    def broken(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Those of them, and of what lies in them, that changed while a command ran. Blocks."""
        asked = frozenset(paths)
        with self._looking:
            self._learn()
            found = {**self._broken, **(self._changed(asked) if self._running else {})}
            # Of a large folder only the whole is known.
            about = [path for path in found if _within(path, asked) or any(_within(it, {path}) for it in asked)]
            now = self._digests.below(about)
            return tuple(sorted(path for path in about if now.get(path, "") != found[path]))

    def restore(self) -> None:
        """Know what others, ended or not, have left. Blocks."""
        with self._looking:
            files = tuple(all_files(self._folder))
            roots = frozenset(self._sealed() if files else ())
            for file in files:
                known = file.read()
                now = self._digests.below({*known.digests, *known.roots})
                changed = differing(known.digests, now)
                self._broken.update({path: good for path, good in changed.items() if _within(path, roots)})
                if not file.alive:
                    self._keep(KnownDigests(dict(self._broken)))
                    self._write(file, KnownDigests({it: changed[it] for it in changed if _is_others(it, roots)}))

    def roots(self) -> tuple[str, ...]:
        """All that counts now. Blocks a little."""
        return tuple(self._sealed())

    def digests(self, paths: Iterable[str]) -> dict[str, str]:
        """What they hold now; empty: it is not there. Blocks."""
        with self._looking:
            return {path: self._digests.below([path]).get(path, "") for path in paths}

    def vouch(self, digests: Mapping[str, str]) -> None:
        """A person has looked at these files while they held this. Raises OSError. Blocks."""
        with self._looking:
            for file in all_files(self._folder):
                known = file.read()
                roots = frozenset(known.roots)
                mine = {it: digest for it, digest in digests.items() if it in known.digests or _within(it, roots)}
                if mine:
                    file.write(KnownDigests({**known.digests, **mine}, known.roots))
            self._good.update(digests)
            for path in digests:
                self._broken.pop(path, None)

    def close(self) -> None:
        """What is broken stays known to the next start."""
        with self._looking:
            self._learn()
            self._keep(KnownDigests(dict(self._broken)))

    def _learn(self) -> None:
        """Somebody may have vouched meanwhile: then the file holds other digests than were put there."""
        if self._written == KnownDigests():
            return
        known = self._file.read()
        for path, digest in known.digests.items():
            if self._written.digests.get(path, "") != digest:
                self._good[path] = digest
                self._broken.pop(path, None)
        self._written = known

    def _keep(self, known: KnownDigests) -> None:
        if known != self._written and self._write(self._file, known):
            self._written = known

    def _write(self, file: SealFile, known: KnownDigests) -> bool:
        try:
            file.write(known)
        except OSError as error:
            log.warning("seals_not_kept", path=str(file.path), reason=error.strerror)
            return False
        return True


def refusal(broken: tuple[str, ...]) -> str:
    """Why these are left out; empty where there are none."""
    if not broken:
        return ""
    more = f" and {len(broken) - _MAX_NAMED} more" if len(broken) > _MAX_NAMED else ""
    named = f"{', '.join(broken[:_MAX_NAMED])}{more}"
    return f"{named} changed while a command of a tool was running; look at it, then type `{ACCEPT}`"


def differing(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """By path what was there before, for what is not as it was. Pure."""
    paths = before.keys() | now.keys()
    return {path: before.get(path, "") for path in paths if before.get(path, "") != now.get(path, "")}


def _is_others(path: str, roots: Container[str]) -> bool:
    """What lay in a folder that is gone is nobody's."""
    return not _within(path, roots) and os.path.isdir(os.path.dirname(path))


def _within(path: str, roots: Container[str]) -> bool:
    while path not in roots:
        path, slash, _name = path.rpartition("/")
        if not slash:
            return False
    return True
