"""What a project tells every model that works in it: AGENTS.md from the repository's root down to the workspace.

`found_files` looks, `read_file` reads, `joined` is pure; `ContextFiles` keeps a running hookgate's conversations
true to them.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from hookgate.assembly.logs.sinks import observer
from hookgate.hooks.rules import Mount
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import SessionBegan
from hookgate.tools.errors import ToolError
from hookgate.tools.files.files import opened
from hookgate.tools.files.workspace import Workspace

if TYPE_CHECKING:
    from hookgate.loop.agent import Agent
    from hookgate.loop.sessions.session import Session

log = structlog.get_logger("hookgate.context")

NAMES = ("AGENTS.md", "CLAUDE.md")
"""In each folder the first of these that is there."""
MAX_FILE_BYTES = 32 * 1024
MAX_BYTES = 128 * 1024


@dataclass(frozen=True, slots=True)
class ContextFile:
    """`path` as it counts from the root; `data` is its beginning, `size` all of it, in bytes."""

    path: str
    data: bytes
    size: int


@dataclass(frozen=True, slots=True)
class Context:
    """What joins the system message (empty: nothing), and a line for each file that does not."""

    text: str = ""
    problems: tuple[str, ...] = ()


class ContextFiles:
    """They are read now, and again when a conversation begins anew. `session`: the one of this key, if any;
    `recheck`: why a file is not to be believed, empty where it is."""

    def __init__(
        self,
        workspace: Path,
        redact: Callable[[str], str],
        session: Callable[[str], Session | None],
        recheck: Callable[[Path], str],
    ) -> None:
        self._workspace, self._redact, self._session, self._recheck = workspace, redact, session, recheck
        self._systems: dict[str, str] = {}
        self._context = read_context(workspace, recheck)
        # What is read at the start is for the first conversation.
        self._unused = True
        self.mount: Mount = observer("context files", (SessionBegan.kind,), self._began)

    @property
    def problems(self) -> tuple[str, ...]:
        """A line for each file that was left out when they were last read."""
        return self._context.problems

    def applied(self, agent: Agent) -> Agent:
        """The agent with what they say behind its system message, which is remembered."""
        self._systems[agent.name] = agent.system
        return self._told(agent)

    def _told(self, agent: Agent) -> Agent:
        parts = (self._systems[agent.name], self._redact(self._context.text))
        return replace(agent, system="\n\n".join(part for part in parts if part))

    def _began(self, event: Event) -> None:
        if self._unused or not isinstance(event.payload, SessionBegan):
            self._unused = False
            return
        known, self._context = self._context.problems, read_context(self._workspace, self._recheck)
        for problem in set(self._context.problems).difference(known):
            log.warning("context_file_left_out", reason=problem)
        session = self._session(event.payload.session)
        if session is not None:
            session.agent = self._told(session.agent)


def read_context(workspace: Path, recheck: Callable[[Path], str] = lambda _file: "") -> Context:
    """Blocks. Raises nothing: a file that cannot be read is a problem, and the rest counts."""
    root = repository(workspace)
    files: list[ContextFile] = []
    problems: list[str] = []
    for file in found_files(root, workspace):
        try:
            if changed := recheck(file):
                raise BadContextFile(changed)
            files.append(read_file(file, root))
        except BadContextFile as error:
            problems.append(f"context file: {file}: {error}")
    return Context(joined(files), tuple(problems))


def repository(workspace: Path) -> Path:
    """The nearest folder with a `.git`, a file or a folder; the workspace itself where there is none, or where it is
    a stranger's: in a folder that everybody may write, anybody could speak to the model."""
    folders = (workspace, *workspace.parents)
    root = next((it for it in folders if os.path.lexists(it / ".git")), workspace)
    owners = (os.geteuid(), workspace.stat().st_uid)
    return root if root == workspace or os.lstat(root / ".git").st_uid in owners else workspace


def found_files(root: Path, workspace: Path) -> Iterator[Path]:
    """From the root on, one a folder; a link to one that comes earlier is left out."""
    seen: set[str] = set()
    steps = workspace.relative_to(root).parts
    for depth in range(len(steps) + 1):
        folder = root.joinpath(*steps[:depth])
        file = next((it for name in NAMES if os.path.lexists(it := folder / name)), None)
        if file is not None and (real := os.path.realpath(file)) not in seen:
            seen.add(real)
            yield file


class BadContextFile(Exception):
    """It is left out; the text says why."""


def read_file(file: Path, root: Path) -> ContextFile:
    """Its first MAX_FILE_BYTES, valid UTF-8. Raises BadContextFile."""
    inside = Workspace(root)
    try:
        with opened(inside, inside.place(str(file), "read"), "read") as opened_file:
            data = opened_file.read(MAX_FILE_BYTES)
            size = os.fstat(opened_file.fileno()).st_size
    except ToolError as error:
        leads_out = error.denied_by == "rule:workspace"
        raise BadContextFile(f"it is a link that leads out of {root}" if leads_out else "it is no file") from None
    except OSError as error:
        raise BadContextFile(error.strerror or "it cannot be read") from None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=len(data) >= size)
    except UnicodeDecodeError:
        raise BadContextFile("it is not UTF-8") from None
    return ContextFile(file.relative_to(root).as_posix(), data, max(size, len(data)))


def joined(files: Sequence[ContextFile], max_bytes: int = MAX_BYTES) -> str:
    """Each under a heading with its path, in their order. Where they are too long together, those of outer folders
    are cut first: what stands nearer to the work says more about it. Pure."""
    parts: list[str] = []
    left = max_bytes
    for file in reversed(files):
        data = file.data[:left]
        left -= len(data)
        text = codecs.getincrementaldecoder("utf-8")().decode(data).removeprefix("\ufeff").strip()
        note = f"... [{file.size - len(data)} bytes more are not shown]" if file.size > len(data) else ""
        body = "\n".join(filter(None, (text, note)))
        if body:
            parts.append(f"## Instructions of the project: {file.path}\n\n{body}")
    return "\n\n".join(reversed(parts))
