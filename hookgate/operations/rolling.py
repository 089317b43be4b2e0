"""A reload that goes through all gateways that share a journal, one after the other, the oldest first.

Each reads its own file and exchanges its hooks without a gap; the next one begins when the one before is done. One
that is asked says in its row what came of it, and is asked again until that stands there: what it was told may be
lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from secrets import token_hex

import trio

from hookgate.assembly.app import Runtime
from hookgate.operations.gateways import SHORT, Describing, LastReload, configuration_digest, read_gateway
from hookgate.operations.hooks import Reloaded, ReloadedGateway, reload_hooks, told
from hookgate.operations.refused import OperationRefused
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.journal.cluster import RELOAD, Cluster, Member, Note

ROLLING = "reload"
"""The lease of whoever takes the others through it."""
AGAIN_S, LOOK_S = 2.0, 0.2
"""How often one that says nothing is asked again; how often its row is looked at."""
ANSWER_S = 45.0
"""How long one that lives may take: its new hooks have to say hello."""


async def reload_gateways(runtime: Runtime, here: bool = False) -> Reloaded:
    """Read the configuration again, exchange the hooks that differ, and the rules in the same moment: a call that
    either of them stops passes at no time. A gateway that serves channels takes over its agents, its routes and what
    each channel shows as well. On any mistake nothing changes. Of several gateways that share a journal each does so
    with its own file, one after the other; where one fails, those behind it stay as they are. `here`: this one
    alone."""
    cluster = runtime.journal.cluster
    if here or len(cluster.members) < 2:
        return await reload_hooks(runtime)
    try:
        async with runtime.reloading:
            if not await cluster.take(ROLLING):
                raise OperationRefused("nothing was changed: another gateway takes all through a reload just now")
            try:
                with cluster.present():
                    return await _roll(runtime)
            finally:
                with trio.CancelScope(shield=True):
                    await cluster.give(ROLLING)
    except StoreFailed as error:
        raise OperationRefused(f"the reload was broken off, hookgate status says what runs where: {error}") from None
    raise OperationRefused("the reload was broken off: this gateway has not been seen by the others for too long")


async def _roll(runtime: Runtime) -> Reloaded:
    cluster, own, rows = runtime.journal.cluster, Reloaded((), (), (), (), False, ()), list[ReloadedGateway]()
    for member in cluster.members:
        if any(it.outcome == "failed" for it in rows):
            rows.append(ReloadedGateway(member.name, "not asked", "", await _runs(cluster, member)))
        elif member.id == cluster.me:
            own, last = await _reload_here(runtime, "")
            rows.append(_row(member, last))
        else:
            rows.append(await _asked(cluster, member))
    if any(it.outcome == "failed" for it in rows):
        raise OperationRefused("; ".join(_told(rows)))
    return replace(own, gateways=tuple(rows))


def _told(rows: Sequence[ReloadedGateway]) -> Iterator[str]:
    """First of all which one has failed."""
    yield from (f"gateway {it.name}: {it.why}" for it in rows if it.outcome == "failed")
    for outcome in ("reloaded", "gone", "not asked"):
        if names := [it.name for it in rows if it.outcome == outcome]:
            yield f"{outcome}: {', '.join(names)}"
    running = (f"{it.name} {it.configuration[:SHORT]}" for it in rows if it.configuration)
    yield f"configurations that run: {', '.join(running)}"


async def _asked(cluster: Cluster, member: Member) -> ReloadedGateway:
    id_, deadline, again = token_hex(8), trio.current_time() + ANSWER_S, -inf
    while any(it.id == member.id for it in cluster.members):
        if trio.current_time() >= deadline:
            why = f"it has said nothing for {ANSWER_S:g} s, and may do it yet"
            return ReloadedGateway(member.name, "failed", why, await _runs(cluster, member))
        if trio.current_time() - again >= AGAIN_S:
            again = trio.current_time()
            cluster.tell(Note(RELOAD, body={"id": id_}), member.id)
        its = read_gateway(member, (await cluster.described()).get(member.id, ""))
        if its.reload.id == id_:
            return _row(member, its.reload)
        await trio.sleep(LOOK_S)
    return ReloadedGateway(member.name, "gone", "it went away meanwhile")


async def _runs(cluster: Cluster, member: Member) -> str:
    return read_gateway(member, (await cluster.described()).get(member.id, "")).configuration


def _row(member: Member, last: LastReload) -> ReloadedGateway:
    outcome = "failed" if last.why else "reloaded"
    return ReloadedGateway(member.name, outcome, last.why, last.configuration, last.did)


# --- being asked --------------------------------------------------------------------------------------------


async def run_member(runtime: Runtime) -> None:
    """One of the gateways that share a journal: it says what it is like, and reloads when it is its turn."""
    asked, inbox = trio.open_memory_channel[str](inf)
    runtime.journal.cluster.hear(RELOAD, lambda note: asked.send_nowait(note.body.get("id", "")))
    describing = Describing(runtime)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(describing.run)
        async for id_ in inbox:
            if id_ != describing.reload.id:
                _, describing.reload = await _reload_here(runtime, id_)
                await describing.describe()


async def _reload_here(runtime: Runtime, id_: str) -> tuple[Reloaded, LastReload]:
    done, why, did = Reloaded((), (), (), (), False, ()), "", ""
    try:
        done = await reload_hooks(runtime)
        did = told(done)
        why = _approvers_down(runtime)
    except OperationRefused as error:
        why = str(error)
    return done, LastReload(id_, why, configuration_digest(runtime), did)


def _approvers_down(runtime: Runtime) -> str:
    """The others go on guarding until these do."""
    plan = runtime.mounts.plan
    guards = (it for it in runtime.mounts.hooks if Stage.APPROVE_TOOL in plan(it.name).rules.stages)
    down = [f"{it.name} is {it.state}: {it.reason}" for it in guards if it.state != "up"]
    return f"reloaded, but its approver {'; '.join(down)}" if down else ""
