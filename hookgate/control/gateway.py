"""Every operation of a running gateway under the name by which operators ask for it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, cast

import structlog
from pydantic import Field

from hookgate import config as configuration
from hookgate.approvals.requests import Approvals
from hookgate.assembly.app import Runtime
from hookgate.control.methods import Method, Methods
from hookgate.control.openrpc import discoverable
from hookgate.hooks.recordings import Recordings
from hookgate.loop.doors.guests import Guests
from hookgate.loop.gateway import Gateway
from hookgate.operations import (
    approvals,
    channels,
    gateways,
    hooks,
    keys,
    mcp,
    people,
    programs,
    recording,
    rolling,
    sessions,
    status,
    tools,
)
from hookgate.operations.journal import letters, messages
from hookgate.operations.journal.finding import Located, find_messages
from hookgate.protocol.approval import OPERATOR, Decision, Grant, Outcome, Voter
from hookgate.protocol.dataclasses import dataclass
from hookgate.store.places import address_of

if TYPE_CHECKING:
    from hookgate.store.journal import StoredJournal

log = structlog.get_logger("hookgate.control")

Rows = Annotated[int, Field(ge=1, le=1000)]


def gateway_methods(runtime: Runtime, caller: Voter = OPERATOR, without: Collection[str] = ()) -> Methods:
    """What each operation is about is given here, the rest by whoever calls it: an operator, who stands in the books
    as `caller`. `without`: those that this caller does not have."""
    gateway, more = runtime.gateway, runtime.more
    methods = {
        **message_methods(runtime, caller),
        **approval_methods(runtime.agent.approvals, caller),
        **letter_methods(gateway, caller),
        "status": Method(partial(status.status, runtime), changes=False),
        **_known_methods(runtime),
        "channels.list": Method(partial(channels.list_channels, runtime), changes=False),
        "hooks.list": Method(partial(gateways.list_all_hooks, runtime), changes=False),
        "hooks.reload": Method(partial(rolling.reload_gateways, runtime), changes=True),
        "hooks.restart": Method(partial(hooks.restart_hook, runtime), changes=True),
        **recording_methods(runtime.gate.recordings),
        "mcp.list": Method(partial(mcp.list_connections, more), changes=False),
        "mcp.show": Method(partial(mcp.show_connection, more), changes=False),
        "mcp.approve": Method(partial(mcp.approve_connection, more), changes=True),
        "mcp.forget": Method(partial(mcp.forget_connection, more), changes=True),
        **(finding_methods(runtime) if runtime.journal.outlives else {}),
        "journal.where": Method(partial(messages.where, runtime.journal), changes=False),
        **session_methods(runtime),
        "tools.list": Method(partial(tools.list_tools, runtime), changes=False),
        "tools.refresh": Method(partial(tools.refresh_tools, runtime), changes=True),
    }

    async def about() -> About:
        """Whose gateway it is, and which of its methods change something."""
        return _about(runtime, methods)

    methods["gateway.about"] = Method(about, changes=False)
    methods = {name: it for name, it in methods.items() if name not in without}
    return discoverable(methods)


def recording_methods(recordings: Recordings) -> Methods:
    return {
        "hooks.record": Method(partial(recording.begin_recording, recordings), changes=False),
        "hooks.recorded": Method(partial(recording.fetch_recorded, recordings), changes=False, waits=True),
        "hooks.record_end": Method(partial(recording.end_recording, recordings), changes=False),
    }


def message_methods(runtime: Runtime, caller: Voter) -> Methods:
    """Where nobody serves, or programs are not answered, there is none."""
    if programs.NAME not in runtime.channels:
        return {}
    return {
        "message.send": Method(partial(programs.send, runtime, caller), changes=True),
        "message.wait": Method(partial(programs.wait, runtime, None), changes=False, waits=True),
    }


def approval_methods(held: Approvals, caller: Voter = OPERATOR) -> Methods:
    async def decide(request: str, approved: bool, reason: str = "", grant: Grant = "once") -> Outcome:
        """A yes or a no, as an operator. `request`: an id, or as much of it as means one alone; `grant`: how far a
        yes goes."""
        return await approvals.decide(held, request, Decision(approved, str(caller), reason, grant), caller)

    return {
        "approvals.list": Method(partial(approvals.pending, held), changes=False),
        "approvals.decide": Method(decide, changes=True),
        "approvals.grants": Method(partial(approvals.grants, held), changes=False),
        "approvals.revoke": Method(partial(approvals.revoke, held), changes=True),
    }


def finding_methods(runtime: Runtime) -> Methods:
    """Of a journal in a file: one in memory finds by ids alone."""
    upkeep = cast("StoredJournal", runtime.journal).upkeep

    async def find(words: str = "") -> tuple[Located, ...]:
        """Messages by their ids, or by what is in their text, chat or sender, with what each waits for."""
        return await find_messages(runtime, upkeep, words)

    return {"journal.find": Method(find, changes=False)}


def session_methods(runtime: Runtime) -> Methods:
    gateway, hidden = runtime.gateway, runtime.agent.around.redactor.text

    async def find(words: str = "", most: Rows = 100) -> tuple[sessions.StoredSession, ...]:
        """Stored conversations with these words in what was said there, or with a key that begins so; the last one
        used first."""
        return await sessions.stored_sessions(gateway, words, most)

    async def show(conversation: str, most: Rows = 100) -> sessions.Transcript:
        """What was said in a conversation, by the `id` that `sessions.find` gives it; secrets are replaced."""
        return await sessions.read_transcript(gateway, conversation, most, hidden)

    async def forget(session: str) -> bool:
        """Forget all that was ever said in this session: what runs and waits there ends."""
        await sessions.forget_session(gateway, session)
        return True

    return {
        "sessions.list": Method(partial(sessions.list_sessions, gateway), changes=False),
        "sessions.find": Method(find, changes=False),
        "sessions.show": Method(show, changes=False),
        "sessions.stop": Method(partial(sessions.stop_turn, gateway), changes=True),
        "sessions.forget": Method(forget, changes=True),
    }


def letter_methods(gateway: Gateway, caller: Voter) -> Methods:
    async def retry(letter: str) -> bool:
        """A dead letter is tried as if for the first time."""
        return await letters.retry_letter(gateway, letter, str(caller))

    async def drop(letter: str) -> bool:
        """Nobody hears of a dead letter any more."""
        return await letters.drop_letter(gateway, letter, str(caller))

    return {
        "letters.list": Method(partial(letters.list_letters, gateway), changes=False),
        "letters.retry": Method(retry, changes=True),
        "letters.drop": Method(drop, changes=True),
    }


def _known_methods(runtime: Runtime) -> Methods:
    """Where nobody serves, nobody is let in."""
    if runtime.guests is None:
        return {}
    ring = keys.KeyRing(runtime.keys, runtime.guests, runtime.settings.config.keyed)
    return {**people_methods(runtime.guests), **key_methods(ring)}


def key_methods(ring: keys.KeyRing) -> Methods:
    return {
        "keys.list": Method(partial(keys.listed, ring), changes=False),
        "keys.add": Method(partial(keys.add, ring), changes=True),
        "keys.revoke": Method(partial(keys.revoke, ring), changes=True),
    }


def people_methods(guests: Guests) -> Methods:
    return {
        "people.list": Method(partial(people.listed, guests), changes=False),
        "people.codes": Method(partial(people.codes, guests), changes=False),
        "people.pair": Method(partial(people.pair, guests), changes=True),
        "people.add": Method(partial(people.add, guests), changes=True),
        "people.role": Method(partial(people.role, guests), changes=True),
        "people.remove": Method(partial(people.remove, guests), changes=True),
    }


@dataclass(frozen=True)
class Changes:
    changes: bool


@dataclass(frozen=True)
class About:
    """Whose gateway it is, and what can be asked of it: a command that finds several asks this. `journal`: where it
    lies; empty: what is said here is kept nowhere."""

    config: str
    workspace: str
    pid: int
    methods: Mapping[str, Changes]
    journal: str


def _about(runtime: Runtime, methods: Methods) -> About:
    named = {name: Changes(methods[name].changes) for name in sorted(methods)}
    kept, settings = runtime.journal, runtime.settings
    journal = address_of(cast("StoredJournal", kept).place) if kept.outlives else ""
    file = gateways.config_file(settings)
    return About(file, configuration.workspace_key(settings.config), os.getpid(), named, journal)
