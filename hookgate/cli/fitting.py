"""Whether what a configuration names is there: files and programs, built-in tools, and names of others.

Starts nothing, so of what hooks, extensions and MCP servers bring no more is known than how it will be called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from shutil import which
from typing import Protocol

from hookgate import config as configuration
from hookgate.cli.plans import plans
from hookgate.cli.scripts import read_script
from hookgate.cli.toolset import selection
from hookgate.config import ConfigError
from hookgate.mistakes import close
from hookgate.protocol.match import Globs
from hookgate.protocol.zot.names import EXTENSION
from hookgate.sections import Config
from hookgate.tools.background import Background
from hookgate.tools.builtin import Parts, builtin_tools
from hookgate.tools.registry import Registry
from hookgate.tools.sandbox import Sandbox
from hookgate.tools.workspace import Workspace

BUILTINS = (
    *("bash", "bash_kill", "bash_output", "edit", "glob", "grep", "ls", "read", "skill", "web_fetch", "write"),
    *("new_tool", "unregister_tool", "mcp_connect", "mcp_disconnect", "mcp_list"),
)
_NAME, _PROVIDER = "name:", "provider:"


def check_tools(config: Config, base: Path) -> None:
    """Raises ConfigError for what would keep the gateway from starting: an override or alias that is about no
    argument of a built-in tool, an MCP server whose extra is not installed or whose token is not set."""
    selection(config.tools, built_in(config))
    if config.mcp.servers or config.mcp.model_may_connect:
        from hookgate.cli.mcp import server_specs

        server_specs(config, base)


def check_files(config: Config, base: Path) -> None:
    """Raises ConfigError for a key that is needed and not set, and a script, program or folder that is not there.
    Blocks."""
    for name, section in config.providers.items():
        if name == config.agent.model.partition("/")[0]:
            configuration.api_key(name, section)
        if section.kind == "scripted":
            _check_script(name, base / section.script)
    for plan in plans(config, base):
        _check_command(f"hooks.processes.{plan.name}", plan.spec)
    for name, server in config.mcp.servers.items():
        if server.enabled and server.transport == "stdio":
            environment = configuration.server_environment(server)
            _check_command(f"mcp.servers.{name}", _Program(server.command, str(base / server.dir), environment))
    for folder in config.skills.folders if config.skills.enabled is not False else ():
        if not Path(folder).is_dir():
            raise ConfigError(f"skills.folders: {folder} is not a folder")


def _check_script(provider: str, file: Path) -> None:
    try:
        read_script(file)
    except ConfigError as error:
        raise ConfigError(f"providers.{provider}.script: {error}") from None


class _Runnable(Protocol):
    @property
    def command(self) -> tuple[str, ...]: ...

    @property
    def directory(self) -> str: ...

    @property
    def environment(self) -> Mapping[str, str]: ...


@dataclass(frozen=True)
class _Program:
    command: tuple[str, ...]
    directory: str
    environment: Mapping[str, str]


def _check_command(place: str, program: _Runnable) -> None:
    folder, first = Path(program.directory), program.command[0]
    if not folder.is_dir():
        raise ConfigError(f"{place}.dir: {folder} is not a folder")
    here = (folder / first).exists() if "/" in first else which(first, path=program.environment.get("PATH"))
    if not here:
        raise ConfigError(f"{place}.command: {first!r} cannot be found")
    for word in program.command[1:2]:
        if word.endswith((".py", ".js", ".sh", ".ts", ".rb")) and not (folder / word).exists():
            raise ConfigError(f"{place}.command: {word!r} is not there")


def unkept(config: Config) -> str:
    """Why bash can change in the workspace what every other tool must leave alone; empty where it cannot."""
    if not Globs(config.tools.enabled).covers("bash"):
        return ""
    if config.tools.sandbox == "off":
        return "the sandbox is off"
    found = which("bwrap", path=configuration.base_environment().get("PATH"))
    return "" if found else "without bubblewrap nothing keeps it from that"


def built_in(config: Config) -> Registry:
    """The built-in tools, to be looked at: none of them is to be run. Raises ConfigError."""
    folder = configuration.workspace_folder(config)
    nowhere = Sandbox("none", folder, folder, "")
    registry = Registry()
    for tool in builtin_tools(Parts(Workspace(folder), nowhere, {}, Background(folder))):
        registry.register(tool, reserved=True)
    return registry


def strange_names(config: Config) -> Iterator[str]:
    """A line for each pattern that covers nothing that is known by name."""
    known = known_names(config)
    for place, patterns in _patterns(config).items():
        yield from (f"{place}: {pattern!r} {why}" for pattern in patterns if (why := known.stranger(pattern)))


def known_names(config: Config) -> Known:
    return Known(tuple(config.mcp.servers), tuple(config.hooks.processes))


def _patterns(config: Config) -> Mapping[str, tuple[str, ...]]:
    tools = config.tools
    approvals = {f"approvals.{number}.tools": rule.tools for number, rule in enumerate(config.approvals)}
    hooks = {f"hooks.processes.{name}.match.tools": it.match.tools for name, it in config.hooks.processes.items()}
    wishes = {f"tools.preferences.{number}.tools": it.tools for number, it in enumerate(tools.preferences)}
    more = {"tools.enabled": tools.enabled, "tools.pinned": tools.pinned, "tools.aliases": tuple(tools.aliases)}
    return {**approvals, **hooks, **wishes, **more}


@dataclass(frozen=True)
class Known:
    """`servers` and `hooks` by the names that the configuration gives them."""

    servers: tuple[str, ...]
    hooks: tuple[str, ...]

    def stranger(self, pattern: str) -> str:
        """Why nothing of that name is known; empty where something is."""
        glob = pattern.removeprefix("!")
        if glob.startswith(_PROVIDER):
            return "" if self._provides(glob.removeprefix(_PROVIDER)) else "covers no provider of tools"
        glob = glob.removeprefix(_NAME)
        if any(fnmatchcase(tool, glob) for tool in BUILTINS) or self._of_server(glob):
            return ""
        hint = close(glob, BUILTINS) or "; is it a tool that a hook adds?"
        return f"covers no built-in tool{hint}"

    def _of_server(self, glob: str) -> bool:
        connection, _, _ = glob.partition("__")
        return any(fnmatchcase(name, connection) or fnmatchcase(f"{name}__", glob) for name in self.servers)

    def _provides(self, glob: str) -> bool:
        """Extensions and MCP servers can come later."""
        names = ("builtin", "dynamic", "mcp", "embedded", *(f"hook:{name}" for name in self.hooks))
        open_ended = glob.startswith((EXTENSION, "mcp:")) or fnmatchcase(EXTENSION, glob) or fnmatchcase("mcp:", glob)
        return open_ended or any(fnmatchcase(name, glob) for name in names)
