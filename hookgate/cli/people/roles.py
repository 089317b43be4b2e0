"""Roles that a configuration names somewhere, so that one that nothing names does not look as if it gave a right."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from hookgate import config as configuration
from hookgate.approvals.people import ROLE, USUAL_ROLE
from hookgate.assembly.hooks.opening import listed
from hookgate.channels.printable import printable
from hookgate.config import ConfigError
from hookgate.mistakes import close
from hookgate.protocol.approval import OPERATOR_ROLE
from hookgate.protocol.hook.match import Globs
from hookgate.sections import Config


def note_unnamed(roles: Iterable[str], config_file: Path | None, control: Path | None) -> None:
    """A line on stderr for each that nothing names; none where `control` names a gateway, whose file is another."""
    # What is wrong with the file is said elsewhere: they have the role.
    with suppress(ConfigError):
        config = None if control is not None else configuration.load(config_file)[0]
        for line in filter(None, (unnamed(it, config) for it in roles if config is not None)):
            sys.stderr.write(f"note: {printable(line)}\n")


def unnamed(role: str, config: Config) -> str:
    """That nothing names it, with the one that was probably meant; empty: something does. A hook may still ask for
    people of any role."""
    patterns, known = tuple(_patterns(config)), known_roles(config)
    if role in known or (patterns and Globs(patterns).covers(role)):
        return ""
    meant = close(role, [*known, *(it for it in patterns if it.isidentifier())])
    return (
        f"nothing in the configuration names the role {role!r}{meant}: it gives no right, unless a hook asks for it"
    )


def known_roles(config: Config) -> list[str]:
    """Those that are named as they are called; a hook's or a rule's match may cover more."""
    lists = (it.removeprefix(ROLE) for it in listed(config) if it.startswith(ROLE))
    people = (role for it in config.people.values() for role in it.roles)
    return sorted({OPERATOR_ROLE, USUAL_ROLE, *lists, *people})


def _patterns(config: Config) -> Iterator[str]:
    hooks = (it.match for it in (*config.hooks.processes.values(), *config.zot.extensions.values()))
    for it in (*config.approvals, *hooks):
        yield from (pattern.removeprefix("!") for pattern in it.roles)
