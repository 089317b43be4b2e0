"""The skills of one running hookgate: where they are looked for, and the tool that the model has while there are any.

Light: what reads skills is imported when there is a folder that may hold some.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
import trio

from hookgate import config as configuration
from hookgate.assembly.logs.sinks import observer
from hookgate.hooks.rules import Mount
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import StepBegan
from hookgate.protocol.hook.match import Globs
from hookgate.sections import Config
from hookgate.skills import TOOL
from hookgate.skills.place import SkillFolder
from hookgate.tools.registry import Registry

if TYPE_CHECKING:
    from hookgate.assembly.extensions.extensions import Extensions
    from hookgate.extensions.discovery import FoundExtensions
    from hookgate.skills.shelf import FoundSkills, Problem, Shelf
    from hookgate.skills.skill import Skill

log = structlog.get_logger("hookgate.skills")

PROVIDER = "builtin"
PROJECT_FOLDERS = (".hookgate/skills", ".zot/skills")
ZOT_FOLDER = "skills"


def switched_on(configured: bool | None, wanted: bool | None) -> bool:
    """`wanted` True: on unless the configuration says no; False: off; None: off unless it says yes."""
    return wanted is not False and (wanted is True if configured is None else configured)


@dataclass(frozen=True)
class Joined:
    """What skills are joined to. `recheck`: why a file is not to be believed, empty where it is; blocks a little."""

    registry: Registry
    extensions: Extensions | None = None
    recheck: Callable[[Path], str] = lambda _file: ""


async def load_skills(config: Config, wanted: bool | None, joined: Joined) -> Skills | None:
    """With the tool registered, where there are any skills; None where they are off. `wanted`: see `switched_on`."""
    if not switched_on(config.skills.enabled, wanted) or not Globs(config.tools.enabled).covers(TOOL):
        return None
    # A program that has hookgate inside it may have a tool of this name.
    if joined.registry.holder(TOOL):
        return None
    skills = Skills(config, joined)
    if skills.may_have_any:
        await skills.load()
    return skills


class Skills:
    """`mount` keeps the tool true to the files: they are looked at before each model call, and at each use."""

    def __init__(self, config: Config, joined: Joined) -> None:
        self._config = config
        self._registry, self._extensions, self._recheck = joined.registry, joined.extensions, joined.recheck
        self._workspace = configuration.workspace_folder(config)
        self._shelf: Shelf | None = None
        self._offered: tuple[Skill, ...] = ()
        self._told: set[str] = set()
        self._brought: tuple[FoundExtensions | None, tuple[SkillFolder, ...]] = (None, ())
        self.tell: Callable[[str], None] | None = None
        """For one that is found broken later; None: the log has it."""
        self.mount: Mount = observer("skills", (StepBegan.kind,), self._before_model)

    def problems(self) -> tuple[str, ...]:
        """A line for each that cannot be loaded; the others are offered from here on."""
        if not self.may_have_any:
            return ()
        texts = tuple(problem.text for problem in self.refresh().problems)
        self._told.update(texts)
        return texts

    def refresh(self) -> FoundSkills:
        """Offer what is there now."""
        return self._taken(self._look())

    async def load(self) -> None:
        """The first look."""
        # Abandoned when cancelled: a folder on a dead network disk may never answer.
        self._taken(await trio.to_thread.run_sync(self._look, abandon_on_cancel=True))

    def _taken(self, found: FoundSkills) -> FoundSkills:
        if found.skills != self._offered:
            self._offer(found)
            self._offered = found.skills
        return found

    def _offer(self, found: FoundSkills) -> None:
        from hookgate.skills.tool import SkillTool, skill_spec

        for it in found.shadowed:
            log.info("skill_shadowed", skill=it.skill.name, folder=str(it.skill.folder), by=str(it.by))
        if found.skills:
            tool = SkillTool(skill_spec(found.skills), self._look, self._workspace)
            # The version rises where the list is another one: a body may change without that.
            self._registry.register(tool, reserved=True)
        else:
            self._registry.unregister(TOOL, PROVIDER)

    @property
    def may_have_any(self) -> bool:
        """Whether there is a folder at all; as long as there is none, nothing is imported."""
        return self._shelf is not None or any(place.named or os.path.isdir(place.folder) for place in self._places())

    def _before_model(self, _event: Event) -> None:
        """In the loop's own thread, since the tools are frozen right after it: a few `stat` calls where nothing has
        changed, and else the heads of what has."""
        if not self.may_have_any:
            return
        for problem in self.refresh().problems:
            if problem.text not in self._told:
                self._told.add(problem.text)
                self._report(problem)

    def _report(self, problem: Problem) -> None:
        if self.tell is not None:
            self.tell(problem.text)
        else:
            log.warning("skill_not_loaded", folder=str(problem.folder), reason=problem.reason)

    def _look(self) -> FoundSkills:
        from hookgate.skills.shelf import Shelf, believed

        self._shelf = self._shelf or Shelf()
        return believed(self._shelf.look(self._places()), self._recheck)

    def _places(self) -> Iterator[SkillFolder]:
        """In the order in which names count."""
        section = self._config.skills
        yield from (SkillFolder(Path(folder).expanduser().absolute(), named=True) for folder in section.folders)
        if section.project:
            yield from (SkillFolder(self._workspace / folder, self._workspace) for folder in PROJECT_FOLDERS)
        yield SkillFolder(configuration.skills_folder())
        yield SkillFolder(configuration.zot_home(self._config) / ZOT_FOLDER)
        yield from self._of_extensions()

    def _of_extensions(self) -> tuple[SkillFolder, ...]:
        """What their manifests name; made once for each set that is loaded."""
        found = self._extensions.found if self._extensions is not None else None
        if found is None or not found.candidates:
            return ()
        if self._brought[0] is not found:
            named = ((Path(os.path.realpath(it.directory)), it.manifest.skills) for it in found.candidates)
            places = (SkillFolder(folder / path, folder, named=True) for folder, paths in named for path in paths)
            self._brought = (found, tuple(places))
        return self._brought[1]
