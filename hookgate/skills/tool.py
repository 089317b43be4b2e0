"""The tool `skill`: the instructions of one skill. Changes nothing; the skills come from whoever made the tool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import trio

from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.skills import TOOL
from hookgate.skills.shelf import FoundSkills
from hookgate.skills.skill import BadSkill, Skill, beside, read_skill
from hookgate.tools import arguments
from hookgate.tools.errors import ToolError
from hookgate.tools.schema.objects import takes
from hookgate.tools.schema.spec import MAX_DESCRIPTION_BYTES

MAX_LISTED_FILES = 20
INTRODUCTION = (
    "Load a skill: instructions for one kind of task. Where one of these fits what is asked, load it before you "
    "begin, and follow it."
)
_WIDTHS = (1000, 500, 250, 120, 60, 30, 0)
"""Characters of each description, from the first on, until the list is short enough."""


def skill_spec(skills: Sequence[Skill]) -> ToolSpec:
    """Its description lists what there is, for a model to choose from."""
    return ToolSpec(
        name=TOOL,
        description=listing(skills),
        parameters=takes("name", name={"type": "string", "description": "The skill's name, as it is listed."}),
        mutates=False,
        affects_workspace=False,
        access="none",
    )


def listing(skills: Sequence[Skill], max_bytes: int = MAX_DESCRIPTION_BYTES) -> str:
    """A line for each; where that is too long descriptions are cut, all alike, and at last names left out. Pure."""
    for width in _WIDTHS:
        text = "\n".join([INTRODUCTION, *(_line(it, width) for it in skills)])
        if _size(text) <= max_bytes:
            return text
    lines, size = [INTRODUCTION], _size(INTRODUCTION)
    for number, it in enumerate(skills):
        line, more = _line(it, 0), f"and {len(skills) - number} more: an unknown name is answered with all of them"
        if size + _size(line) + _size(more) + 2 > max_bytes:
            return "\n".join([*lines, more])
        lines.append(line)
        size += _size(line) + 1
    return "\n".join(lines)


def _line(skill: Skill, width: int) -> str:
    text = " ".join("".join(it if it.isprintable() else " " for it in skill.description).split())
    if len(text) > width:
        text = f"{text[: width - 3].rstrip()}..." if width else ""
    return f"- {skill.name}: {text}" if text else f"- {skill.name}"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


class SkillTool:
    """`look`: what there is now; asked at every call, so that a changed file counts at once. It may block.

    `workspace`, with all links resolved: what file tools reach.
    """

    def __init__(self, spec: ToolSpec, look: Callable[[], FoundSkills], workspace: Path) -> None:
        self.spec = spec
        self._look = look
        self._workspace = workspace

    async def execute(self, call: ToolCall) -> ToolResult:
        name = arguments.required(call, "name")
        # Abandoned when cancelled: a folder on a dead network disk may never answer.
        text = await trio.to_thread.run_sync(partial(self._text, name), abandon_on_cancel=True)
        return ToolResult(text)

    def _text(self, name: str) -> str:
        found = self._look()
        skill = found.get(name)
        if skill is None:
            raise _unknown(name, [it.name for it in found.skills])
        try:
            whole = read_skill(skill.folder)
        except BadSkill as error:
            raise ToolError("not_found", TOOL, f"skill: {name}: {error}") from None
        return f"{shown(whole)}{self._company(skill)}"

    def _company(self, skill: Skill) -> str:
        """What lies beside SKILL.md, where a model can read it."""
        names = beside(skill) if skill.folder.resolve().is_relative_to(self._workspace) else ()
        if not names:
            return ""
        folder = skill.folder.resolve().relative_to(self._workspace).as_posix()
        listed = ", ".join(names[:MAX_LISTED_FILES]) + (", ..." if len(names) > MAX_LISTED_FILES else "")
        return f"\n\n---\n\nPaths in this skill count from {folder}, where there are: {listed}"


def shown(skill: Skill) -> str:
    """As the model gets it. Pure."""
    return f"# Skill: {skill.name}\n\n{skill.description}\n\n---\n\n{skill.body}"


def _unknown(name: str, known: Sequence[str]) -> ToolError:
    return ToolError("not_found", TOOL, f'skill: no skill named "{name[:100]}" (known: {", ".join(known) or "none"})')
