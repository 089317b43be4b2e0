"""What each of the gateways that share a journal says of itself, and what all of them together are like.

Each keeps that in its row, a few seconds old: whoever is asked reads it there, and asks no other gateway.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

import structlog
import trio

from hookgate import __version__
from hookgate import config as configuration
from hookgate.assembly.app import Runtime
from hookgate.assembly.settings import Settings
from hookgate.loop.sessions.jobs import Prompt
from hookgate.operations.channels import ChannelStatus, list_channels
from hookgate.operations.hooks import HookStatus, list_hooks
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.codec import canonical, decode, encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.journal.cluster import Member
from hookgate.telemetry.turns import Activity, Doing

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from hookgate.loop.sessions.session import Session

log = structlog.get_logger("hookgate.serve")

DESCRIBING_S = 2.0
"""How often a gateway puts what it is like."""
COMPARING_S = 6.0
"""How often it looks whether others have other rules."""
MOST_TURNS = 100
"""Of one gateway, that the others are told of."""

SHORT = 8
"""Digits of a digest, for people."""
RELOADED = {"hooks", "approvals", "people", "agent", "agents", "routes"}
DOWN = ("restarting", "quarantined", "stopped")
"""Of a hook. One that starts is not there yet, and nothing is wrong with it."""


@dataclass(frozen=True)
class TurnStatus:
    """A job that a conversation works on. `message`: the journal's id of what is answered; empty: nobody's. `since`,
    `doing_since`: seconds of the wall clock. `doing`: see `telemetry.turns`; `name`: of the model, the tool or the
    stage. `behind`: how many wait for it to end. `task_of`: the agent that does this in a task for it, where it is
    none of its own."""

    session: str
    agent: str
    channel: str
    message: str
    since: float
    doing: Doing
    name: str
    doing_since: float
    behind: int
    task_of: str = ""


@dataclass(frozen=True)
class LastReload:
    """`id`: of the request, empty: nobody has asked; `why` it failed, empty: it did not. `configuration`: the digest
    of what runs since; `did`: what has changed, in words."""

    id: str = ""
    why: str = ""
    configuration: str = ""
    did: str = ""


@dataclass(frozen=True)
class GatewayStatus:
    """One of the gateways that share a journal. `name`: HOST:PID; `since`: seconds of the wall clock. `here`: the one
    that was asked. `config`: its file; empty: it has said nothing of itself that this version understands. `problems`
    are its own. `at_work` turns, of at most `most`, of which `turns` are some; `loaded`: conversations in memory.
    `rules`, `configuration`: digests of its approval rules, and of all that a reload takes over."""

    name: str
    version: str
    since: float
    here: bool = False
    draining: bool = False
    pid: int = 0
    config: str = ""
    problems: tuple[str, ...] = ()
    at_work: int = 0
    most: int = 0
    loaded: int = 0
    turns: tuple[TurnStatus, ...] = ()
    hooks: tuple[HookStatus, ...] = ()
    channels: tuple[ChannelStatus, ...] = ()
    rules: str = ""
    configuration: str = ""
    reload: LastReload = LastReload()


async def list_gateways(runtime: Runtime) -> tuple[GatewayStatus, ...]:
    """All that share the journal of this one, the oldest first; none where it has that alone. Raises StoreFailed."""
    cluster = runtime.journal.cluster
    if len(cluster.members) < 2:
        return ()
    here, said = await own_status(runtime), await cluster.described()
    known = [it for it in cluster.members if it.id in said]
    return tuple(here if it.id == cluster.me else read_gateway(it, said[it.id]) for it in known)


async def own_status(runtime: Runtime, waiting: Collection[str] | None = None) -> GatewayStatus:
    """What it knows of itself without asking the journal. `waiting`: the requests that are open, where these are
    known."""
    cluster, gateway, settings = runtime.journal.cluster, runtime.gateway, runtime.settings
    nobody = Member(cluster.me, cluster.me, __version__, 0.0)
    member = next((it for it in cluster.members if it.id == cluster.me), nobody)
    hooks, channels = await list_hooks(runtime), await list_channels(runtime)
    turns = tuple(turn_status(runtime, it, waiting) for it in gateway.sessions.values() if it.busy)
    return GatewayStatus(
        name=member.name,
        version=__version__,
        since=member.since,
        here=True,
        draining=gateway.stopping,
        pid=os.getpid(),
        config=config_file(runtime.settings),
        problems=(*_leaving(runtime), *_wrong(hooks, channels), *_untraced(runtime)),
        at_work=len(turns),
        most=settings.config.gateway.max_turns,
        loaded=len(gateway.sessions),
        turns=turns,
        hooks=hooks,
        channels=channels,
        rules=runtime.agent.approvals.revision,
        configuration=configuration_digest(runtime),
    )


def read_gateway(member: Member, text: str) -> GatewayStatus:
    """What another one says of itself, which may be of another version: what this one does not know is left alone."""
    try:
        said = _shape().validate_python(decode(text))
    except (ValueError, BadMessage):
        said = GatewayStatus(member.name, member.version, member.since)
    its = {"name": member.name, "version": member.version, "since": member.since, "here": False}
    return replace(said, **its, draining=member.draining or said.draining)


@cache
def _shape() -> TypeAdapter[GatewayStatus]:
    from pydantic import TypeAdapter

    return TypeAdapter(GatewayStatus)


async def list_all_hooks(runtime: Runtime) -> tuple[HookStatus, ...]:
    """How each hook is, on every gateway where there are several: guards, then processes and extensions, each as it
    is asked."""
    try:
        several = await list_gateways(runtime)
    except StoreFailed as error:
        log.warning("others_not_seen", reason=str(error))
        several = ()
    named = tuple(replace(row, gateway=it.name, here=it.here) for it in several for row in it.hooks)
    return named or await list_hooks(runtime)


class Describing:
    """What others know of this one. `reload`: the last one that another has asked it for."""

    def __init__(self, runtime: Runtime) -> None:
        self.reload = LastReload()
        self._runtime, self._cluster = runtime, runtime.journal.cluster
        self._compared, self._others = -COMPARING_S, frozenset[tuple[str, str]]()

    async def run(self) -> None:
        while True:
            await self.describe()
            if len(self._cluster.members) > 1 and trio.current_time() - self._compared >= COMPARING_S:
                self._compared = trio.current_time()
                with suppress(StoreFailed):
                    await self._compare()
            await trio.sleep(DESCRIBING_S)

    async def describe(self) -> None:
        """It stands in its row soon."""
        its = await own_status(self._runtime)
        told = replace(its, here=False, turns=its.turns[:MOST_TURNS], reload=self.reload)
        self._cluster.describe(encode(told).decode("utf-8", "replace"))

    async def _compare(self) -> None:
        here = self._runtime.agent.approvals.revision
        found = frozenset((it.name, it.rules) for it in other_rules(await list_gateways(self._runtime)))
        for name, rules in sorted(found - self._others):
            log.warning("other_approval_rules", gateway=name, rules=rules[:SHORT], here=here[:SHORT])
        self._others = found


def other_rules(gateways: Sequence[GatewayStatus]) -> tuple[GatewayStatus, ...]:
    """Those whose approval rules say something else than those of the one that was asked; none while the others have
    buried that one."""
    here = {it.rules for it in gateways if it.here}
    return tuple(it for it in gateways if it.rules and here and it.rules not in here)


def problems_of_others(gateways: Sequence[GatewayStatus]) -> Iterator[str]:
    here = next((it.rules for it in gateways if it.here), "")
    for it in other_rules(gateways):
        both = "what people decide counts where it satisfies both"
        yield f"gateway {it.name} has other approval rules ({it.rules[:SHORT]}, here {here[:SHORT]}): {both}"
    for it in gateways:
        if not it.here:
            yield from (f"gateway {it.name}: {line}" for line in it.problems)


# --- one alone ----------------------------------------------------------------------------------------------


def config_file(settings: Settings) -> str:
    """Where its configuration stands, or would stand."""
    return str((settings.file or settings.base / configuration.FILE_NAME).resolve())


def configuration_digest(runtime: Runtime) -> str:
    """SHA-256, in hex, of what a reload takes over, as it runs."""
    said = runtime.agents.config.model_dump(mode="json", include=RELOADED)
    return sha256(canonical(said)).hexdigest()


def turn_status(runtime: Runtime, session: Session, waiting: Collection[str] | None) -> TurnStatus:
    """`waiting`: the requests that are open, where these are known. Whoever has a yes wants a place at work again."""
    job = session.jobs.current
    assert job is not None  # noqa: S101 - it is busy
    accepted = job.work.accepted if isinstance(job.work, Prompt) else None
    now = runtime.telemetry.turns.doing(session.key) or Activity("slot", "", job.begun_at)
    if now.what == "person" and waiting is not None and now.id not in waiting:
        now = replace(now, what="slot")
    its = (session.key, session.agent.name, job.work.chat.channel, accepted.id if accepted is not None else "")
    return TurnStatus(*its, job.begun_at, now.what, now.name, now.since, session.jobs.waiting, now.task_of)


def _leaving(runtime: Runtime) -> Iterator[str]:
    if runtime.gateway.stopping:
        yield "it is stopping: nothing is begun any more, and what comes waits for the next start"


def _wrong(hooks: Sequence[HookStatus], channels: Sequence[ChannelStatus]) -> Iterator[str]:
    for channel in channels:
        if channel.state not in ("receiving", "elsewhere"):
            yield f"channel {channel.name} is {channel.state}: {channel.why}"
    for hook in hooks:
        if hook.state in DOWN:
            yield f"hook {hook.name} is {hook.state}: {hook.reason}"
        elif hook.failing:
            yield f"hook {hook.name} fails: {hook.failing}"


def _untraced(runtime: Runtime) -> Iterator[str]:
    exporter = runtime.telemetry.exporter
    if exporter is not None and exporter.why:
        yield f"traces cannot leave: {exporter.why}"
