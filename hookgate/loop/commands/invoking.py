"""Commands while they act: stored before, settled with what they lead to after, taken up again where a crash came."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import structlog
import trio

from hookgate.loop.agent import Agent
from hookgate.loop.commands.table import Commands, Invocation, Outcome
from hookgate.loop.sessions.jobs import Compaction, Job, Prompt
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.journal.interfaces import Intake
from hookgate.protocol.journal.values import Accepted, Arrival, ArrivalKind, Unfinished
from hookgate.protocol.journal.values import Outcome as Ended

log = structlog.get_logger("hookgate.loop")

CUT_OFF = "hookgate was cut off in the middle of this; say it again if it still matters:"


@dataclass(frozen=True)
class Leading:
    """Where commands lead. `tell`: a line, once it is stored; `enter`: a message that is stored is to be answered;
    `queue`: why it is not done, if it is not; `beside`: what may take long is done beside all else; `failed`: the
    store did not take what a command came to, which is to be taken up when it works."""

    agent_of: Callable[[Chat], Agent]
    tell: Callable[[Chat], None]
    enter: Callable[[Prompt], Awaitable[Accepted]]
    queue: Callable[[Job], str]
    beside: Callable[[Callable[[], Awaitable[None]]], None]
    failed: Callable[[], None]


class Running:
    """The commands that run beside the turns of their conversations."""

    def __init__(self) -> None:
        self._running: dict[str, list[Invocation]] = {}
        self._over: dict[str, trio.Event] = {}

    def begin(self, invocation: Invocation) -> None:
        self._running.setdefault(invocation.session, []).append(invocation)
        self._over.setdefault(invocation.session, trio.Event())

    def end(self, invocation: Invocation) -> None:
        running = self._running[invocation.session]
        running.remove(invocation)
        if not running:
            del self._running[invocation.session]
            self._over.pop(invocation.session).set()

    async def idle(self, session: str) -> None:
        """Until none of this conversation runs."""
        while session in self._over:
            await self._over[session].wait()

    def stop(self, session: str, *, quietly: bool = False) -> bool:
        """End what this conversation's commands wait for; False when there is none."""
        running = [it for it in self._running.get(session, ()) if not it.scope.cancel_called]
        for it in running:
            it.quiet = it.quiet or quietly
            it.scope.cancel()
        return bool(running)


class Invoking:
    def __init__(self, intake: Intake, commands: Commands, leading: Leading) -> None:
        self.running = Running()
        self._intake, self._commands, self._leading = intake, commands, leading
        self._at_work: set[str] = set()
        """By id: what is stored without an end, and is not left."""

    async def invoke(self, invocation: Invocation, arrival: Arrival) -> Accepted:
        """Has acted when this returns, unless it runs beside."""
        command = invocation.command
        arrival = replace(arrival, kind=command.kind, effect=command.effect)
        accepted = invocation.accepted = await self._intake.accept(arrival)
        if not (accepted.known or accepted.elsewhere) and self._begin(accepted):
            await self._act(invocation, accepted)
        return accepted

    async def take_up(self, left: Unfinished, kind: ArrivalKind, *, out: bool) -> None:
        """What people decided is decided, once, unless they are `out`; and what nobody has begun is done. Of anything
        else nobody knows how far it came."""
        if not self._begin(left.accepted):
            return
        said, again = left.inbound, kind == "decision" and not out
        try:
            again = again or (kind == "command" and not left.begun and await self._intake.begin(left.accepted.id))
        except StoreFailed:
            self._at_work.discard(left.accepted.id)
            raise
        invocation = (self._commands.read(said) or self._commands.unknown(said)) if again else None
        if invocation is not None:
            invocation.accepted = left.accepted
            await self._act(invocation, left.accepted)
            return
        told = Outbound(said.chat, f"{CUT_OFF} {said.text}", kind="notice")
        try:
            await self._settle(left.accepted, told, "dropped")
        finally:
            self._at_work.discard(left.accepted.id)

    def _begin(self, accepted: Accepted) -> bool:
        """False: it is at work already. Where the store fails, what has just come may be taken for what was left."""
        begins = accepted.id not in self._at_work
        self._at_work.add(accepted.id)
        return begins

    async def _act(self, invocation: Invocation, accepted: Accepted) -> None:
        if invocation.command.beside:
            self.running.begin(invocation)
            self._leading.beside(partial(self._beside, invocation, accepted))
        else:
            await self._run(invocation, accepted)

    async def _run(self, invocation: Invocation, accepted: Accepted) -> None:
        try:
            await self._lead(invocation, accepted, await self._outcome(invocation, accepted))
        except StoreFailed:
            self._leading.failed()
            raise
        finally:
            self._at_work.discard(accepted.id)

    async def _outcome(self, invocation: Invocation, accepted: Accepted) -> Outcome:
        try:
            return await invocation.command.run(invocation)
        except Exception:
            # What people decided is taken up again.
            if invocation.command.kind != "decision":
                await self._settle(accepted, None)
            raise

    async def _lead(self, invocation: Invocation, accepted: Accepted, outcome: Outcome) -> None:
        match outcome:
            case Prompt(inbound=inbound):
                # In one step: a crash leaves the one or the other.
                arrival = Arrival(inbound, self._leading.agent_of(inbound.chat).name, "")
                if (led := await self._intake.lead(accepted.id, arrival)) is not None:
                    await self._leading.enter(Prompt(inbound, led))
            case Compaction():
                await self._settle(accepted, invocation.line(self._leading.queue(Job(outcome))))
            case _:
                await self._settle(accepted, invocation.line(outcome))

    async def _beside(self, invocation: Invocation, accepted: Accepted) -> None:
        try:
            await self._run(invocation, accepted)
        except Exception:
            log.exception("command_failed", session=invocation.session, command=invocation.command.name)
        finally:
            self.running.end(invocation)

    async def _settle(self, accepted: Accepted, line: Outbound | None, outcome: Ended = "answered") -> None:
        await self._intake.settle(accepted.id, outcome, () if line is None else (line,))
        if line is not None:
            self._leading.tell(line.chat)
