"""The public face: `async with Runtime(...) as runtime`, prompts as streams of events, and chats. Knows no wire."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Unpack, cast

import structlog
import trio

from hookgate.assembly.settings import Settings
from hookgate.config import ConfigError
from hookgate.embedding.above import Above, check_names, row, settled
from hookgate.embedding.conversation import Seat
from hookgate.embedding.conversations import Conversations
from hookgate.embedding.event_stream import Busy as Busy
from hookgate.embedding.event_stream import Events as Events
from hookgate.embedding.event_stream import Line
from hookgate.embedding.given import as_text
from hookgate.embedding.opening import open_conversations
from hookgate.embedding.surface import EventSurface
from hookgate.embedding.verbs import Verbs
from hookgate.hooks.children.supervise import RequiredHookFailed
from hookgate.loop.sessions.jobs import Jobs
from hookgate.protocol.approval import ApprovalRequest, CannotAsk, Decide, Decision
from hookgate.protocol.chat import Chat, called, own_chat
from hookgate.protocol.rpc.events import Event
from hookgate.sections import Config

log = structlog.get_logger("hookgate.embedding")

CHANNEL = "embedded"
NOBODY = "nobody can be asked in this program"
Approve = Callable[[ApprovalRequest], Awaitable[Decision]]


class _Opened:
    """An open runtime: a line for each of its conversations."""

    def __init__(
        self, settings: Settings, channel: str, ask: Callable[[ApprovalRequest, Decide], Awaitable[None]]
    ) -> None:
        self.conversations: Conversations
        self._settings, self._channel, self._ask = settings, channel, ask
        self._lines: dict[str, Line] = {}

    def line(self, chat: Chat) -> Line:
        conversation = self.conversations.of(chat)
        line = self._lines[chat.session_key]
        line.conversation = conversation
        return line

    def show(self, event: Event, chat: Chat | None) -> bool:
        """What concerns no chat is the runtime's own; whether there was room for it."""
        return self._kept(own_chat(self._channel) if chat is None else chat).show(event)

    def enter(self, chat: Chat) -> tuple[Seat, Jobs]:
        line = self._kept(chat)
        return Seat(chat, lambda event: line.queue.put(event), self._ask, lambda: line.queue.room()), line.jobs

    def _kept(self, chat: Chat) -> Line:
        """Something may be shown there before anybody has asked for it."""
        return self._lines.setdefault(chat.session_key, Line(self._settings))


class Runtime(Verbs):
    """One conversation with a model, its tools and its hooks, and others beside it, in chats.

    `config`: a Config, the path of a hookgate.toml, or None for the usual values. What is given by name stands above
    it: `provider`, `model`, `api_key`, `base_url`, `workspace`, `system`, `system_more`, `reasoning`, `max_steps`,
    `tools`; see Above. `approve` is asked where a call needs a person's yes; without it such calls are denied.

    Entering raises RequiredHookFailed, and ConfigError, also where a named extension does not come up; leaving ends
    what runs and stops every hook process.
    """

    def __init__(
        self,
        config: Config | Path | str | None = None,
        *,
        approve: Approve | None = None,
        channel: str = CHANNEL,
        **above: Unpack[Above],
    ) -> None:
        check_names(above)
        self._given, self._above = Path(config) if isinstance(config, str) else config, above
        self._approve, self._channel = approve, channel
        self._entered: AbstractAsyncContextManager[_Opened] | None = None
        self._open: _Opened | None = None

    async def __aenter__(self) -> Runtime:
        if self._entered is not None:
            raise RuntimeError("this runtime is open already: open another one beside it")
        if not trio.lowlevel.in_trio_run():
            raise RuntimeError(
                "a runtime runs on trio alone: `trio.run(main)`; elsewhere `hookgate rpc` is a child process"
            )
        self._entered = entered = self._opening(settled(self._given, **self._above))
        try:
            self._open = await self._entering(entered)
        except BaseException:
            self._entered = None
            raise
        return self

    @staticmethod
    async def _entering(entered: AbstractAsyncContextManager[_Opened]) -> _Opened:
        try:
            opened = await entered.__aenter__()
        except BaseExceptionGroup as group:
            raise _only(group) from None
        broken = opened.conversations.main.broken_extensions
        if broken:
            await entered.__aexit__(None, None, None)
            raise ConfigError(broken[0].text)
        return opened

    def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Awaitable[bool | None]:
        entered, self._entered, self._open = self._entered, None, None
        if entered is None:
            raise RuntimeError("this runtime is not open")
        return _left(entered, kind, error, trace)

    def chat(self, chat_id: str, *, chat_type: str = "", sender: str = "", thread: str = "") -> RuntimeChat:
        """A conversation of its own, as hooks, rules and routes match it, and the same again under the same `chat_id`
        and `thread`. `chat_type`: `direct`, `group` or `channel`. `sender`: who speaks, which is the program's word:
        for approvals, roles and files they are whoever the program is.

        Raises ValueError.
        """
        names = {"chat_id": chat_id, "chat_type": chat_type, "sender": sender, "thread": thread}
        given = {name: as_text(name, it) for name, it in names.items()}
        return RuntimeChat(self._line, called(own_chat(self._channel), **given))

    def _line(self, chat: Chat) -> Line:
        if self._open is None:
            raise RuntimeError("this runtime is not open: use `async with Runtime(...)`")
        return self._open.line(chat)

    @asynccontextmanager
    async def _opening(self, settings: Settings) -> AsyncGenerator[_Opened]:
        opened = _Opened(settings, self._channel, self._ask)
        opening = open_conversations(settings, self._channel, opened.enter, EventSurface(opened.show))
        async with opening as opened.conversations:
            self._note_strangers(settings)
            yield opened

    def _note_strangers(self, settings: Settings) -> None:
        """What `tools` names and nothing is called is most often mistyped."""
        if named := row(self._above.get("tools") or ()):
            from hookgate.assembly.preflight.naming import strange_tools

            for it in strange_tools(settings.config, named, (it.spec.name for it in settings.functions)):
                log.warning("configured_but_missing", reason=f"tools: {it}")

    async def _ask(self, request: ApprovalRequest, decide: Decide) -> None:
        if self._approve is None:
            raise CannotAsk(NOBODY)
        await decide(await self._approve(request))

    @property
    def _there(self) -> Line:
        return self._line(self._chat)

    @property
    def _chat(self) -> Chat:
        return own_chat(self._channel)


class RuntimeChat(Verbs):
    """One chat of a runtime, and who speaks in it; made by `Runtime.chat`. Two of one chat are one conversation."""

    def __init__(self, line: Callable[[Chat], Line], chat: Chat) -> None:
        self.chat_id, self.chat_type, self.sender, self.thread = (
            chat.chat_id,
            chat.chat_type,
            chat.sender,
            chat.thread,
        )
        self._line, self._at = line, chat

    @property
    def _there(self) -> Line:
        return self._line(self._at)

    @property
    def _chat(self) -> Chat:
        return self._at


async def _left(
    entered: AbstractAsyncContextManager[_Opened],
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
) -> bool | None:
    """Nothing but what the program itself has raised goes on as it is."""
    try:
        return await entered.__aexit__(kind, error, trace)
    except BaseExceptionGroup as group:
        if [*map(id, _leaves(group))] == [*map(id, _leaves(error))]:
            return False
        raise


def _leaves(error: BaseException | None) -> Iterator[BaseException]:
    """What went wrong, without the groups of the tasks that it ended on its way."""
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _leaves(inner)
    elif error is not None:
        yield error


def _only(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What is wrong with the configuration, without the groups of the tasks that it ended on its way."""
    inner = group.exceptions[0] if len(group.exceptions) == 1 else None
    match inner:
        case ConfigError() | RequiredHookFailed():
            return inner
        case BaseExceptionGroup():
            found = _only(inner)
            return found if isinstance(found, ConfigError | RequiredHookFailed) else group
        case _:
            return group
