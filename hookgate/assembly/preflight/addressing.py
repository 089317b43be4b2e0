"""Ids of people and chats in a configuration that are nobody's as they stand there. Knows no tool and no program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hookgate.approvals.people import ROLE
from hookgate.assembly.preflight.faults import Fault, wants
from hookgate.mistakes import close
from hookgate.protocol.hook.match import Globs
from hookgate.sections import Config
from hookgate.sections.gateway import RouteSection
from hookgate.sections.section import KNOWN_CHANNELS, MatchSection

_OWN = ("cli", "rpc", "acp")
"""Channels that nobody configures."""


def matches_of(config: Config) -> Mapping[str, MatchSection]:
    """What hooks, rules and extensions are for, by the place where it stands."""
    hooks = {f"hooks.processes.{name}.match": it.match for name, it in config.hooks.processes.items()}
    rules = {f"approvals.{number}": rule for number, rule in enumerate(config.approvals)}
    return {
        **hooks,
        **rules,
        **{f"zot.extensions.{name}.match": it.match for name, it in config.zot.extensions.items()},
    }


def words_of_people(
    config: Config, place: str, match: MatchSection | RouteSection, *, guards: bool
) -> Iterator[Fault]:
    """`chats`, `threads` and `senders` are ids as their channel knows them, `roles` their bare names: with the name
    of a channel or `role:` before them, as lists of people have it, they cover nobody. Where no such channel is
    configured a program may call its own chats so."""
    here, there = (*_OWN, *config.channels), Globs(match.channels)
    for pattern in getattr(match, "roles", ()):
        bare = pattern.removeprefix("!")
        if (role := bare.removeprefix(ROLE)) != bare:
            yield Fault(f"{place}.roles: {pattern!r} covers none: write {role!r}", stops=guards and wants(pattern))
    for key in ("chats", "threads", "senders"):
        for pattern in getattr(match, key, ()):
            channel, _, id_ = pattern.removeprefix("!").partition(":")
            if id_ and channel in (*KNOWN_CHANNELS, *here) and there.covers(channel):
                said = f"covers none: write {id_!r} there, and channels = [{channel!r}]"
                stops = guards and wants(pattern) and channel in here
                yield Fault(f"{place}.{key}: {pattern!r} {said}", stops=stops)


def routes_faults(config: Config) -> Iterator[Fault]:
    """A chat that none fits is answered by another agent, with other tools."""
    for number, route in enumerate(config.routes):
        yield from words_of_people(config, f"routes.{number}", route, guards=True)


def unknown_places(config: Config) -> Iterator[str]:
    """A line for each id with a channel that looks like a known one and is none."""
    known = (*KNOWN_CHANNELS, *config.channels, *config.keyed)
    lists = {f"people.{name}.ids": it.ids for name, it in config.people.items()}
    for number, rule in enumerate(config.approvals):
        named = (it for it in rule.approvers if not it.startswith(ROLE))
        lists |= {f"approvals.{number}.approvers": (*named,), f"approvals.{number}.ask_in": rule.ask_in}
    for place, ids in lists.items():
        for id_ in ids:
            channel, colon, _ = id_.partition(":")
            if colon and channel not in known and (meant := close(channel, known)):
                yield f"{place}: {id_!r} is of no channel that is known{meant}"


def names_for_ids(config: Config, matches: Mapping[str, MatchSection]) -> Iterator[str]:
    """A line for each sender who is called as somebody of [people] is, and has another id."""
    ids = {id_.partition(":")[2] for person in config.people.values() for id_ in person.ids}
    for place, match in matches.items():
        for pattern in match.senders:
            if (name := pattern.removeprefix("!")) in config.people and name not in ids:
                own = " or ".join(repr(it.partition(":")[2]) for it in config.people[name].ids)
                yield f"{place}.senders: {pattern!r} is a name of [people], and senders are ids: {own}"
