"""Where messages of all channels come in: commands act at once, the rest goes to its conversation's queue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import structlog
import trio

from hookgate.loop.agent import Agent
from hookgate.loop.anywhere import Anywhere
from hookgate.loop.commands import approving, own
from hookgate.loop.commands.invoking import Invoking, Leading
from hookgate.loop.commands.table import Commands, Invocation, Source
from hookgate.loop.delivery.delivery import Delivery
from hookgate.loop.delivery.outlet import Outlet
from hookgate.loop.doors.accepting import Accepting
from hookgate.loop.doors.doors import SHUT_OUT
from hookgate.loop.doors.pairing import Pairing
from hookgate.loop.sessions.jobs import STOPPED, Job, Jobs, Prompt
from hookgate.loop.sessions.resting import Resting
from hookgate.loop.sessions.taking_up import TakingUp
from hookgate.loop.sessions.unfinished import Entry, Left
from hookgate.loop.slots import Shared
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.errors import SessionAborted
from hookgate.protocol.events.payloads import DeadLetter
from hookgate.protocol.interfaces import Channel
from hookgate.protocol.journal.cluster import CHANGED, ROWS, WORK
from hookgate.protocol.journal.values import NOWHERE, Accepted, Upstream

if TYPE_CHECKING:
    from hookgate.loop.sessions.session import Session

log = structlog.get_logger("hookgate.loop")

BUSY = "I am still busy here and the queue is full. Please send this again later."
REJECTED = "I am still busy with the message before. Please send this again when it is answered."


Router = Callable[[Chat], Agent]
"""Which agent serves a chat that has no session yet."""


class Gateway:
    """`channels` by name; `more`: commands beside its own. A session costs a task only while it has work, and nothing
    once it has rested. `stopping`: it begins nothing any more."""

    def __init__(
        self, router: Router, channels: Mapping[str, Channel], shared: Shared, more: Source | None = None
    ) -> None:
        self.sessions: dict[str, Session] = {}
        self.resting = Resting(self.sessions, shared.idle_s)
        deciding = approving.rows(lambda chat: self.agent_of(chat).approvals, shared.keyed)
        pairing = (Pairing(shared.guests, shared.doors, shared.keyed).row,) if shared.guests is not None else ()
        self.commands = Commands((*own.rows(self), *deciding, *pairing), more)
        self.journal = shared.journal
        self.delivery = Delivery(
            shared.journal.posting,
            channels,
            lambda chat: self.agent_of(chat).around.redactor,
            self._lost,
            shared.journal.cluster.present,
        )
        self._accepting = Accepting(
            shared.journal.intake, shared.guests, lambda chat: self.agent_of(chat).name, self.delivery.wake
        )
        self._shared = shared
        shared.doors.changed.append(self._shut_out)
        self._left = Left(self._accepting, Entry(channels, shared.doors.shuts_out, self._enter, self._resume))
        self.taking_up = TakingUp(shared.journal.intake, self._left)
        # What waits here is bounded by the queues of the sessions, and by the commands that people type.
        self._work, self._inbox = trio.open_memory_channel[Callable[[], Awaitable[None]]](inf)
        beside = self._work.send_nowait
        leads = self.agent_of, self.delivery.wake, self._enter, self._queue, beside, self.taking_up.look_soon
        self._invoking = self._left.invoking = Invoking(shared.journal.intake, self.commands, Leading(*leads))
        cluster = shared.journal.cluster
        cluster.hear(WORK, lambda note: beside(partial(self.taking_up.look_now, note.session)))
        cluster.hear(ROWS, lambda note: self.delivery.wake(Chat(**note.body)))
        cluster.hear(CHANGED, lambda _note: self._look_around())
        self.anywhere = Anywhere(self, beside)
        self._router = router
        self._channels = channels
        self.stopping = False

    async def receive(self, inbound: Inbound, upstream: Upstream = NOWHERE) -> Accepted:
        """Take a message in: returns once it is stored, and queued, answered as a command, or refused. One that has
        been taken in before is not taken in again; one that was said in a group to others is not stored, and what
        is returned has no id. Raises StoreFailed where nothing was stored that should be."""
        if not self.taking_up.begun.is_set():
            # What has only just come is not to be seen as left.
            await self.taking_up.begun.wait()
        inbound = inbound.sound
        invocation = self.commands.read(inbound) or self.commands.unknown(inbound)
        if self.stopping and not self._keeps(invocation):
            raise StoreFailed("hookgate is stopping: send it again when it is back")
        counts = invocation is None or not invocation.command.ends
        # In a group it may be meant for another bot.
        ours = invocation is not None and invocation.command.known
        with (
            self._shared.doors.judging(inbound, commands=ours, counts=counts) as judged,
            self._left.comes(inbound.chat),
        ):
            arrival = self._accepting.arrival(inbound, upstream)
            if judged.turned is not None:
                accepted = await self._accepting.refuse(arrival, judged.turned)
            elif invocation is not None:
                accepted = await self._invoking.invoke(invocation, arrival)
            else:
                accepted = await self._enter(Prompt(inbound, await self.journal.intake.accept(arrival)))
            judged.counts = not accepted.known
        return accepted

    async def turn_away(self, inbound: Inbound) -> None:
        """As a stranger, whom the channel itself keeps out: it is in the books, if there are not too many of them.
        Raises StoreFailed."""
        with self._shared.doors.judging(inbound, commands=False, counts=False) as judged:
            if judged.turned is not None:
                await self._accepting.refuse(self._accepting.arrival(inbound.sound, NOWHERE), judged.turned)

    def _lost(self, outbound: Outbound, why: str) -> None:
        """It will never arrive: whoever watches hears of it, and a request that nobody can see is not waited for."""
        chat, agent = outbound.chat, self.agent_of(outbound.chat)
        place = chat.channel, chat.chat_id, chat.thread or None
        agent.gate.events.emit(DeadLetter(*place, "approval" if outbound.request else outbound.kind, why))
        agent.approvals.look_at(outbound.request)

    def _shut_out(self) -> None:
        """What runs for somebody who may not talk here any more ends; what waits is refused when its turn comes."""
        for session in self.sessions.values():
            job = session.jobs.current
            if job is not None and isinstance(job.work, Prompt) and self._shared.doors.shuts_out(job.work.inbound):
                session.stop(SHUT_OUT)

    def _keeps(self, invocation: Invocation | None) -> bool:
        """Whether it can be taken in while hookgate stops: what is stored is answered after the next start, and what
        ends something acts at once."""
        return self.journal.outlives if invocation is None else invocation.command.ends

    def _look_around(self) -> None:
        """What others have left, or nobody has told of."""
        self._work.send_nowait(self.taking_up.look_now)
        self.delivery.look_soon()

    async def submit(self, inbound: Inbound) -> Accepted:
        """Take a message in that is none of a person's: no command, whatever it says."""
        arrival = self._accepting.arrival(inbound.sound, NOWHERE)
        return await self._enter(Prompt(arrival.inbound, await self.journal.intake.accept(arrival)))

    async def _enter(self, prompt: Prompt) -> Accepted:
        """It joins the queue, or the turn that runs, as the channel has it; else people read why it does not."""
        chat, accepted = prompt.chat, prompt.accepted
        assert accepted is not None  # noqa: S101 - what enters has been stored
        if accepted.known or accepted.elsewhere or self.stopping:
            return accepted
        session = self.session(chat)
        if session.jobs.holds(accepted):
            return accepted
        if accepted.behind:
            # With those before it, in their order: they may not be here yet.
            self._work.send_nowait(partial(self.taking_up.look_now, chat.session_key))
            return accepted
        busy = self._shared.policy(chat.channel).busy if session.jobs.busy else "queue"
        if (busy == "steer" or session.belongs(prompt)) and session.steer(prompt):
            return accepted
        refused = REJECTED if busy == "reject" else "" if session.jobs.offer(Job(prompt)) else BUSY
        if refused:
            await self._accepting.settle(accepted, "refused", Outbound(chat, refused, kind="notice"))
        return accepted

    def session(self, chat: Chat, jobs: Jobs | None = None) -> Session:
        """The conversation there, begun where there is none yet; `jobs` is then its queue, with what waits in it."""
        key = chat.session_key
        if key in self.sessions:
            self.resting.wake(key)
        if key not in self.sessions:
            # All that a turn is made with comes with the first message: nobody waits for it at the prompt.
            from hookgate.loop.sessions.session import Session

            session = Session(self._router(chat), self.outlet(chat), key, self._shared)
            session.jobs = session.jobs if jobs is None else jobs
            session.jobs.wake = partial(self._work.send_nowait, session.run)
            session.store_failed = self.taking_up.look_soon
            self.sessions[key] = session
            if session.jobs.busy:
                session.jobs.wake()
        return self.sessions[key]

    def agent_of(self, chat: Chat) -> Agent:
        """The one that answers there."""
        session = self.sessions.get(chat.session_key)
        return self._router(chat) if session is None else session.agent

    def exchange(self, chat: Chat, agent: Agent) -> None:
        """Another one answers there, from the next turn on."""
        self.session(chat).agent = agent

    def outlet(self, chat: Chat) -> Outlet:
        """The way to the people there."""
        return Outlet(self._channels[chat.channel], self.delivery, self._shared.policy(chat.channel))

    async def say(self, outbound: Outbound) -> None:
        """What answers no message; it is there when this returns, or will not be soon."""
        await self.journal.posting.post(self.agent_of(outbound.chat).name, [outbound])
        await self.delivery.flush(outbound.chat)

    async def idle(self, session_key: str) -> None:
        """Until this conversation has answered everything, what was left from before too, and all that can be
        delivered is."""
        await self.taking_up.begun.wait()
        await self._invoking.running.idle(session_key)
        session = self.sessions.get(session_key)
        if session is not None:
            await session.jobs.idle()
        await self.delivery.idle(session_key)

    def stop(self, session_key: str, why: str = STOPPED) -> bool:
        """End the running turn and the running commands of a conversation; False when there are none. `why` goes into
        the journal."""
        session = self.sessions.get(session_key)
        ended = self._invoking.running.stop(session_key)
        return (session is not None and session.stop(why)) or ended

    def clear(self, chat: Chat) -> None:
        """What runs and waits there ends, and nobody is told."""
        session = self.sessions.get(chat.session_key)
        if session is not None:
            session.renew()
        self._invoking.running.stop(chat.session_key, quietly=True)
        self.agent_of(chat).approvals.forget(chat.session_key)

    async def abort(self, chat: Chat, error: SessionAborted) -> None:
        """A hook stops all that runs and waits in a conversation; people read why, once."""
        session = self.sessions.get(chat.session_key)
        try:
            if session is None or not session.abort(error):
                text = self.agent_of(chat).around.redactor.text(str(error))
                await self.say(Outbound(chat, text, kind="error"))
        finally:
            self._invoking.running.stop(chat.session_key, quietly=True)

    def tell(self, provider: str, text: str) -> None:
        """A report for the model, in every conversation that uses this provider's tools."""
        for session in self.sessions.values():
            session.carried.tell(provider, text)

    async def run(self) -> None:
        """Work until cancelled. Conversations run side by side."""
        await self.taking_up.begin()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.delivery.run)
                nursery.start_soon(self.taking_up.run, self._let_go)
                nursery.start_soon(self.resting.run)
                async for work in self._inbox:
                    nursery.start_soon(work)
        finally:
            for session in self.sessions.values():
                session.jobs.drop()
                session.close("shutdown")

    async def drain(self) -> None:
        """Begin nothing any more, until what is at work has ended and its answers are there. What waits for its turn,
        or for a person, stays as it is stored, and what comes is stored, where that outlives the process."""
        self.stopping = True
        try:
            await self.journal.cluster.drain()
        except StoreFailed as error:
            log.warning("others_not_told", why=str(error))
        for session in self.sessions.values():
            session.jobs.drop()
        for _ in range(self._shared.slots.most):
            await self._shared.slots.acquire()
        await self.delivery.idle()

    def _resume(self, prompt: Prompt) -> None:
        """It had been taken in before, and is done before what waits."""
        jobs, accepted = self.session(prompt.chat).jobs, prompt.accepted
        if accepted is not None and not jobs.holds(accepted):
            jobs.offer(Job(prompt), resumed=True)

    async def _let_go(self) -> None:
        for session in tuple(self.sessions.values()):
            await session.let_go()

    def _queue(self, job: Job) -> str:
        """Why it will not be done: too much waits."""
        return "" if self.session(job.work.chat).jobs.offer(job) else BUSY
