"""Where programs ask by JSON-RPC: at /rpc, where that is on."""

from __future__ import annotations

from functools import partial

from hookgate.assembly.app import Runtime
from hookgate.channels.http.bearer import Bearers
from hookgate.channels.http.server import App
from hookgate.channels.programs import NAME
from hookgate.control.http import PATH, make_app
from hookgate.control.methods import Methods
from hookgate.control.programs import program_methods
from hookgate.protocol.approval import Voter
from hookgate.protocol.journal.keys import Key
from hookgate.store.journal import StoredJournal


def rpc_endpoint(runtime: Runtime, journal: StoredJournal) -> dict[str, App]:
    """By its path."""
    if NAME not in runtime.channels:
        return {}
    bearers = Bearers(NAME, runtime.keys, partial(runtime.policies.operates, NAME))

    def methods(key: Key) -> Methods:
        return program_methods(
            runtime, Voter(key.channel, key.name), journal.upkeep.note, operates=bearers.operates(key)
        )

    return {PATH: make_app(bearers, runtime.keys, methods)}
