"""Which skills there are: the places are looked through in order, and a file is read again when it has changed.

Logs nothing and tells nobody; blocks, as every look at files does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from hookgate.protocol.dataclasses import dataclass
from hookgate.skills.place import SkillFolder
from hookgate.skills.skill import FILE_NAME, BadSkill, Skill, read_head

MAX_SKILLS = 200
MAX_ENTRIES = 1000
"""Names that are looked at in one place: the look is repeated before each model call."""

Stamp = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """A skill that cannot be loaded, or a place; the others can."""

    folder: Path
    reason: str

    @property
    def text(self) -> str:
        return f"skill load: {self.folder}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Shadowed:
    """A skill that is not offered since `by` comes before it under the same name."""

    skill: Skill
    by: Path


@dataclass(frozen=True, slots=True)
class FoundSkills:
    """`skills` in the order of their places, one a name."""

    skills: tuple[Skill, ...] = ()
    shadowed: tuple[Shadowed, ...] = ()
    problems: tuple[Problem, ...] = ()

    def get(self, name: str) -> Skill | None:
        return next((it for it in self.skills if it.name == name), None)


class Shelf:
    """Remembers what it has read, so that a look at unchanged files is a few `stat` calls. It reads the heads alone,
    and none once there are MAX_SKILLS."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[Stamp, Skill | Problem]] = {}

    def look(self, places: Iterable[SkillFolder]) -> FoundSkills:
        """What is there now."""
        read: dict[str, tuple[Stamp, Skill | Problem]] = {}
        problems: list[Problem] = []
        names: set[str] = set()
        for place in places:
            try:
                folders = list(_folders(place))
            except BadSkill as error:
                problems.append(Problem(place.folder, str(error)))
                continue
            for folder, stamp in folders:
                known = self._read.get(folder)
                if known is None or known[0] != stamp:
                    if len(names) >= MAX_SKILLS:
                        problems.append(_one_too_many(Path(folder)))
                        continue
                    known = stamp, _read(place, Path(folder))
                read[folder] = known
                if isinstance(known[1], Skill):
                    names.add(known[1].name)
        # In one step: two threads may look at once.
        self._read = read
        return arranged((it for _stamp, it in read.values()), problems)


def arranged(results: Iterable[Skill | Problem], problems: Iterable[Problem] = ()) -> FoundSkills:
    """Of one name the first counts, and of all of them MAX_SKILLS. Pure."""
    skills: dict[str, Skill] = {}
    shadowed: list[Shadowed] = []
    broken = list(problems)
    for it in results:
        if isinstance(it, Problem):
            broken.append(it)
        elif it.name in skills:
            shadowed.append(Shadowed(it, skills[it.name].folder))
        elif len(skills) == MAX_SKILLS:
            broken.append(_one_too_many(it.folder))
        else:
            skills[it.name] = it
    return FoundSkills(tuple(skills.values()), tuple(shadowed), tuple(broken))


def believed(found: FoundSkills, recheck: Callable[[Path], str]) -> FoundSkills:
    """Without those whose text is not to be believed now; `recheck` says why, or nothing. Blocks as it does."""
    why = {it.folder: reason for it in found.skills if (reason := recheck(it.folder / FILE_NAME))}
    if not why:
        return found
    problems = tuple(Problem(folder, reason) for folder, reason in why.items())
    skills = tuple(it for it in found.skills if it.folder not in why)
    return FoundSkills(skills, found.shadowed, (*found.problems, *problems))


def _one_too_many(folder: Path) -> Problem:
    return Problem(folder, f"there are {MAX_SKILLS} skills already")


def _read(place: SkillFolder, folder: Path) -> Skill | Problem:
    if not _leads_into(folder, Path(os.path.realpath(place.folder))):
        return Problem(folder, f"it is a link that leads out of {place.folder}")
    try:
        return read_head(folder)
    except BadSkill as error:
        return Problem(folder, str(error))


def _folders(place: SkillFolder) -> Iterator[tuple[str, Stamp]]:
    """Those that hold a SKILL.md, by name, with what tells that it is still the same. Raises BadSkill."""
    if place.within is not None and not _leads_into(place.folder, place.within):
        raise BadSkill(f"it leads out of {place.within}")
    try:
        names = sorted(os.listdir(place.folder), key=os.fsencode)
    except FileNotFoundError:
        if place.named:
            raise BadSkill("there is no such folder") from None
        return
    except OSError as error:
        raise BadSkill(f"cannot be listed: {error.strerror}") from None
    if FILE_NAME in names:
        names = [""]
    if len(names) > MAX_ENTRIES:
        raise BadSkill(f"it holds more than {MAX_ENTRIES} names")
    for name in names:
        folder = os.path.join(place.folder, name)
        if not name.startswith(".") and (stamp := _stamp(folder)) is not None:
            yield folder, stamp


def _leads_into(folder: Path, root: Path) -> bool:
    return Path(os.path.realpath(folder)).is_relative_to(root)


def _stamp(folder: str) -> Stamp | None:
    """None where there is no SKILL.md: that is something else, or a plain file beside the folders."""
    file = os.path.join(folder, FILE_NAME)
    try:
        it = os.stat(file)
    except NotADirectoryError:
        return None
    except OSError:
        # A link to nowhere is there all the same.
        return () if os.path.lexists(file) else None
    return (it.st_dev, it.st_ino, it.st_size, it.st_mtime_ns, it.st_ctime_ns)
