"""A channel whose people may be connected to another gateway than where their turn runs: both show the same."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import trio

from hookgate.channels.live.items import Sent, Streamed, begins
from hookgate.channels.live.listening import Listener, Listening
from hookgate.channels.live.telling import Telling
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import ChannelLimits, ChannelState
from hookgate.protocol.events.event import Event
from hookgate.protocol.journal.cluster import Cluster


class Live:
    """`channels` by name. `hear` wants the events that `observed` names, and hands them to the channels."""

    def __init__(self, cluster: Cluster, listeners: Sequence[Listener]) -> None:
        self._listeners = tuple(listeners)
        self.observed = tuple({kind for it in listeners for kind in it.observed})
        self.telling = Telling(cluster, frozenset(it.name for it in listeners))
        self.listening = Listening(cluster, listeners)
        self.channels = {it.name: LiveChannel(it, self.telling) for it in listeners}

    def hear(self, event: Event) -> None:
        session = "" if event.step is None else event.step.session_key
        if begins(event):
            self.listening.end(session)
        for listener in self._listeners:
            if event.kind in listener.observed:
                listener.hear(event)
        if session:
            self.telling.tell(session, event)


class LiveChannel:
    """`here`: the one that whoever is connected to this gateway is shown things by."""

    def __init__(self, here: Listener, telling: Telling) -> None:
        self.name, self.here, self._telling = here.name, here, telling

    @property
    def limits(self) -> ChannelLimits:
        return self.here.limits

    @property
    def state(self) -> ChannelState:
        return self.here.state

    async def send(self, outbound: Outbound, key: str) -> str:
        receipt = await self.here.send(outbound, key)
        self._telling.tell(outbound.chat.session_key, Sent(outbound, key))
        return receipt

    def stream(self, chat: Chat, text: str) -> None:
        self.here.stream(chat, text)
        self._telling.tell(chat.session_key, Streamed(chat, text))

    def end_stream(self, chat: Chat) -> None:
        self.here.end_stream(chat)
        self._telling.tell(chat.session_key, Streamed(chat, "", "ended"))

    def restart_stream(self, chat: Chat) -> None:
        self.here.restart_stream(chat)
        self._telling.tell(chat.session_key, Streamed(chat, "", "void"))


@asynccontextmanager
async def open_live(cluster: Cluster, listeners: Sequence[Listener]) -> AsyncGenerator[Live]:
    live = Live(cluster, listeners)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(live.telling.run)
        nursery.start_soon(live.listening.run)
        yield live
        nursery.cancel_scope.cancel()
