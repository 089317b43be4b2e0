"""The running hook processes: started together, exchanged without a gap, stopped together.

One task owns them all and takes reload requests one after the other; the gate always holds a complete set.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial

import structlog
import trio

from hookgate.hooks.children.singleton import Singleton, Singletons
from hookgate.hooks.children.supervise import RequiredHookFailed, Restarts, Startable, SupervisedHook
from hookgate.hooks.gate import Gate
from hookgate.hooks.rules import Mount, Rules
from hookgate.processes.rounds import Rounds
from hookgate.processes.slot import Slot
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.events.own_payloads import HookState

log = structlog.get_logger("hookgate.hooks")

DRAIN_S = 60.0
"""How long an exchanged process may finish the calls it has; an approver's own time."""
AUDIT_S = 0.5
"""How long audit hooks may answer what they were asked last, when all hooks are stopped."""


@dataclass(frozen=True)
class Plan:
    """One hook process or extension as configured.

    `rank`: the place among hooks of the same priority, before those that have none and go by their name.
    `alone`: two of it must not run at a time, so a reload stops the old one first, and a new one that does not come
    up fails no reload. `singleton`: nor on two gateways that share a journal.
    """

    spec: Startable
    rules: Rules
    required: bool = False
    rank: int | None = None
    alone: bool = False
    singleton: bool = False

    @property
    def name(self) -> str:
        return self.spec.hook_name


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
class _Ranked(Mount):
    rank: int = 0

    @property
    def order(self) -> tuple[bool, int, str]:
        # No name begins with a NUL, so the ranked ones come first, in their own order.
        return (not self.rules.inside, self.rules.priority, f"\0{self.rank:06}")


@dataclass(frozen=True)
class _Running:
    plan: Plan
    hook: SupervisedHook
    scope: trio.CancelScope
    gone: trio.Event

    @property
    def mount(self) -> Mount:
        plan, files = self.plan, partial(getattr, self.hook, "program")
        made = Mount if plan.rank is None else partial(_Ranked, rank=plan.rank)
        return made(hook=self.hook, rules=plan.rules, program=plan.spec, files=files, down=self.hook.down)


Wanted = Callable[[tuple[Plan, ...]], Sequence[Plan]]
"""What is to run, given what does when the exchange begins."""


@dataclass(frozen=True)
class _Wish:
    """`again`: the hook that is to be started anew. `publish`: what counts from the same moment on as the hooks."""

    wanted: Wanted
    again: str = ""
    publish: Callable[[], object] = lambda: None


class Mounts:
    """`inside` are hooks of this process: guards and event sinks; a reload leaves them."""

    def __init__(
        self, gate: Gate, restarts: Restarts, inside: Sequence[Mount] = (), singletons: Singletons | None = None
    ) -> None:
        self._gate = gate
        self._singletons = singletons
        self._restarts = restarts
        self._inside = tuple(inside)
        self._running: dict[str, _Running] = {}
        self._requests, self._inbox = trio.open_memory_channel[tuple[_Wish, Slot[Changes | Exception]]](8)
        self._rounds = Rounds()

    @property
    def hooks(self) -> tuple[SupervisedHook, ...]:
        """In the order in which they are asked."""
        ordered = sorted(self._running.values(), key=lambda it: it.mount.order)
        return tuple(running.hook for running in ordered)

    def plan(self, name: str) -> Plan:
        return self._running[name].plan

    async def reload(self, wanted: Sequence[Plan] | Wanted, publish: Callable[[], object] = lambda: None) -> Changes:
        """Exchange what differs. Raises ReloadFailed, and then nothing has changed.

        `publish` is called in the step in which the gate takes the new hooks, and not where the reload fails: nobody
        meets the one without the other.
        """
        # What runs makes no difference to a set that is known.
        plans: Wanted = wanted if callable(wanted) else lambda _running: wanted
        return await self._asked(_Wish(plans, publish=publish))

    async def restart(self, name: str) -> Changes:
        """A new process for a hook that runs, though nothing differs: its program may. Raises ReloadFailed, also for
        a name that no hook has, and then nothing has changed.

        The new one is up before the old one goes, except where two of it must not run at a time.
        """
        return await self._asked(_Wish(lambda running: running, name))

    async def _asked(self, wish: _Wish) -> Changes:
        done: Slot[Changes | Exception] = Slot()
        await self._requests.send((wish, done))
        outcome = await done.wait()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def run(self, plans: Sequence[Plan], task_status: trio.TaskStatus[None]) -> None:
        """Own the processes until cancelled. Reports started as soon as all of them are on their way."""
        with closing(self._rounds):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._rounds.run)
                nursery.start_soon(self._gate.audits.run)
                self._adopt({plan.name: self._launch(nursery, plan) for plan in plans})
                task_status.started()
                async for wanted, done in self._inbox:
                    done.set(await self._exchange(nursery, wanted))

    async def tried(self) -> None:
        """Until every hook is up or has failed its first hello. Raises RequiredHookFailed."""
        for running in tuple(self._running.values()):
            await running.hook.tried.wait()
            if running.plan.required and running.hook.state != "up":
                raise RequiredHookFailed(running.hook.name, running.hook.reason)

    async def audited(self) -> None:
        """Audit hooks have been asked what waited for them, and have answered or had their time."""
        with trio.move_on_after(AUDIT_S):
            await self._gate.audits.answered()

    async def _retire(self, old: _Running) -> None:
        with trio.move_on_after(DRAIN_S):
            await self._gate.audits.flush()
            await old.hook.drained()
        old.scope.cancel()

    async def _exchange(self, nursery: trio.Nursery, wish: _Wish) -> Changes | Exception:
        before = self._running
        if wish.again and wish.again not in before:
            return ReloadFailed(f"there is no hook {wish.again!r} (there are: {', '.join(before) or 'none'})")
        plans = wish.wanted(tuple(it.plan for it in before.values()))
        wanted = {plan.name: plan for plan in plans}
        new = [plan for plan in plans if plan.name == wish.again or not _same(before, plan)]
        fresh = {plan.name: self._launch(nursery, plan) for plan in new if not plan.alone}
        problems = [text for running in fresh.values() if (text := await _problem(running))]
        if problems:
            for running in fresh.values():
                running.scope.cancel()
            return ReloadFailed("; ".join(problems))
        fresh |= await self._replaced(nursery, [plan for plan in new if plan.alone])
        kept = {n: replace(before[n], plan=p) for n, p in wanted.items() if n not in fresh}
        # No checkpoint between the two.
        self._adopt({name: (fresh | kept)[name] for name in wanted})
        wish.publish()
        for name, old in before.items():
            if name not in kept and not old.gone.is_set():
                nursery.start_soon(self._retire, old)
        return _changes(before, self._running, fresh)

    async def _replaced(self, nursery: trio.Nursery, plans: Sequence[Plan]) -> dict[str, _Running]:
        """Stopped together, then started together; each is up or has failed when this returns."""
        olds = [old for plan in plans if (old := self._running.get(plan.name))]
        for old in olds:
            old.scope.cancel()
        for old in olds:
            await old.gone.wait()
        fresh = {plan.name: self._launch(nursery, plan) for plan in plans}
        for running in fresh.values():
            await running.hook.tried.wait()
        return fresh

    def _launch(self, nursery: trio.Nursery, plan: Plan) -> _Running:
        single = self._singletons if plan.singleton else None
        spec = plan.spec if single is None else Singleton(plan.spec, single)
        hook = SupervisedHook(spec, self._told, self._gate.redacted)
        running = _Running(plan, hook, trio.CancelScope(), trio.Event())
        nursery.start_soon(self._run_one, running)
        return running

    def _told(self, state: HookState) -> None:
        # What it could not answer before its first hello says nothing of it now.
        if state.state == "up" and state.restarts == 0 and (stats := self._gate.stats.get(state.hook)):
            stats.exchanged()
        self._gate.events.emit(state)

    async def _run_one(self, running: _Running) -> None:
        try:
            with running.scope:
                await running.hook.run(self._rounds, self._restarts)
        finally:
            running.gone.set()

    def _adopt(self, running: dict[str, _Running]) -> None:
        """From here on these are the hooks; only now may the loss of a required one end everything."""
        self._running = running
        for one in running.values():
            one.hook.required = one.plan.required
        self._gate.mount([*self._inside, *(running.mount for running in self._running.values())])


@asynccontextmanager
async def open_mounts(mounts: Mounts, plans: Sequence[Plan], *, wait: bool = True) -> AsyncGenerator[Mounts]:
    """Start every hook and wait until each is up or has failed its first hello; stop them all on leaving.

    Without `wait` the block begins at once, and whoever needs the hooks waits for `tried`.
    Raises RequiredHookFailed, also later, when a required hook is lost. Other hooks' failures raise nothing.
    """
    async with trio.open_nursery() as nursery:
        await nursery.start(mounts.run, plans)
        if wait:
            await mounts.tried()
        yield mounts
        await mounts.audited()
        nursery.cancel_scope.cancel()


def _same(before: dict[str, _Running], plan: Plan) -> bool:
    old = before.get(plan.name)
    return old is not None and old.plan.spec == plan.spec


async def _problem(running: _Running) -> str | None:
    await running.hook.tried.wait()
    return None if running.hook.state == "up" else f"hook {running.hook.name}: {running.hook.reason}"


def _changes(before: dict[str, _Running], after: dict[str, _Running], fresh: dict[str, _Running]) -> Changes:
    return Changes(
        added=tuple(name for name in after if name not in before),
        dropped=tuple(name for name in before if name not in after),
        restarted=tuple(name for name in fresh if name in before),
        changed=tuple(n for n in after if n in before and n not in fresh and before[n].plan != after[n].plan),
    )
