"""Whether what a configuration says of tools fits the tools: those that come with hookgate, and names of others.

Starts nothing, so of what hooks, extensions and MCP servers bring no more is known than how it will be called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from hookgate import config as configuration
from hookgate.cli.toolset import selection
from hookgate.mistakes import close
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
    selection(config.tools, _built_in(config))
    if config.mcp.servers or config.mcp.model_may_connect:
        from hookgate.cli.mcp import server_specs

        server_specs(config, base)


def _built_in(config: Config) -> Registry:
    folder = configuration.workspace_folder(config)
    nowhere = Sandbox("none", folder, folder, "")
    registry = Registry()
    for tool in builtin_tools(Parts(Workspace(folder), nowhere, {}, Background(folder))):
        registry.register(tool, reserved=True)
    return registry


def strange_names(config: Config) -> Iterator[str]:
    """A line for each pattern that covers nothing that is known by name."""
    known = Known(tuple(config.mcp.servers), tuple(config.hooks.processes))
    for place, patterns in _patterns(config).items():
        yield from (f"{place}: {pattern!r} {why}" for pattern in patterns if (why := known.stranger(pattern)))


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
