"""The one redactor of a run: what the configuration calls secret, and what looks it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from hookgate import config as configuration
from hookgate.loop.calls.execution_policy import Unredacted
from hookgate.protocol.interfaces import Redactor
from hookgate.sections import Config


def make_redactor(config: Config, values: tuple[str, ...] = ()) -> Redactor:
    """Marks of one run are comparable with each other and with no other run's. `values`: more secrets, literally."""
    section = config.guards.redaction
    if section.mode != "enforce":
        return Unredacted()
    from hookgate.redaction import Redactor as Marking

    known = (*configuration.named_secrets(_names(config)), *values)
    return Marking(known, section.keys, secrets.token_bytes(16))


def _names(config: Config) -> Iterator[str]:
    """Variables that hold keys and tokens, and those that the operator calls secret."""
    yield from (section.api_key_env for section in config.providers.values() if section.api_key_env)
    yield from (section.token_env for section in config.mcp.servers.values() if section.token_env)
    for channel in config.channels.values():
        yield from channel.variables.values()
    yield from config.guards.redaction.secret_env
