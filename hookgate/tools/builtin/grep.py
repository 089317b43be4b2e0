"""The tool `grep`: the lines of files that a pattern matches. Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping

import trio

from hookgate.protocol.values import Json, ToolCall, ToolResult
from hookgate.tools import arguments
from hookgate.tools.builtin.finding import SHOW_HIDDEN, SHOW_IGNORED, TRUNCATED, finding_spec
from hookgate.tools.builtin.glob import names_hidden
from hookgate.tools.files.workspace import Workspace, which_outside
from hookgate.tools.output import OUTPUT_ARGUMENT, Form, Items, form_of, result
from hookgate.tools.schema.objects import gives, takes
from hookgate.tools.search.lines import MORE, SHOWN_CHARS
from hookgate.tools.search.query import Query, SearchResult
from hookgate.tools.search.search import search, target
from hookgate.tools.search.walk import shown
from hookgate.tools.text import uncut

DEFAULT_RESULTS = 100
MAX_RESULTS = 1000

SPEC = finding_spec(
    name="grep",
    description=(
        "Find lines in files of the workspace: PATH:LINE:TEXT, sorted by path. The pattern is a regular expression "
        "as in ripgrep (Unicode classes, no lookaround, no backreferences) and matches within one line; case counts "
        "unless ignore_case. No context lines: use read. Names that begin with a dot are searched only where glob "
        "has such a name, or with show_hidden; what .gitignore files of the workspace leave out only with "
        "show_ignored; a file named as path always. Binary files are left out, links not followed, lines cut at "
        f"{SHOWN_CHARS} characters."
    ),
    arguments=takes(
        "pattern",
        pattern={"type": "string", "maxLength": 2000, "description": r"For example ^class \w+\(Model\)."},
        path={"type": "string", "description": "A folder or file; the workspace itself if left out."},
        glob={
            "type": "string",
            "maxLength": 1000,
            "description": (
                "Only files of this name, in any folder (*.py, *.{ts,tsx}); with a slash in it, of this path "
                "below the folder (src/**/*.py). A ! before it: all but those."
            ),
        },
        literal={"type": "boolean", "description": "The pattern is plain text. Default false."},
        ignore_case={"type": "boolean", "description": "Default false."},
        show_hidden=SHOW_HIDDEN,
        show_ignored=SHOW_IGNORED,
        max_results={
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_RESULTS,
            "description": f"After so many lines the search stops. Default {DEFAULT_RESULTS}.",
        },
        output=OUTPUT_ARGUMENT,
    ),
    found=gives(
        "path",
        "glob",
        pattern={"type": "string"},
        path={"type": "string"},
        glob={"type": "string"},
        hits={"type": "integer"},
        max_results={"type": "integer"},
        skipped={"type": "integer"},
        matches={
            "type": "array",
            "items": gives(path={"type": "string"}, line={"type": "integer"}, text={"type": "string"}),
        },
        truncated=TRUNCATED,
    ),
)


class Grep:
    """`environment` is where ripgrep is looked for (PATH); without it the search is slower, and finds the same."""

    def __init__(
        self, workspace: Workspace, environment: Mapping[str, str], default_output: Form = "labeled"
    ) -> None:
        self.spec = SPEC
        self._workspace, self._environment = workspace, environment
        self._default: Form = default_output

    async def execute(self, call: ToolCall) -> ToolResult:
        form = form_of(call, self._default)
        query = await trio.to_thread.run_sync(
            _query, self._workspace, self._environment, call, abandon_on_cancel=True
        )
        return result(_items(call, query, await search(query, "grep")), form)


def _query(workspace: Workspace, environment: Mapping[str, str], call: ToolCall) -> Query:
    place, is_folder = target(workspace, arguments.text(call, "path") or ".", "grep")
    # Models like to write the whole path of the workspace before it.
    glob = arguments.text(call, "glob").removeprefix(str(workspace.root)).removeprefix("./")
    # A folder stands for everything in it.
    glob = f"{glob}**" if glob.endswith("/") else glob
    explicit = not is_folder
    return Query(
        root=str(workspace.root),
        parts=place.parts if is_folder else place.parts[:-1],
        file="" if is_folder else place.name,
        pattern=arguments.required(call, "pattern"),
        glob=glob,
        literal=arguments.flag(call, "literal"),
        ignore_case=arguments.flag(call, "ignore_case"),
        hidden=explicit or arguments.flag(call, "show_hidden") or names_hidden(glob),
        ignored=explicit or arguments.flag(call, "show_ignored"),
        withheld=tuple("/".join(parts) for parts in workspace.hidden()),
        limit=arguments.whole(call, "max_results", DEFAULT_RESULTS),
        rg=which_outside("rg", environment.get("PATH", ""), workspace.root),
    )


def _items(call: ToolCall, query: Query, found: SearchResult) -> Items:
    files = len({hit.path for hit in found.hits})
    return Items(
        header=f"grep {shown(query.pattern)} in {_where(query)}: {_counts(query, found, files)}",
        lines=[f"{hit.path}:{hit.line}:{_whole(hit.text)}" for hit in found.hits],
        key="matches",
        objects=[{"path": hit.path, "line": hit.line, "text": _whole(hit.text)} for hit in found.hits],
        members=_members(call, query, found),
        stopped=found.stopped,
    )


def _where(query: Query) -> str:
    place = shown(f"{query.prefix}{query.file}".rstrip("/")) or "."
    return f"{place} ({shown(query.glob)})" if query.glob else place


def _counts(query: Query, found: SearchResult, files: int) -> str:
    lines = f"{found.count} line{'' if found.count == 1 else 's'} in {files} file{'' if files == 1 else 's'}"
    notes = [f"stopped at max_results {query.limit}"] if found.stopped else []
    notes += [f"{found.skipped} unreadable"] if found.skipped else []
    return ", ".join([lines, *notes])


def _members(call: ToolCall, query: Query, found: SearchResult) -> dict[str, Json]:
    given = {name: arguments.text(call, name) for name in ("path", "glob")}
    return {
        "pattern": query.pattern,
        **{name: value for name, value in given.items() if value},
        "hits": found.count,
        "max_results": query.limit,
        "skipped": found.skipped,
    }


def _whole(line: str) -> str:
    """A long line was cut in the process that searches, which knows no secret."""
    cut = line[SHOWN_CHARS:].startswith(MORE)
    return uncut(line[:SHOWN_CHARS]) + line[SHOWN_CHARS:] if cut else line
