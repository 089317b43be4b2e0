"""Where messages of all channels come in: commands act at once, the rest goes to its conversation's queue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import structlog
import trio

from hookgate.loop import approving
from hookgate.loop.agent import Agent
from hookgate.loop.commands import Command, Commands, Invocation, Outcome, Running, Source
from hookgate.loop.delivery.delivery import Delivery
from hookgate.loop.delivery.outlet import Outlet
from hookgate.loop.doors.doors import SHUT_OUT, Turned
from hookgate.loop.doors.pairing import Pairing, invitation
from hookgate.loop.sessions.claims import LEASE_S
from hookgate.loop.sessions.jobs import Compaction, Job, Jobs, Prompt
from hookgate.loop.sessions.resting import Resting
from hookgate.loop.slots import Shared
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.errors import SessionAborted
from hookgate.protocol.interfaces import Channel
from hookgate.protocol.journal.values import (
    NOWHERE,
    Accepted,
    Arrival,
    ArrivalKind,
    Conversation,
    Unfinished,
    Upstream,
)
from hookgate.protocol.journal.values import Outcome as JournalOutcome
from hookgate.protocol.values import Chat, Inbound, Outbound

if TYPE_CHECKING:
    from hookgate.loop.sessions.session import Session

log = structlog.get_logger("hookgate.loop")

BUSY = "I am still busy here and the queue is full. Please send this again later."
REJECTED = "I am still busy with the message before. Please send this again when it is answered."

MOST_KEPT = 200
"""Characters of a message that does not come in."""
COMMAND_KINDS: tuple[ArrivalKind, ...] = ("decision", "command")
CUT_OFF = "hookgate was stopped in the middle of this; say it again if it still matters:"

Router = Callable[[Chat], Agent]
"""Which agent serves a chat that has no session yet."""


class Gateway:
    """`channels` by name; `more`: commands beside its own. A session costs a task only while it has work, and nothing
    once it has rested."""

    def __init__(
        self, router: Router, channels: Mapping[str, Channel], shared: Shared, more: Source | None = None
    ) -> None:
        self.sessions: dict[str, Session] = {}
        self.resting = Resting(self.sessions, shared.idle_s)
        deciding = approving.rows(lambda chat: self.agent_of(chat).approvals)
        pairing = (Pairing(shared.guests, shared.doors).row,) if shared.guests is not None else ()
        self.commands = Commands((*self._rows(), *deciding, *pairing), more)
        self.journal = shared.journal
        self.delivery = Delivery(shared.journal.posting, channels, lambda chat: self.agent_of(chat).around.redactor)
        self._shared = shared
        self._running = Running()
        self._taken_up = trio.Event()
        self._resumed: set[str] = set()
        """Messages that were found unfinished: one that is being received just then is queued once."""
        self._invoked: list[Inbound] = []
        """Commands that were taken in by this gateway, and act."""
        self._router = router
        self._channels = channels
        self._turns = shared.slots.value
        self._stopping = False
        # What waits here is bounded by the queues of the sessions, and by the commands that people type.
        self._work, self._inbox = trio.open_memory_channel[Callable[[], Awaitable[None]]](inf)

    async def receive(self, inbound: Inbound, upstream: Upstream = NOWHERE) -> Accepted:
        """Take a message in: returns once it is stored, and queued, answered as a command, or refused. One that has
        been taken in before is not taken in again; one that was said in a group to others is not stored, and what
        is returned has no id. Raises StoreFailed where nothing was stored that should be."""
        if self._stopping:
            raise StoreFailed("hookgate is stopping: send it again when it is back")
        invocation = self.commands.read(inbound := inbound.sound)
        turned = self._shared.doors.turn_away(
            inbound, commands=invocation is not None, counts=invocation is None or not invocation.command.ends
        )
        if turned is not None:
            return await self._refuse(inbound, turned, upstream)
        if invocation is None:
            return await self._accept(self._arrival(inbound, upstream))
        return await self._invoke(invocation, upstream)

    async def _refuse(self, inbound: Inbound, turned: Turned, upstream: Upstream) -> Accepted:
        """What does not come in touches no hook, no model and no conversation: it is in the books with its end."""
        if not turned.why:
            return Accepted("", Conversation(inbound.chat.session_key, self.agent_of(inbound.chat).name))
        kept = replace(inbound, text=inbound.text[:MOST_KEPT], media=(), replaces=0)
        accepted = await self.journal.intake.accept(self._arrival(kept, upstream))
        if not accepted.known:
            tell, guests = turned.tell, self._shared.guests
            if turned.pairs is not None and guests is not None:
                tell = await invitation(guests, turned.pairs)
            line = Outbound(inbound.chat, tell, kind="notice") if tell else None
            await self._settle(accepted, "refused", line, turned.why)
        return accepted

    def shut_out(self) -> None:
        """What runs for somebody who may not talk here any more ends; what waits is refused when its turn comes."""
        for session in self.sessions.values():
            job = session.jobs.current
            if job is not None and isinstance(job.work, Prompt) and self._shared.doors.shuts_out(job.work.inbound):
                session.stop()

    async def submit(self, inbound: Inbound) -> Accepted:
        """Take a message in that is none of a person's: no command, whatever it says."""
        return await self._accept(self._arrival(inbound.sound, NOWHERE))

    def _arrival(self, inbound: Inbound, upstream: Upstream) -> Arrival:
        # Platforms number the messages of each chat.
        key = f"{inbound.chat.session_key} {inbound.message_id}" if inbound.message_id else ""
        agent = self.agent_of(inbound.chat).name
        return Arrival(inbound, agent, key, upstream.account, offset=upstream.offset)

    async def _accept(self, arrival: Arrival) -> Accepted:
        """It joins the queue, or the turn that runs, as the channel has it; else people read why it does not."""
        inbound, accepted = arrival.inbound, await self.journal.intake.accept(arrival)
        if accepted.known or accepted.id in self._resumed:
            return accepted
        session, prompt, refused = self.session(inbound.chat), Prompt(inbound, accepted), ""
        busy = self._shared.policy(inbound.chat.channel).busy if session.jobs.busy else "queue"
        if (busy == "steer" or session.belongs(prompt)) and session.steer(prompt):
            return accepted
        if busy == "reject":
            refused = REJECTED
        elif not session.jobs.offer(Job(prompt)):
            refused = BUSY
        if refused:
            await self._settle(accepted, "refused", Outbound(inbound.chat, refused, kind="notice"))
        return accepted

    async def _invoke(self, invocation: Invocation, upstream: Upstream) -> Accepted:
        inbound, command = invocation.inbound, invocation.command
        arrival = replace(self._arrival(inbound, upstream), kind=command.kind, effect=command.effect)
        self._invoked.append(inbound)
        try:
            accepted = invocation.accepted = await self.journal.intake.accept(arrival)
        except BaseException:
            self._invoked.remove(inbound)
            raise
        if accepted.known:
            self._invoked.remove(inbound)
            return accepted
        if command.beside:
            self._running.begin(invocation)
            self._work.send_nowait(partial(self._beside, invocation, accepted))
        else:
            await self._run(invocation, accepted)
        return accepted

    async def _run(self, invocation: Invocation, accepted: Accepted) -> None:
        try:
            try:
                line = await self._lead(invocation.inbound.chat, await invocation.command.run(invocation))
            except Exception:
                # What people decided is taken up again by the next start.
                if invocation.command.kind != "decision":
                    await self._settle(accepted, "answered", None)
                raise
            await self._settle(accepted, "answered", line)
        finally:
            self._invoked.remove(invocation.inbound)

    async def _settle(
        self, accepted: Accepted, outcome: JournalOutcome, line: Outbound | None, why: str = ""
    ) -> None:
        await self.journal.intake.settle(accepted.id, outcome, () if line is None else (line,), why)
        if line is not None:
            self.delivery.wake(line.chat)

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
        await self._taken_up.wait()
        await self._running.idle(session_key)
        session = self.sessions.get(session_key)
        if session is not None:
            await session.jobs.idle()
        await self.delivery.idle(session_key)

    def stop(self, session_key: str) -> bool:
        """End the running turn and the running commands of a conversation; False when there are none."""
        session = self.sessions.get(session_key)
        ended = self._running.stop(session_key)
        return (session is not None and session.stop()) or ended

    async def forget(self, chat: Chat) -> None:
        """What runs and waits there ends, and what was ever said there is gone, to whichever agent."""
        session = self.sessions.get(chat.session_key)
        if session is not None:
            session.renew()
        self._running.stop(chat.session_key, quietly=True)
        self.agent_of(chat).approvals.forget(chat.session_key)
        for row in await self.journal.books.sessions():
            if row.conversation.session == chat.session_key:
                await self.journal.books.forget(row.conversation)

    async def abort(self, chat: Chat, error: SessionAborted) -> None:
        """A hook stops all that runs and waits in a conversation; people read why, once."""
        session = self.sessions.get(chat.session_key)
        try:
            if session is None or not session.abort(error):
                text = self.agent_of(chat).around.redactor.text(str(error))
                await self.say(Outbound(chat, text, kind="error"))
        finally:
            self._running.stop(chat.session_key, quietly=True)

    def tell(self, provider: str, text: str) -> None:
        """A report for the model, in every conversation that uses this provider's tools."""
        for session in self.sessions.values():
            session.tell(provider, text)

    async def run(self) -> None:
        """Work until cancelled. Conversations run side by side."""
        await self._take_up()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.delivery.run)
                nursery.start_soon(self._keep_leases)
                async for work in self._inbox:
                    nursery.start_soon(work)
        finally:
            for session in self.sessions.values():
                session.jobs.drop()
                session.close("shutdown")

    async def drain(self) -> None:
        """Take nothing in any more, until what is at work has ended and its answers are there. What waits for its
        turn, or for a person, stays as it is stored."""
        self._stopping = True
        for session in self.sessions.values():
            session.jobs.drop()
        for _ in range(self._turns):
            await self._shared.slots.acquire()
        await self.delivery.idle()

    async def _take_up(self) -> None:
        """What a crash left, or a shutdown; what was received meanwhile is queued already."""
        await self._take_up_commands()
        for left in await self.journal.intake.unfinished():
            chat = left.inbound.chat
            if chat.channel not in self._channels:
                log.warning("message_without_channel", message=left.accepted.id, channel=chat.channel)
            elif self._shared.doors.shuts_out(left.inbound):
                await self._settle(left.accepted, "refused", None, SHUT_OUT)
            elif not self.session(chat).jobs.holds(left.accepted):
                self._resumed.add(left.accepted.id)
                self.session(chat).jobs.offer(Job(Prompt(left.inbound, left.accepted)), resumed=True)
        self._taken_up.set()

    async def _take_up_commands(self) -> None:
        """What people decided is decided, once; of anything else nobody knows how far it came."""
        for kind in COMMAND_KINDS:
            for left in await self.journal.intake.unfinished(kind):
                if left.inbound not in self._invoked:
                    try:
                        await self._take_up_command(left, repeats=kind == "decision")
                    except Exception:
                        log.exception("command_not_taken_up", message=left.accepted.id)

    async def _take_up_command(self, left: Unfinished, *, repeats: bool) -> None:
        chat = left.inbound.chat
        heard = chat.channel in self._channels and not self._shared.doors.shuts_out(left.inbound)
        invocation = self.commands.read(left.inbound) if repeats and heard else None
        if invocation is not None:
            invocation.accepted = left.accepted
            self._invoked.append(left.inbound)
            await self._run(invocation, left.accepted)
            return
        told = Outbound(chat, f"{CUT_OFF} {left.inbound.text}", kind="notice")
        await self._settle(left.accepted, "dropped", told if chat.channel in self._channels else None)

    async def _keep_leases(self) -> None:
        while True:
            await trio.sleep(LEASE_S / 3)
            for session in [it for it in self.sessions.values() if it.busy]:
                try:
                    await session.renew_lease()
                except Exception:
                    log.exception("lease_not_renewed", session=session.key)
            self.resting.look()

    async def _lead(self, chat: Chat, outcome: Outcome) -> Outbound | None:
        """What a command leads to; the line for its chat, if there is one."""
        match outcome:
            case Outbound():
                return outcome
            case str():
                return Outbound(chat, outcome, kind="notice") if outcome else None
            case Prompt(inbound=inbound):
                await self._accept(Arrival(inbound, self.agent_of(inbound.chat).name, ""))
                return None
            case Compaction():
                offered = self.session(chat).jobs.offer(Job(outcome))
                return None if offered else Outbound(chat, BUSY, kind="notice")

    async def _beside(self, invocation: Invocation, accepted: Accepted) -> None:
        try:
            await self._run(invocation, accepted)
        except Exception:
            log.exception("command_failed", session=invocation.session, command=invocation.command.name)
        finally:
            self._running.end(invocation)

    # --- its own commands ---

    def _rows(self) -> tuple[Command, ...]:
        return (
            Command("stop", "end what runs here", self._stopped, effect="stop"),
            Command("new", "start a new conversation", self._renewed, effect="new"),
            Command("compact", "sum up the older part of the conversation", self._compacted),
            Command("help", "this text", self._helped),
        )

    async def _stopped(self, invocation: Invocation) -> Outcome:
        # The turn itself says that it stopped.
        return "" if self.stop(invocation.session) else "Nothing is running here."

    async def _renewed(self, invocation: Invocation) -> Outcome:
        accepted, key = invocation.accepted, invocation.session
        assert accepted is not None  # noqa: S101 - what is invoked has been stored
        self.agent_of(invocation.inbound.chat).approvals.forget(key)
        self.commands.forget(key)
        session = self.sessions.get(key)
        dropped = session.renew(accepted.conversation) if session else 0
        for message in accepted.meant:
            await self.journal.intake.settle(message, "dropped")
        return "A new conversation." + (f" Waiting messages dropped: {dropped}." if dropped else "")

    async def _compacted(self, invocation: Invocation) -> Outcome:
        await trio.lowlevel.checkpoint()
        return Compaction(invocation.inbound.chat)

    async def _helped(self, invocation: Invocation) -> Outcome:
        """What works in that chat."""
        chat = invocation.inbound.chat
        await trio.lowlevel.checkpoint()
        rows = (": ".join(it.row) for it in self.commands.listed(chat))
        return Outbound(chat, "\n".join(rows), kind="output")
