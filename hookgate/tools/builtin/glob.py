"""The tool `glob`: the paths below one folder that a pattern names. Changes nothing."""

from __future__ import annotations

import trio

from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.tools import arguments
from hookgate.tools.builtin.finding import SHOW_HIDDEN, SHOW_IGNORED, TRUNCATED, finding_spec
from hookgate.tools.errors import ToolError
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.output import OUTPUT_ARGUMENT, Form, Items, form_of, result
from hookgate.tools.schema.objects import gives, takes
from hookgate.tools.search.query import Entry, Query, SearchResult
from hookgate.tools.search.search import search, target
from hookgate.tools.search.walk import shown
from hookgate.tools.text import MAX_LINES

DEFAULT_RESULTS = 500

SPEC = finding_spec(
    name="glob",
    description=(
        "Find paths of the workspace by their names, sorted; folders have a slash at the end. The pattern is for the "
        "whole path below the folder: * and ? stay within a name, ** is any number of folders (**/*.py for every "
        "Python file), [a-z], [!a-z], {a,b} as in a shell; a slash at the end asks for folders alone. Case counts. "
        "Names that begin with a dot only where the pattern has such a name, or with show_hidden. What .gitignore "
        "files of the workspace leave out is left out. Links are listed, not followed."
    ),
    arguments=takes(
        "pattern",
        pattern={"type": "string", "maxLength": 1000, "description": "For example src/**/*.{ts,tsx}."},
        path={"type": "string", "description": "The folder to search; the workspace itself if left out."},
        show_hidden=SHOW_HIDDEN,
        show_ignored=SHOW_IGNORED,
        max_results={
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_LINES,
            "description": f"How many paths to list; all are counted. Default {DEFAULT_RESULTS}.",
        },
        output=OUTPUT_ARGUMENT,
    ),
    found=gives(
        pattern={"type": "string"},
        root={"type": "string"},
        matches={"type": "integer"},
        skipped={"type": "integer"},
        entries={
            "type": "array",
            "items": gives(path={"type": "string"}, type={"enum": ["file", "folder", "link", "other"]}),
        },
        truncated=TRUNCATED,
    ),
)


class Glob:
    def __init__(self, workspace: Workspace, default_output: Form = "labeled") -> None:
        self.spec = SPEC
        self._workspace = workspace
        self._default: Form = default_output

    async def execute(self, call: ToolCall) -> ToolResult:
        form = form_of(call, self._default)
        query = await trio.to_thread.run_sync(_query, self._workspace, call, abandon_on_cancel=True)
        return result(_items(call, query, await search(query, "glob")), form)


def _query(workspace: Workspace, call: ToolCall) -> Query:
    path = arguments.text(call, "path") or "."
    place, is_folder = target(workspace, path, "glob")
    if not is_folder:
        raise ToolError("validation", "glob", f"{path} is not a directory")
    glob = _relative(workspace, arguments.required(call, "pattern"))
    return Query(
        root=str(workspace.root),
        parts=place.parts,
        glob=glob,
        hidden=arguments.flag(call, "show_hidden") or names_hidden(glob),
        ignored=arguments.flag(call, "show_ignored"),
        withheld=tuple("/".join(parts) for parts in workspace.hidden()),
        limit=arguments.whole(call, "max_results", DEFAULT_RESULTS),
    )


def _relative(workspace: Workspace, pattern: str) -> str:
    """The pattern below the folder. Models like to write the whole path of the workspace before it."""
    glob = pattern.removeprefix(f"{workspace.root}/").removeprefix("./")
    if glob.startswith("/"):
        raise ToolError("permission", "glob", f"{pattern} is outside the workspace", denied_by="rule:workspace")
    if ".." in glob.split("/"):
        raise ToolError("validation", "glob", "a pattern cannot hold ..; name the folder in path")
    return glob


def names_hidden(glob: str) -> bool:
    """Whether the pattern itself has a name that begins with a dot."""
    return any(part.startswith(".") for part in glob.removeprefix("!").split("/"))


def _items(call: ToolCall, query: Query, found: SearchResult) -> Items:
    pattern, root = arguments.text(call, "pattern"), shown(query.prefix.rstrip("/")) or "."
    listed = len(found.entries)
    notes = [f"the first {listed}"] if listed < found.count else []
    notes += [f"{found.skipped} unreadable"] if found.skipped else []
    count = "1 match" if found.count == 1 else f"{found.count} matches"
    return Items(
        header=f"glob {shown(pattern)} in {root}: {', '.join([count, *notes])}",
        lines=[_line(entry) for entry in found.entries],
        key="entries",
        objects=[{"path": entry.path, "type": entry.type} for entry in found.entries],
        members={"pattern": pattern, "root": root, "matches": found.count, "skipped": found.skipped},
        stopped=listed < found.count,
    )


def _line(entry: Entry) -> str:
    return f"{entry.path}/" if entry.type == "folder" else entry.path
