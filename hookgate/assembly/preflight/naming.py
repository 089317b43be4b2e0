"""Names in a configuration that cover nothing: tools, providers of tools, channels, agents, models.

Starts nothing, so of what hooks, extensions and MCP servers bring no more is known than how it will be called.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from hookgate import config as configuration
from hookgate.approvals.people import USUAL_ROLE
from hookgate.assembly.hooks.opening import plans
from hookgate.assembly.preflight.addressing import (
    matches_of,
    names_for_ids,
    routes_faults,
    unknown_places,
    words_of_people,
)
from hookgate.assembly.preflight.faults import Fault, wants
from hookgate.assembly.preflight.startable import missing
from hookgate.extensions.discovery import Places, look
from hookgate.mistakes import close
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.zot.names import EXTENSION
from hookgate.sections import Config
from hookgate.sections.gateway import RouteSection
from hookgate.sections.hooks import HookSection
from hookgate.sections.section import KNOWN_CHANNELS, MatchSection
from hookgate.sections.tools import PreferenceSection
from hookgate.tools.names import ALL

_NAME, _PROVIDER = "name:", "provider:"
_BY_NAME = "here they go by their names alone, those of the MCP server NAME by 'NAME__*'"
_BY_NAMES = ("tools.enabled", "tools.aliases")
_SAY_SO = "; on_failure says what shall happen without it"
GUARDED = {Stage.BEFORE_TOOL, Stage.APPROVE_TOOL}


def start_faults(config: Config, base: Path, beside: Iterable[str] = (), *, loads: bool = False) -> list[Fault]:
    """What hooks and approval rules lack to do what they are for. `beside`: tools that are there besides the built-in
    ones; `loads`: whether extensions are loaded that the configuration does not know of. Blocks."""
    known = replace(known_names(config), more=tuple(beside))
    later = loads or _may_come(config)
    rules, hooks = _rules_faults(config, known, later), _hooks_faults(config, base, known, later)
    return [*rules, *hooks, *_extensions_faults(config, known), *routes_faults(config)]


def _rules_faults(config: Config, known: KnownTools, later: bool) -> Iterator[Fault]:
    for number, rule in enumerate(config.approvals):
        for pattern in rule.tools:
            if why := known.unmatched(pattern):
                stops = wants(pattern) and (not later or _is_misspelt(pattern))
                yield Fault(f"approvals.{number}.tools: {pattern!r} {why}", stops=stops)
        yield from words_of_people(config, f"approvals.{number}", rule, guards=True)


def _hooks_faults(config: Config, base: Path, known: KnownTools, later: bool) -> Iterator[Fault]:
    programs = {plan.name: plan.spec for plan in plans(config, base)}
    for name, section in config.hooks.processes.items():
        place, guards = f"hooks.processes.{name}", _guards_unsaid(section)
        if name in programs and (lacking := missing(programs[name])):
            yield Fault(f"{place}.{lacking}{_SAY_SO if guards else ''}", stops=guards or section.required)
        yield from _match_faults(config, name, known, later)


def _match_faults(config: Config, name: str, known: KnownTools, later: bool) -> Iterator[Fault]:
    section, place = config.hooks.processes[name], _match_of(name)
    for pattern in section.match.tools:
        if why := known.unmatched(pattern):
            plain = _guards_unsaid(section) and wants(pattern) and not later and not is_selector(pattern)
            stops = plain or (_guards(section) and wants(pattern) and _is_misspelt(pattern))
            yield Fault(f"{place}.tools: {pattern!r} {why}{_SAY_SO * plain}", stops=stops)
    yield from words_of_people(config, place, section.match, guards=_guards(section))


def match_faults(config: Config, name: str) -> Iterator[Fault]:
    """What of a hook's `match` covers nothing, whatever its program is."""
    yield from _match_faults(config, name, known_names(config), _may_come(config))
    match = {_match_of(name): config.hooks.processes[name].match}
    yield from map(Fault, (*_strange_matches(config, match, {}), *names_for_ids(config, match)))


def _match_of(name: str) -> str:
    return f"hooks.processes.{name}.match"


def _extensions_faults(config: Config, known: KnownTools) -> Iterator[Fault]:
    """Only its handshake says whether an extension guards, and then it is too late to say that it does not."""
    for name, section in config.zot.extensions.items() if config.zot.enabled else ():
        place = f"zot.extensions.{name}.match"
        for pattern in section.match.tools if section.enabled else ():
            if why := known.unmatched(pattern):
                stops = wants(pattern) and _is_misspelt(pattern)
                yield Fault(f"{place}.tools: {pattern!r} {why}", stops=stops)
        if section.enabled:
            yield from words_of_people(config, place, section.match, guards=True)


def _guards(section: HookSection) -> bool:
    return section.mode == "enforce" and not GUARDED.isdisjoint(section.intercept)


def _guards_unsaid(section: HookSection) -> bool:
    """Whether calls would pass, or all be refused, unseen by this hook, and nobody has said that they may."""
    return _guards(section) and "on_failure" not in section.model_fields_set


def _may_come(config: Config) -> bool:
    """Whether anything that is configured, or installed, brings tools whose names nobody knows yet."""
    hooks = config.hooks.processes.values()
    adding = (it for it in hooks if it.mode == "enforce" and Stage.BEFORE_LLM in it.intercept)
    if any(it.may_modify is None or "tools" in it.may_modify for it in adding):
        return True
    servers = any(server.enabled for server in config.mcp.servers.values())
    return servers or config.mcp.model_may_connect or config.dynamic.enabled or _has_extensions(config)


def _has_extensions(config: Config) -> bool:
    if not config.zot.enabled:
        return False
    return bool(config.zot.extensions) or any(any(folder.glob("*")) for _, folder in _places(config).folders)


def _places(config: Config) -> Places:
    project = None if config.zot.discover is False else Path.cwd()
    return Places(project, configuration.extensions_folder(), configuration.zot_home(config))


def _extensions_absent(config: Config) -> Iterator[str]:
    """Sections about none that would be found, unless a start is told of it by `--ext`."""
    sections = config.zot.extensions if config.zot.enabled else {}
    names = [entry.name for entry in look(_places(config))[0]] if sections else []
    for name in sections:
        if name not in names:
            close_to = close(name, names)
            yield f"zot.extensions.{name}: there is no such extension{close_to}; does --ext name its folder?"


def strange_names(config: Config) -> Iterator[str]:
    """A line for each other pattern that covers nothing that is known by name."""
    known = known_names(config)
    for place, patterns in _patterns(config).items():
        why_of = known.unmatched if place in _BY_NAMES else known.stranger
        yield from (f"{place}: {it!r} {why}" for it in patterns if (why := why_of(it)))
    matches = matches_of(config)
    wishes = {f"tools.preferences.{number}": it for number, it in enumerate(config.tools.preferences)}
    routes = {f"routes.{number}": it for number, it in enumerate(config.routes)}
    yield from _strange_matches(config, matches, wishes | routes)
    yield from unknown_places(config)
    yield from names_for_ids(config, matches)
    yield from _mistyped_people(config)
    yield from _extensions_absent(config)


def _strange_matches(
    config: Config,
    matches: Mapping[str, MatchSection],
    others: Mapping[str, PreferenceSection | RouteSection],
) -> Iterator[str]:
    """By the place where each stands; `others` have channels as well."""
    channels = (*KNOWN_CHANNELS, *config.channels)
    for place, it in {**matches, **others}.items():
        yield from _uncovered(f"{place}.channels", "channel that is known", it.channels, channels)
    # Roles may be given while hookgate runs, so only one that looks like another is named.
    kind, roles = "role of anybody in [people]", sorted({USUAL_ROLE, "operator", *_roles(config)})
    for place, match in matches.items():
        yield from _uncovered(f"{place}.roles", kind, match.roles, roles, near=True)
        yield from _uncovered(f"{place}.agents", "agent", match.agents, (config.agent.name, *config.agents))
        yield from _no_model(f"{place}.models", match.models, config.providers)


def _mistyped_people(config: Config) -> Iterator[str]:
    """Whoever is listed and is nobody of [people], but nearly: all others may be ids, or be let in later."""
    roles, logins = _roles(config), {login for channel in config.channels.values() for login in channel.users}
    lists = {f"approvals.{number}.approvers": rule.approvers for number, rule in enumerate(config.approvals)}
    for name, channel in config.channels.items():
        lists |= {f"channels.{name}.allow": channel.allow, f"channels.{name}.approvers": channel.approvers}
    for place, listed in lists.items():
        for it in listed:
            kind, colon, role = it.partition(":")
            known = roles if colon and kind == "role" else () if colon or it in logins else config.people.keys()
            if (role or it) not in known and (meant := close(role or it, known)):
                yield f"{place}: {it!r} is nobody of [people]{meant}"


def _roles(config: Config) -> set[str]:
    return {role for person in config.people.values() for role in person.roles}


def _uncovered(
    place: str, kind: str, patterns: tuple[str, ...], names: Sequence[str], *, near: bool = False
) -> Iterator[str]:
    """`near`: only what looks like one of the names."""
    for pattern in patterns:
        covers = any(fnmatchcase(name, pattern.removeprefix("!")) for name in names)
        if not covers and ((meant := close(pattern, names)) or not near):
            yield f"{place}: {pattern!r} covers no {kind}{meant}"


def _no_model(place: str, patterns: tuple[str, ...], providers: Iterable[str]) -> Iterator[str]:
    """What begins unlike any provider covers none of its models."""
    begins = [f"{name}/" for name in providers]
    for pattern in patterns:
        head = re.split(r"[*?\[]", pattern.removeprefix("!"), maxsplit=1)[0]
        whole = head == pattern.removeprefix("!")
        if not any(head.startswith(it) or (it.startswith(head) and not whole) for it in begins):
            yield f"{place}: {pattern!r} covers no model of a provider that is configured; they are PROVIDER/MODEL"


def known_names(config: Config) -> KnownTools:
    return KnownTools(tuple(config.mcp.servers), tuple(config.hooks.processes))


def strange_tools(config: Config, patterns: Iterable[str], more: Iterable[str] = ()) -> Iterator[str]:
    """A line for each of these that covers no tool; `more`: those of the program that says so, by name."""
    known = replace(known_names(config), more=tuple(more))
    return (f"{pattern!r} {why}" for pattern in patterns if (why := known.stranger(pattern)))


def _patterns(config: Config) -> Mapping[str, tuple[str, ...]]:
    tools = config.tools
    wishes = {f"tools.preferences.{number}.tools": it.tools for number, it in enumerate(tools.preferences)}
    more = {"tools.enabled": tools.enabled, "tools.pinned": tools.pinned, "tools.aliases": tuple(tools.aliases)}
    return {**wishes, **more}


def is_selector(pattern: str) -> bool:
    """Whether it is written as what a request ships is chosen by: no tool is called so."""
    return pattern.removeprefix("!").startswith((_NAME, _PROVIDER))


def _is_misspelt(pattern: str) -> bool:
    """Whether one that covers no tool can be meant for none that comes later: it is a built-in tool's name in other
    letters, or written as no name is."""
    return is_selector(pattern) or pattern.removeprefix("!").lower() in ALL


@dataclass(frozen=True)
class KnownTools:
    """`servers` and `hooks` by the names that the configuration gives them; `more`: tools besides the built-in
    ones."""

    servers: tuple[str, ...]
    hooks: tuple[str, ...]
    more: tuple[str, ...] = ()

    def stranger(self, pattern: str) -> str:
        """Why nothing of that name is known; empty where something is."""
        glob = pattern.removeprefix("!")
        if glob.startswith(_PROVIDER):
            return "" if self._provides(glob.removeprefix(_PROVIDER)) else "covers no provider of tools"
        glob = glob.removeprefix(_NAME)
        if any(fnmatchcase(tool, glob) for tool in (*ALL, *self.more)) or self._of_server(glob):
            return ""
        hint = close(glob, ALL) or "; is it a tool that a hook adds?"
        return f"covers no built-in tool{hint}"

    def unmatched(self, pattern: str) -> str:
        """The same of a `match` or a rule, which go by names alone."""
        glob = pattern.removeprefix("!")
        if is_selector(pattern):
            meant = f"write {glob.removeprefix(_NAME)!r}" if glob.startswith(_NAME) else _BY_NAME
            return f"covers no tool: {meant}"
        return self.stranger(pattern)

    def _of_server(self, glob: str) -> bool:
        connection, _, _ = glob.partition("__")
        return any(fnmatchcase(name, connection) or fnmatchcase(f"{name}__", glob) for name in self.servers)

    def _provides(self, glob: str) -> bool:
        """Extensions and MCP servers can come later."""
        names = ("builtin", "dynamic", "mcp", "embedded", *(f"hook:{name}" for name in self.hooks))
        open_ended = glob.startswith((EXTENSION, "mcp:")) or fnmatchcase(EXTENSION, glob) or fnmatchcase("mcp:", glob)
        return open_ended or any(fnmatchcase(name, glob) for name in names)
