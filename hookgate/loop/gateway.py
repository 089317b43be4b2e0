"""Where messages of all channels come in: commands act at once, the rest goes to its conversation's queue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import structlog
import trio

from hookgate.loop.agent import Agent
from hookgate.loop.extensions.commands import Commands, Invocation
from hookgate.loop.jobs import Compaction, Job, Jobs, Prompt
from hookgate.protocol.errors import SessionAborted
from hookgate.protocol.interfaces import Channel
from hookgate.protocol.values import Chat, Inbound, Outbound

if TYPE_CHECKING:
    from hookgate.loop.session import Session

log = structlog.get_logger("hookgate.loop")

BUSY = "I am still busy here and the queue is full. Please send this again later."


Router = Callable[[Chat], Agent]
"""Which agent serves a chat that has no session yet."""


class Gateway:
    """`channels` by name; `commands`: those beside its own. A session lives as long as the gateway; it costs a task
    only while it has work."""

    def __init__(self, router: Router, channels: Mapping[str, Channel], commands: Commands | None = None) -> None:
        self.sessions: dict[str, Session] = {}
        self._router = router
        self._channels = channels
        self._commands = commands
        # What waits here is bounded by the queues of the sessions, and by the commands that people type.
        self._work, self._inbox = trio.open_memory_channel[Callable[[], Awaitable[None]]](inf)

    async def receive(self, inbound: Inbound) -> None:
        """Take a message in: returns once it is queued, answered as a command, or refused."""
        command = self._command(inbound)
        if command is not None:
            await self._reply(inbound.chat, command)
            return
        if self._commands and (invocation := self._commands.read(inbound)):
            self._begin(self._commands, invocation)
        elif inbound.text.strip().lower() == "/compact":
            await self._queue(Job(Compaction(inbound.chat)))
        else:
            await self.submit(inbound)

    async def submit(self, inbound: Inbound) -> None:
        """Take a message in that is none of a person's: no command, whatever it says."""
        await self._queue(Job(Prompt(inbound)))

    def session(self, chat: Chat, jobs: Jobs | None = None) -> Session:
        """The conversation there, begun where there is none yet; `jobs` is then its queue, with what waits in it."""
        key = chat.session_key
        if key not in self.sessions:
            # All that a turn is made with comes with the first message: nobody waits for it at the prompt.
            from hookgate.loop.session import Session

            session = Session(self._router(chat), self._channels[chat.channel], key, jobs)
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

    def channel_of(self, chat: Chat) -> Channel:
        return self._channels[chat.channel]

    async def idle(self, session_key: str) -> None:
        """Until this conversation has answered everything."""
        if self._commands:
            await self._commands.idle(session_key)
        session = self.sessions.get(session_key)
        if session is not None:
            await session.jobs.idle()

    def stop(self, session_key: str) -> bool:
        """End the running turn and the running commands of a conversation; False when there are none."""
        session = self.sessions.get(session_key)
        ended = self._commands is not None and self._commands.stop(session_key)
        return (session is not None and session.stop()) or ended

    async def abort(self, chat: Chat, error: SessionAborted) -> None:
        """A hook stops all that runs and waits in a conversation; people read why, once."""
        session = self.sessions.get(chat.session_key)
        try:
            if session is None or not session.abort(error):
                text = self.agent_of(chat).around.redactor.text(str(error))
                await self.channel_of(chat).send(Outbound(chat, text, kind="error"))
        finally:
            if self._commands:
                self._commands.stop(chat.session_key, quietly=True)

    def tell(self, provider: str, text: str) -> None:
        """A report for the model, in every conversation that uses this provider's tools."""
        for session in self.sessions.values():
            session.tell(provider, text)

    async def run(self) -> None:
        """Work until cancelled. Conversations run side by side."""
        try:
            async with trio.open_nursery() as nursery:
                async for work in self._inbox:
                    nursery.start_soon(work)
        finally:
            for session in self.sessions.values():
                session.jobs.drop()
                session.close("shutdown")

    async def _queue(self, job: Job) -> None:
        if self.session(job.work.chat).jobs.offer(job):
            await trio.lowlevel.checkpoint()
        else:
            await self._reply(job.work.chat, BUSY)

    def _begin(self, commands: Commands, invocation: Invocation) -> None:
        commands.begin(invocation)
        self._work.send_nowait(partial(self._invoke, commands, invocation))

    async def _invoke(self, commands: Commands, invocation: Invocation) -> None:
        try:
            prompt = await commands.run(invocation)
            if prompt is not None:
                await self.submit(prompt)
        except Exception:
            log.exception("command_failed", session=invocation.session, command=invocation.command.name)
        finally:
            commands.end(invocation)

    def _command(self, inbound: Inbound) -> str | None:
        """What a command answers (empty: nothing to say); None for a message that is none."""
        key = inbound.chat.session_key
        match inbound.text.strip().lower():
            case "/stop":
                # The turn itself says that it stopped.
                return "" if self.stop(key) else "Nothing is running here."
            case "/new":
                return self._renewed(inbound.chat)
            case _:
                return None

    def _renewed(self, chat: Chat) -> str:
        key = chat.session_key
        self.agent_of(chat).desk.forget(key)
        if self._commands:
            self._commands.forget(key)
        session = self.sessions.get(key)
        dropped = session.renew() if session else 0
        return "A new conversation." + (f" Waiting messages dropped: {dropped}." if dropped else "")

    async def _reply(self, chat: Chat, text: str) -> None:
        if text:
            await self._channels[chat.channel].send(Outbound(chat, text, kind="notice"))
