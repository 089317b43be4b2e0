"""The running hook processes: started together, exchanged without a gap, stopped together.

One task owns them all and takes reload requests one after the other; the gate always holds a complete set.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog
import trio

from hookgate.hooks.deadlines import Deadlines
from hookgate.hooks.gate import Gate
from hookgate.hooks.process import ProcessSpec
from hookgate.hooks.rules import Mount, Rules
from hookgate.hooks.slot import Slot
from hookgate.hooks.supervise import RequiredHookFailed, Restarts, SupervisedHook

log = structlog.get_logger("hookgate.hooks")

DRAIN_S = 60.0
"""How long an exchanged process may finish the calls it has; an approver's own time."""


@dataclass(frozen=True)
class Plan:
    """One hook process as configured."""

    spec: ProcessSpec
    rules: Rules
    required: bool = False


@dataclass(frozen=True)
class Changes:
    """What a reload did, by hook name; `changed` hooks kept their process and took new rules."""

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


class ReloadFailed(Exception):
    """A new or changed hook did not come up; the old set stays."""


@dataclass(frozen=True)
class _Running:
    plan: Plan
    hook: SupervisedHook
    scope: trio.CancelScope


class Mounts:
    """`inside` are hooks of this process: guards and event sinks; a reload leaves them."""

    def __init__(self, gate: Gate, restarts: Restarts, inside: Sequence[Mount] = ()) -> None:
        self._gate = gate
        self._restarts = restarts
        self._inside = tuple(inside)
        self._running: dict[str, _Running] = {}
        self._requests, self._inbox = trio.open_memory_channel[tuple[tuple[Plan, ...], Slot[Changes | Exception]]](8)
        self.deadlines = Deadlines()

    @property
    def hooks(self) -> tuple[SupervisedHook, ...]:
        """In the order in which they are asked."""
        ordered = sorted(self._running.values(), key=lambda it: (it.plan.rules.priority, it.hook.name))
        return tuple(running.hook for running in ordered)

    def plan(self, name: str) -> Plan:
        return self._running[name].plan

    async def reload(self, plans: Sequence[Plan]) -> Changes:
        """Exchange what differs. Raises ReloadFailed, and then nothing has changed."""
        done: Slot[Changes | Exception] = Slot()
        await self._requests.send((tuple(plans), done))
        outcome = await done.wait()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def run(self, plans: Sequence[Plan], task_status: trio.TaskStatus[None]) -> None:
        """Own the processes until cancelled. Reports started once every hook has been tried."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.deadlines.run)
            nursery.start_soon(self._gate.audits.run)
            await self._start_all(nursery, plans)
            task_status.started()
            async for wanted, done in self._inbox:
                done.set(await self._exchange(nursery, wanted))

    async def _start_all(self, nursery: trio.Nursery, plans: Sequence[Plan]) -> None:
        self._adopt({plan.spec.name: self._launch(nursery, plan) for plan in plans})
        for running in self._running.values():
            await running.hook.tried.wait()
            if running.plan.required and running.hook.state != "up":
                raise RequiredHookFailed(running.hook.name, running.hook.reason)

    async def _exchange(self, nursery: trio.Nursery, plans: tuple[Plan, ...]) -> Changes | Exception:
        before, wanted = self._running, {plan.spec.name: plan for plan in plans}
        fresh = {name: self._launch(nursery, plan) for name, plan in wanted.items() if not _same(before, plan)}
        problems = [text for running in fresh.values() if (text := await _problem(running))]
        if problems:
            for running in fresh.values():
                running.scope.cancel()
            return ReloadFailed("; ".join(problems))
        kept = {n: _Running(p, before[n].hook, before[n].scope) for n, p in wanted.items() if n not in fresh}
        self._adopt({name: (fresh | kept)[name] for name in wanted})
        for name, old in before.items():
            if name not in kept:
                nursery.start_soon(_retire, old)
        return _changes(before, self._running, fresh)

    def _launch(self, nursery: trio.Nursery, plan: Plan) -> _Running:
        hook = SupervisedHook(plan.spec, self._gate.events.emit)
        running = _Running(plan, hook, trio.CancelScope())
        nursery.start_soon(self._run_one, running)
        return running

    async def _run_one(self, running: _Running) -> None:
        with running.scope:
            await running.hook.run(self.deadlines, self._restarts)

    def _adopt(self, running: dict[str, _Running]) -> None:
        """From here on these are the hooks; only now may the loss of a required one end everything."""
        self._running = running
        for one in running.values():
            one.hook.required = one.plan.required
        processes = (Mount(running.hook, running.plan.rules) for running in self._running.values())
        self._gate.mount([*self._inside, *processes])


@asynccontextmanager
async def open_mounts(mounts: Mounts, plans: Sequence[Plan]) -> AsyncGenerator[Mounts]:
    """Start every hook and wait until each is up or has failed its first hello; stop them all on leaving.

    Raises RequiredHookFailed, also later, when a required hook is lost. Other hooks' failures raise nothing.
    """
    async with trio.open_nursery() as nursery:
        await nursery.start(mounts.run, plans)
        yield mounts
        nursery.cancel_scope.cancel()


def _same(before: dict[str, _Running], plan: Plan) -> bool:
    old = before.get(plan.spec.name)
    return old is not None and old.plan.spec == plan.spec


async def _problem(running: _Running) -> str | None:
    await running.hook.tried.wait()
    return None if running.hook.state == "up" else f"hook {running.hook.name}: {running.hook.reason}"


async def _retire(old: _Running) -> None:
    with trio.move_on_after(DRAIN_S):
        await old.hook.drained()
    old.scope.cancel()


def _changes(before: dict[str, _Running], after: dict[str, _Running], fresh: dict[str, _Running]) -> Changes:
    return Changes(
        added=tuple(name for name in after if name not in before),
        dropped=tuple(name for name in before if name not in after),
        restarted=tuple(name for name in fresh if name in before),
        changed=tuple(n for n in after if n in before and n not in fresh and before[n].plan != after[n].plan),
    )
