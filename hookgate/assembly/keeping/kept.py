"""What this hookgate keeps from its own tools: computed from the configuration and from what lies on disk now."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path

from hookgate import config as configuration
from hookgate.assembly.context_files import NAMES, found_files, repository
from hookgate.assembly.keeping.programs import brought_by
from hookgate.processes.pipes import Program, Runnable
from hookgate.sections import Config
from hookgate.tools.kept import Kept, is_pattern, unique

_PACKAGE = Path(__file__).parents[2]
_SIDES = (
    *("", "-wal", "-shm", "-journal", ".key", ".audit", ".lock"),
    # A journal that is being made.
    *(".new", ".new-wal", ".new-shm", ".new-journal"),
)
"""What stands beside a database, by the end of its name."""


class Keeping:
    """Called, it says what is kept now; blocks a little.

    It counts what runs and what a reload has taken over: a hook that is being exchanged is kept as well.
    `file`: the configuration's; `extensions`: folders that the command line names.
    """

    def __init__(self, config: Config, file: Path, extensions: tuple[Path, ...] = ()) -> None:
        self.workspace = configuration.workspace_folder(config)
        self._config = config
        self._configs = (config,)
        self._file, self._extensions = file, extensions

    @contextmanager
    def adopting(self, config: Config) -> Generator[None]:
        """While a reload takes this one over; what ran before counts too, until the next one."""
        before = self._configs
        self._configs = (self._config, before[-1], config)
        try:
            yield
        except BaseException:
            self._configs = before
            raise

    def __call__(self) -> Kept:
        configs = self._configs
        named = [text for config in configs for text in config.tools.kept]
        # A name with such signs, a folder `[id]` say, means the file that is called so as well.
        placed = {text: self._placed(text) for text in named}
        plain = [place for text, place in placed.items() if not is_pattern(text) or os.path.lexists(place)]
        folders = (path for config in configs for path in _folders(config))
        guards = (path for config in configs for path in self._guards(config))
        return Kept(
            paths=self._inside((*guards, *self._extensions, *map(Path, plain), self._file)),
            folders=self._inside((*folders, *(Path(text) for text in plain if text.endswith("/")))),
            told=self._inside(told_files(self._config)),
            hidden=self.hidden(),
            patterns=tuple(self._pattern(text) for text in named if is_pattern(text)),
        )

    def hidden(self) -> tuple[Path, ...]:
        """The same of that alone. Blocks less."""
        return hidden_paths(self._config)

    def sealed(self) -> tuple[str, ...]:
        """Files and folders that are started or believed, and that a command could change. Blocks a little."""
        guards = (path for config in self._configs for path in self._run(config))
        believed = (*told_files(self._config), *found_files(repository(self.workspace), self.workspace))
        folders = (path for config in self._configs for path in _folders(config))
        sealable = self.sealable((*guards, self._file, *believed, *folders, *self._extensions))
        # Where the state lies in the workspace: hookgate writes there itself while a command runs.
        own = set(_real_both((str(seals_folder()), str(configuration.learnt_folder()))))
        return tuple(path for path in sealable if path not in own)

    def sealed_by(self, program: Runnable) -> tuple[str, ...]:
        """Those of them that this one runs. Blocks a little."""
        return self.sealable((Path(program.directory) / "hooks", *brought_by(program, self.workspace)))

    def works_beside(self, program: Runnable) -> bool:
        """Whether any of them lies in the workspace. Blocks a little."""
        return any(Path(path).is_relative_to(self.workspace) for path in self.sealed_by(program))

    def configuration(self) -> tuple[str, ...]:
        return self.sealable((self._file,))

    def started(self) -> tuple[str, ...]:
        """The configuration and every program that it names. Blocks a little."""
        named = (it for config in self._configs for it in programs(config, self._file.parent))
        return (*self.configuration(), *(path for program in named for path in self.sealed_by(program)))

    def sealable(self, paths: Iterable[Path]) -> tuple[str, ...]:
        """Outside the workspace single files: what no sandbox keeps from there is named by the configuration."""
        root = os.path.join(self.workspace, "")
        both = dict.fromkeys(_real_both(os.path.join(root, path) for path in paths))
        return tuple(path for path in both if path.startswith(root) or os.path.isfile(path))

    def _placed(self, text: str) -> str:
        """Counts from the workspace; a slash at its end, which says that it is a folder, stays."""
        end = "/" if text.endswith("/") else ""
        return os.path.normpath(self.workspace / Path(text).expanduser()) + end

    def _pattern(self, text: str) -> str:
        """From the folder in which its signs begin: that one is where its links lead, whatever signs it is called by
        itself."""
        parts = Path(os.path.normpath(Path(text).expanduser())).parts
        at = next(number for number, part in enumerate(parts) if is_pattern(part))
        return os.path.join(escape(os.path.realpath(self.workspace.joinpath(*parts[:at]))), *parts[at:])

    def _guards(self, config: Config) -> Iterator[Path]:
        yield from (Path(sys.prefix), _PACKAGE, configuration.dynamic_folder(config), *store_files(config))
        yield from self._run(config)

    def _run(self, config: Config) -> Iterator[Path]:
        """The files that say what is started, and all that is."""
        yield self.workspace / configuration.FILE_NAME
        yield from map(Path, config.skills.folders)
        started_in = [self._file.parent / hook.dir for hook in config.hooks.processes.values()]
        beside = (folder / "hooks" for folder in (self.workspace, self._file.parent, *started_in))
        yield from (*started_in, *(folder for folder in beside if folder.is_dir()))
        for program in programs(config, self._file.parent):
            yield from brought_by(program, self.workspace)

    def _inside(self, paths: Iterable[Path]) -> tuple[Path, ...]:
        """Those strictly inside the workspace, by their own place and by that which a link leads to."""
        root = os.path.join(self.workspace, "")
        absolute = dict.fromkeys(os.path.join(root, path) for path in paths)
        return tuple(Path(it) for it in dict.fromkeys(_real_both(absolute)) if it.startswith(root))


def _real_both(paths: Iterable[str]) -> Iterator[str]:
    """Each file tool asks, so a folder that many of them lie in is looked up once."""
    folders: dict[str, str] = {}
    for path in paths:
        head, tail = os.path.split(path.rstrip("/"))
        if tail in ("", ".", ".."):
            yield os.path.realpath(path)
            continue
        if head not in folders:
            folders[head] = os.path.realpath(head)
        yield (own := os.path.join(folders[head], tail))
        if os.path.islink(own):
            yield os.path.realpath(own)


def programs(config: Config, base: Path) -> Iterator[Program]:
    """Hooks and MCP servers, as they would be started; relative folders count from `base`."""
    for hook in config.hooks.processes.values():
        yield Program(hook.command, str(base / hook.dir), configuration.hook_environment(hook))
    for server in config.mcp.servers.values():
        if server.command:
            yield Program(server.command, str(base / server.dir), configuration.server_environment(server))


def _folders(config: Config) -> tuple[Path, ...]:
    """What lies there the next start runs, or tells the model, so nobody may make them where they are missing."""
    workspace = configuration.workspace_folder(config)
    project = tuple(workspace / own / kind for own in (".hookgate", ".zot") for kind in ("extensions", "skills"))
    home = configuration.zot_home(config)
    mine = (configuration.extensions_folder(), home / "extensions", configuration.skills_folder(), home / "skills")
    return (*project, *mine, configuration.trust_folder(), configuration.learnt_folder(), seals_folder())


def told_files(config: Config) -> tuple[Path, ...]:
    """The workspace's context files, there or not: a model that wrote one would be heard by every later one. Those
    further up are outside of what tools write."""
    folder = configuration.workspace_folder(config)
    return tuple(folder / name for name in NAMES) if config.agent.context_files is not False else ()


def hidden_paths(config: Config) -> tuple[Path, ...]:
    """The control sockets, the store, the journal, what a person has typed and what was learnt of extensions, which
    says what guards: by their own places and by those that links lead to."""
    socket = (Path(config.control.path),) if config.control.path else ()
    own = (configuration.history_file(), configuration.learnt_folder())
    named = (configuration.runtime_directory(), *socket, *store_files(config), *own)
    return unique(map(Path, _real_both(map(str, named))))


def seals_folder() -> Path:
    """Where it stands what changed while commands ran."""
    return configuration.trust_folder().with_name("seals")


def store_files(config: Config) -> tuple[Path, ...]:
    files = (configuration.store_file(config), configuration.journal_file(config))
    sides = (Path(f"{file}{end}") for file in files for end in _SIDES)
    return (*sides, configuration.conversations_folder(config), configuration.media_folder(config))
