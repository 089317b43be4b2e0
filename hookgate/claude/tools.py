"""What tools and their arguments are called on both sides. Of files it asks only where a link leads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.edits import replacements
from hookgate.protocol.values import Json, JsonObject

_MCP = "mcp__"


class NotCarried(Exception):
    """A change that has no counterpart here; the text says which."""


@dataclass(frozen=True)
class _Tool:
    """`names`: there, the usual one first. `members`: arguments that are called otherwise there. `paths`: arguments
    that are absolute there; `seconds`: that are milliseconds there."""

    names: tuple[str, ...]
    members: Mapping[str, str] = field(default_factory=dict[str, str])
    paths: frozenset[str] = frozenset()
    seconds: frozenset[str] = frozenset()


_FILE, _PATH = {"path": "file_path"}, frozenset(("path",))
_TOOLS: Mapping[str, _Tool] = {
    "bash": _Tool(("Bash",), {"background": "run_in_background"}, seconds=frozenset(("timeout",))),
    "bash_output": _Tool(("BashOutput", "TaskOutput"), {"id": "bash_id"}),
    "bash_kill": _Tool(("KillShell", "KillBash", "TaskStop"), {"id": "shell_id"}),
    "read": _Tool(("Read",), _FILE, _PATH),
    "write": _Tool(("Write",), _FILE, _PATH),
    "edit": _Tool(("Edit", "MultiEdit"), _FILE, _PATH),
    "ls": _Tool(("LS",), {}, _PATH),
    "glob": _Tool(("Glob",), {}, _PATH),
    "grep": _Tool(("Grep",), {"ignore_case": "-i"}, _PATH),
    "web_fetch": _Tool(("WebFetch",)),
    "delegate": _Tool(("Task", "Agent"), {"task": "prompt", "agent": "subagent_type", "context": "description"}),
    "skill": _Tool(("Skill",), {"name": "skill"}),
}


def names_of(tool: str) -> tuple[str, ...]:
    """All that a matcher may call it, the one that it is told by first: `mcp__SERVER__TOOL` for a server's; a tool
    that is not known there goes by its own name."""
    known = _TOOLS.get(tool)
    if known is not None:
        return known.names
    server, separator, _ = tool.partition("__")
    return (_MCP + tool, tool) if server and separator else (tool,)


def told(tool: str, arguments: JsonObject, folder: str) -> dict[str, Json]:
    """`tool_input`. `folder`: what relative paths count from."""
    known = _TOOLS.get(tool, _Tool(()))
    given: dict[str, Json] = {}
    for name, value in arguments.items():
        given[known.members.get(name, name)] = _there(known, name, value, folder)
    if tool == "edit":
        given |= _edits(arguments)
    return given


def _there(known: _Tool, name: str, value: Json, folder: str) -> Json:
    if name in known.paths and isinstance(value, str):
        return _placed(os.path.join(folder, value))
    if name in known.seconds and isinstance(value, int | float) and not isinstance(value, bool):
        return round(value * 1000)
    return value


def _placed(path: str) -> str:
    """Behind a link `..` leads elsewhere than its name says."""
    try:
        return os.path.realpath(path) if ".." in path.split("/") else os.path.normpath(path)
    except ValueError:
        return path


def _edits(arguments: JsonObject) -> dict[str, Json]:
    """All that is replaced, in the members of one edit too: who looks for something there finds it in any of them."""
    edits = replacements(arguments)
    listed: list[Json] = [{"old_string": it.old, "new_string": it.new} for it in edits]
    old, new = "\n".join(it.old for it in edits), "\n".join(it.new for it in edits)
    return {"old_string": old, "new_string": new, "edits": listed or arguments.get("edits"), "replace_all": False}


def changed(tool: str, arguments: JsonObject, told_input: JsonObject, updated: JsonObject) -> dict[str, Json]:
    """The arguments that an `updatedInput` asks for; what it leaves as it was told stays as it was. Raises
    NotCarried."""
    known = _TOOLS.get(tool, _Tool(()))
    back = {there: here for here, there in known.members.items()}
    kept = {known.members.get(name, name): (name, value) for name, value in arguments.items()}
    made: dict[str, Json] = {}
    for there, value in updated.items():
        if there in told_input and told_input[there] == value:
            if there in kept:
                made[kept[there][0]] = kept[there][1]
            continue
        name = back.get(there, there)
        if tool == "edit" and name != "path":
            raise NotCarried(f"{there} of {known.names[0]}")
        made[name] = _here(known, name, value)
    return made


def _here(known: _Tool, name: str, value: Json) -> Json:
    if name in known.seconds and isinstance(value, int | float) and not isinstance(value, bool):
        return value / 1000
    return value
