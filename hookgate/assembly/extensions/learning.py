"""What earlier runs have learnt of the extensions, and this one learns: whom nothing may pass before they are up, and
which variables they want and do not get."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from hookgate import config as configuration
from hookgate.extensions.memory import Learnt, Memory
from hookgate.extensions.variables import look_through, toolchain
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.hook.stages import Stage

if TYPE_CHECKING:
    from hookgate.hooks.zot.spec import ExtensionSpec

log = structlog.get_logger("hookgate.extensions")

GUARDING = frozenset(("tool_call", "turn_start", "assistant_message"))
"""What an extension intercepts that can keep something from happening."""


@dataclass(frozen=True, slots=True)
class Lack:
    """`mentioned` by its code or read by the `program` that starts it: set here, and not handed to it."""

    name: str
    project: str
    program: str
    mentioned: frozenset[str]
    read: frozenset[str]

    @property
    def marks(self) -> frozenset[str]:
        """What stands in the memory once people know: what one project hands on says nothing of another."""
        project = sha256(self.project.encode()).hexdigest()[:16]
        return frozenset(f"{project} {variable}" for variable in self.mentioned | self.read)


class Learning:
    """`passed`: the variables that the configuration hands to each already."""

    def __init__(self, memory: Memory, passed: Callable[[str], Sequence[str]] = lambda _name: ()) -> None:
        self._memory, self._passed = memory, passed
        self._lacks: dict[Path, Lack] = {}

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

    def look(self, specs: Sequence[ExtensionSpec]) -> None:
        """Through the code of those that are to be started; the log of each has what it lacks. Blocks a little."""
        self._lacks = {Path(it.directory): lack for it in specs if (lack := self._lack(it)).marks}
        for spec in specs:
            if lack := self._lacks.get(Path(spec.directory)):
                spec.journal.host(self._note(lack))

    def _lack(self, spec: ExtensionSpec) -> Lack:
        directory, program = Path(spec.directory), Path(spec.command[0]).name
        learnt, sources = self._memory.of(directory), look_through(directory)
        if (learnt.sources, learnt.variables) != (sources.digest, sources.variables):
            learnt = replace(learnt, sources=sources.digest, variables=sources.variables, told=frozenset())
            self._keep(directory, learnt)
        mentioned = configuration.withheld(learnt.variables, spec.environment)
        read = configuration.withheld(toolchain(program), spec.environment)
        return Lack(spec.name, spec.project_dir, program, mentioned, read - mentioned)

    def lacking(self) -> dict[str, str]:
        """By extension, a line for each of those looked through last that lacks variables."""
        return {it.name: self._note(it) for it in self._lacks.values()}

    def take_notes(self) -> tuple[str, ...]:
        """The lines that nobody was told in this project; from here on people know of them."""
        notes: list[str] = []
        for directory, lack in self._lacks.items():
            learnt = self._memory.of(directory)
            if lack.marks - learnt.told:
                notes.append(self._note(lack))
                self._keep(directory, replace(learnt, told=learnt.told | lack.marks))
        return tuple(notes)

    def _note(self, lack: Lack) -> str:
        """With the whole list, which is pasted over the one that is there."""
        said = [f"its code mentions {_listed(lack.mentioned)}"] if lack.mentioned else []
        said += [f"{lack.program} reads {_listed(lack.read)}"] if lack.read else []
        verb = "is" if len(lack.marks) == 1 else "are"
        variables = dict.fromkeys((*self._passed(lack.name), *sorted(lack.mentioned | lack.read)))
        pasted = ", ".join(f'"{it}"' for it in variables)
        lacks = f"{' and '.join(said)}, which {verb} set here and not handed to it"
        return f"extension {lack.name}: {lacks}; [zot.extensions.{lack.name}] env_pass = [{pasted}] does that"

    def _keep(self, directory: Path, learnt: Learnt) -> None:
        try:
            self._memory.keep(directory, learnt)
        except OSError as error:
            log.warning("extension_memory_unwritable", directory=str(directory), reason=str(error))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
