"""One open session of an editor: a conversation in a folder, one prompt at a time. Opens nothing, knows no wire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import trio

from hookgate.acp.channel import NAME
from hookgate.acp.listing import titled
from hookgate.acp.looks import Looks
from hookgate.acp.narration import Narration, Scene
from hookgate.assembly.app import Runtime
from hookgate.embedding.metered import Ledger, Room, metered
from hookgate.loop.agent import Agent
from hookgate.loop.commands.table import Command as Row
from hookgate.protocol.acp.answers import Mode, StopReason
from hookgate.protocol.acp.updates import Command, Commands, Title, Update
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.journal.interfaces import Journal

MODE = "mode"
"""Under which the journal has the agent that answers."""


class Busy(Exception):
    """A prompt is being answered."""


@dataclass
class Prompt:
    """What a person has written; one of the two functions is told what has become of it. `waiting`: until it is at
    work."""

    text: str
    media: tuple[str, ...]
    answer: Callable[[StopReason], None]
    fail: Callable[[str], None]
    cancelled: bool = False
    waiting: trio.CancelScope = field(default_factory=trio.CancelScope)


@dataclass(frozen=True)
class Parts:
    """What a session is made of. `tell` takes an update and never waits; `room`, `full`: whether too much waits to be
    read already. `notes`: what a person has to know of how it was opened; `titled`: the editor knows its title."""

    runtime: Runtime
    journal: Journal
    looks: Looks
    tell: Callable[[Update], None]
    room: Room
    full: Callable[[], bool]
    notes: tuple[str, ...] = ()
    titled: bool = False


class EditorSession:
    """`run` answers prompts; everything else returns at once."""

    def __init__(self, chat: Chat, parts: Parts) -> None:
        self.chat = chat
        self._parts, self._gateway = parts, parts.runtime.gateway
        self._orders, self._inbox = trio.open_memory_channel[Prompt](1)
        self._prompt: Prompt | None = None
        self._told: Commands | None = None
        self._titled = parts.titled
        self._closing: list[Callable[[], None]] = []
        self._ledger = Ledger(parts.runtime.agent.known_model)
        # Before the gateway takes up what was left: that is answered by this agent too.
        self._session = self._gateway.session(chat)
        self._session.agent = self._measured(self._session.agent)
        scene = Scene(parts.looks, self._ledger, self._filled, parts.full)
        self.narration = Narration(chat.session_key, scene, parts.tell)

    # --- prompts ---

    def offer(self, prompt: Prompt) -> None:
        """It is the next to be answered. Raises Busy."""
        if self._prompt is not None:
            raise Busy("this session answers a prompt already: wait for its end, or cancel it")
        self._prompt = prompt
        self._orders.send_nowait(prompt)

    def cancel(self) -> None:
        """What runs ends, a question to the person included."""
        if self._prompt is not None:
            self._prompt.cancelled = True
            self._prompt.waiting.cancel()
        self.narration.quiet = True
        self._gateway.stop(self.chat.session_key)

    def close(self, closed: Callable[[], None]) -> None:
        """What runs ends, and then the session; `closed` is called when nothing of it is left."""
        self._closing.append(closed)
        self.cancel()
        self._orders.close()

    def closed(self) -> None:
        for tell in self._closing:
            tell()

    async def run(self) -> None:
        """Answer what comes, until it is closed."""
        self.tell_commands()
        for note in self._parts.notes:
            self.narration.sent(Outbound(self.chat, note, kind="notice"))
        async for prompt in self._inbox:
            try:
                reason = await self._answered(prompt)
            except StoreFailed as error:
                self.fail(str(error))
                continue
            self.tell_commands()
            self._prompt = None
            prompt.answer(reason)

    def fail(self, why: str) -> None:
        """Whoever waits for an answer is told why there is none."""
        prompt, self._prompt = self._prompt, None
        if prompt is not None:
            prompt.fail(why)

    async def _answered(self, prompt: Prompt) -> StopReason:
        gateway, key = self._gateway, self.chat.session_key
        inbound = Inbound(self.chat, prompt.text, prompt.media)
        invocation = gateway.commands.read(inbound)
        with prompt.waiting:
            # The model is to have every tool that there will be.
            await self._parts.runtime.tried()
            if invocation is None:
                # What a crash has cut off comes first, and is none of this prompt's.
                await gateway.idle(key)
        self.narration.begin()
        if prompt.cancelled:
            return "cancelled"
        if invocation is None:
            self._tell_title(prompt.text)
        await gateway.receive(inbound)
        if prompt.cancelled:
            self.cancel()
        await gateway.idle(key)
        return "cancelled" if prompt.cancelled else self.narration.stop_reason

    # --- what the editor shows of it ---

    def tell_commands(self) -> None:
        """Where they are others than it knows."""
        listed = Commands(tuple(map(_command, self._gateway.commands.listed(self.chat))))
        if listed != self._told:
            self._told = listed
            self._parts.tell(listed)

    def _filled(self) -> tuple[int, int]:
        """Tokens of the conversation, and of the window of the model that answers; 0: nobody knows it."""
        known = self._session.agent.known_model(self._session.agent.model)
        return self._session.transcript.tokens, 0 if known is None else known.context_window

    def _tell_title(self, text: str) -> None:
        if text.strip() and not self._titled:
            self._parts.tell(Title(titled(text)))
        self._titled = True

    # --- who answers ---

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The agents of the configuration."""
        agents = self._parts.runtime.agents
        return tuple(Mode(name, f"{name}, answered by {agents.named(name).model}") for name in agents.names)

    @property
    def mode(self) -> str:
        return self._session.agent.name

    async def set_mode(self, name: str) -> bool:
        """Another agent answers from the next prompt on, with a memory of its own. Whether there is such a one."""
        agents = self._parts.runtime.agents
        if name not in agents.names:
            return False
        self._gateway.exchange(self.chat, self._measured(agents.named(name)))
        await self._parts.journal.holds.keep_state(NAME, MODE, name)
        return True

    def _measured(self, agent: Agent) -> Agent:
        """It waits while the editor is far behind, and what it costs is counted."""
        return replace(agent, providers=metered(agent.providers, self._ledger, self._parts.room))


def _command(row: Row) -> Command:
    description = f"{row.help} ({row.extension})" if row.extension else row.help
    return Command(row.name, description, row.syntax or ("text" if row.takes else ""))
