"""Whether what a configuration names is there: keys, files, folders, servers' programs, arguments of tools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from shutil import which

from hookgate import config as configuration
from hookgate.assembly.preflight.failing_open import failing_open, open_guard
from hookgate.assembly.preflight.naming import known_names, strange_names
from hookgate.assembly.preflight.startable import missing
from hookgate.assembly.scripts import read_script
from hookgate.assembly.tools.opening import selection
from hookgate.config import ConfigError
from hookgate.processes.pipes import Program
from hookgate.protocol.hook.match import Globs
from hookgate.sections import Config
from hookgate.sections.tools import McpSection
from hookgate.tools.builtin import Parts, builtin_tools
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.kept import is_pattern
from hookgate.tools.registry import Registry
from hookgate.tools.shell.background import Background
from hookgate.tools.shell.sandbox import Sandbox

NO_START = "serve will not start"
_ALTERNATIVES = re.compile(r"\{[^{}]*,[^{}]*\}")
_NO_NAME = re.compile(r"[*?\[\]!=\s]")
"""A glob's, and what is no variable's: a few have odd names, but none of these in them."""


def check_tools(config: Config, base: Path) -> None:
    """Raises ConfigError for what would keep the gateway from starting: an override or alias that is about no
    argument of a built-in tool, an MCP server whose extra is not installed or whose token is not set."""
    selection(config.tools, built_in())
    if config.mcp.servers or config.mcp.model_may_connect:
        from hookgate.assembly.tools.mcp import server_specs

        server_specs(config, base)


def check_files(config: Config, base: Path) -> None:
    """Raises ConfigError for a key that is needed and not set, a script of a provider, a server's program and a
    folder that are not there. Blocks."""
    for name, section in config.providers.items():
        if name == config.agent.model.partition("/")[0]:
            configuration.api_key(name, section)
        if section.kind == "scripted":
            _check_script(name, base / section.script)
    for name, server in config.mcp.servers.items():
        if server.enabled and (lacking := _lacking(server, base)):
            raise ConfigError(f"mcp.servers.{name}.{lacking}")
    for folder in config.skills.folders if config.skills.enabled is not False else ():
        if not Path(folder).is_dir():
            raise ConfigError(f"skills.folders: {folder} is not a folder")


def _lacking(server: McpSection, base: Path) -> str:
    """What keeps it from ever being connected, behind its key; empty where nothing is known to."""
    if server.transport == "stdio":
        environment = configuration.server_environment(server)
        return missing(Program(server.command, str(base / server.dir), environment))
    from hookgate.tools.mcp.transport.endpoint import never

    why = never(server.url, allow_private=server.allow_private)
    return f"url: {why}" if why else ""


def _check_script(provider: str, file: Path) -> None:
    try:
        read_script(file)
    except ConfigError as error:
        raise ConfigError(f"providers.{provider}.script: {error}") from None


def odd(config: Config) -> Iterator[str]:
    """A line for all that starts and is not what was meant, as far as that can be told: names that cover nothing,
    variables that pass nothing, guards that let calls through."""
    yield from strange_names(config)
    yield from _unpassable(config)
    yield from _unlimited(config)
    yield from _with_their_servers_name(config)
    yield from _unhidden(config)
    for pattern in config.tools.kept:
        if _ALTERNATIVES.search(pattern):
            yield f"tools.kept: {pattern!r} keeps what is called so, braces too: write a pattern for each"
    yield from map(open_guard, failing_open(config))


def unset(config: Config) -> Iterator[str]:
    """A line for each variable without which `serve` does not start, and that is not there."""
    for name, channel in config.channels.items():
        for key, variable in channel.variables.items():
            if not configuration.named_secrets((variable,)):
                yield f"channels.{name}.{key}: {variable} is not set: {NO_START}"


def _unlimited(config: Config) -> Iterator[str]:
    """A line for each limit that no tool has: here a name is no glob."""
    known = known_names(config)
    for name in config.guards.fan_out.limits:
        why = "names are taken as written" if is_pattern(name) else known.unmatched(name)
        if why:
            yield f"guards.fan_out.limits: {name!r} limits no tool: {why}"


def _with_their_servers_name(config: Config) -> Iterator[str]:
    """A line for each tool of a server that stands as models or requests call it, where its server's own name for it
    is meant."""
    for server, section in config.mcp.servers.items():
        for key in ("tools", "read_only", "pure"):
            for pattern in getattr(section, key):
                own = pattern.removeprefix("!").removeprefix("name:").removeprefix(f"{server}__")
                if own != pattern.removeprefix("!"):
                    meant = f"{'!' * pattern.startswith('!')}{own}"
                    yield f"mcp.servers.{server}.{key}: {pattern!r} is not as the server calls it: write {meant!r}"


def _unhidden(config: Config) -> Iterator[str]:
    """A line for each variable whose value would be replaced, and is not there or too short to be."""
    from hookgate.redaction.values import MIN_CHARS

    hides = config.guards.redaction.mode == "enforce"
    for variable in config.guards.redaction.secret_env if hides else ():
        value = "".join(configuration.named_secrets((variable,)))
        if len(value) < MIN_CHARS:
            why = f"has less than {MIN_CHARS} characters" if value else "is not set here"
            yield f"guards.redaction.secret_env: {variable!r} {why}: nothing is replaced for it"


def _unpassable(config: Config) -> Iterator[str]:
    """A line for each name of an `env_pass` that no variable has, as a person writes one."""
    processes = {f"hooks.processes.{name}": it.env_pass for name, it in config.hooks.processes.items()}
    servers = {f"mcp.servers.{name}": it.env_pass for name, it in config.mcp.servers.items()}
    extensions = {f"zot.extensions.{name}": it.env_pass for name, it in config.zot.extensions.items()}
    for place, names in (processes | servers | extensions).items():
        for name in names:
            if strange := _NO_NAME.search(name):
                yield f"{place}.env_pass: {name!r} passes nothing: names are taken as written, {strange[0]!r} too"


def unkept(config: Config) -> str:
    """Why bash can change in the workspace what every other tool must leave alone; empty where it cannot."""
    if not Globs(config.tools.enabled).covers("bash"):
        return ""
    if config.tools.sandbox == "off":
        return "the sandbox is off"
    found = which("bwrap", path=configuration.base_environment().get("PATH"))
    return "" if found else "without bubblewrap nothing keeps it from that"


def built_in() -> Registry:
    """The built-in tools, to be looked at: none of them is to be run."""
    folder = Path()
    nowhere = Sandbox("none", folder, folder, "")
    registry = Registry()
    for tool in builtin_tools(Parts(Workspace(folder), nowhere, {}, Background(folder))):
        registry.register(tool, reserved=True)
    return registry
