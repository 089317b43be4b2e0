"""What earlier runs have learnt of the extensions, and this one learns: whom nothing may pass before they are up, and
which variables they want and do not get."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from hookgate import config as configuration
from hookgate.extensions.memory import Learnt, Memory
from hookgate.extensions.variables import look_through
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.hook.stages import Stage

if TYPE_CHECKING:
    from hookgate.hooks.zot.spec import ExtensionSpec

log = structlog.get_logger("hookgate.extensions")

GUARDING = frozenset(("tool_call", "turn_start", "assistant_message"))
"""What an extension intercepts that can keep something from happening."""


class Learning:
    """`notes`: lines for people that no run has said yet, of the extensions that were looked through last. `passed`:
    the variables that the configuration hands to each already."""

    def __init__(self, memory: Memory, passed: Callable[[str], Sequence[str]] = lambda _name: ()) -> None:
        self._memory, self._passed = memory, passed
        self._untold: dict[Path, tuple[str, frozenset[str]]] = {}

    def guarded(self, directory: Path, announced: Collection[str]) -> frozenset[Stage]:
        """Where it stood when it was last up, or where its manifest says that it will."""
        guarding = (self._memory.of(directory).intercepts | frozenset(announced)) & GUARDING
        if not guarding:
            return frozenset()
        from hookgate.hooks.zot.interception import stages_of

        return stages_of(guarding)

    def learn(self, directory: Path, intercepts: frozenset[str]) -> None:
        """It is up, and intercepts this."""
        self._keep(directory, replace(self._memory.of(directory), intercepts=intercepts))

    def look(self, specs: Iterable[ExtensionSpec]) -> None:
        """Through the code of those that are to be started. Blocks a little."""
        self._untold = {}
        for spec in specs:
            directory = Path(spec.directory)
            learnt, sources = self._memory.of(directory), look_through(directory)
            if learnt.sources != sources.digest:
                learnt = replace(learnt, sources=sources.digest, variables=sources.variables, told=frozenset())
                self._keep(directory, learnt)
            untold = configuration.withheld(learnt.variables, spec.environment) - learnt.told
            if untold:
                self._untold[directory] = spec.name, untold

    def take_notes(self) -> tuple[str, ...]:
        """A line for each extension that lacks variables; from here on people know of them."""
        notes, self._untold = self._untold, {}
        for directory, (_name, variables) in notes.items():
            learnt = self._memory.of(directory)
            self._keep(directory, replace(learnt, told=learnt.told | variables))
        return tuple(_note(name, sorted(variables), self._passed(name)) for name, variables in notes.values())

    def _keep(self, directory: Path, learnt: Learnt) -> None:
        try:
            self._memory.keep(directory, learnt)
        except OSError as error:
            log.warning("extension_memory_unwritable", directory=str(directory), reason=str(error))


def _note(name: str, variables: Sequence[str], passed: Sequence[str]) -> str:
    """With the whole list, which is pasted over the one that is there."""
    verb = "is" if len(variables) == 1 else "are"
    listed = ", ".join(f'"{it}"' for it in dict.fromkeys((*passed, *variables)))
    said = f"its code mentions {', '.join(variables)}, which {verb} set here and not handed to it"
    return f"extension {name}: {said}; [zot.extensions.{name}] env_pass = [{listed}] does that"
