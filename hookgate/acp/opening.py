"""Opening a session: hooks, tools and servers in its folder, its journal, and whoever is told what happens there."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from hookgate.acp.channel import NAME, EditorChannel, EditorSurface
from hookgate.acp.looks import Looks
from hookgate.acp.narration import HEARS
from hookgate.acp.permissions import Permissions
from hookgate.acp.questions import Questions
from hookgate.acp.replay import replayed, stored
from hookgate.acp.servers import with_servers
from hookgate.acp.session import MODE, EditorSession, Parts
from hookgate.assembly.app import open_runtime
from hookgate.assembly.journals import (
    StoredConversation,
    conversation_file,
    drop_unused,
    kept_conversation,
    open_conversation_journal,
    open_kept_journal,
)
from hookgate.assembly.logs.sinks import observer
from hookgate.assembly.settings import KeptConversation, Ports, Settings
from hookgate.config import ConfigError
from hookgate.embedding.metered import Room
from hookgate.operations.extensions import extension_notes, extension_problems
from hookgate.protocol.acp.requests import Server
from hookgate.protocol.acp.updates import Update
from hookgate.protocol.approval import ApprovalRequest, Decide
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.events.event import Event
from hookgate.sections import Config
from hookgate.sections.gateway import RouteSection
from hookgate.tools.files.workspace import Workspace

SENDER = "user"


class NoSession(Exception):
    """There is none of this name."""


@dataclass(frozen=True)
class Opening:
    """`id` names the session, `folder` is its workspace. `kept`: it was begun before; `replay`: the editor is told
    what was said."""

    id: str
    folder: Path
    servers: tuple[Server, ...] = ()
    kept: bool = False
    replay: bool = False


@dataclass(frozen=True)
class Editor:
    """Whoever is at the other end. `tell` takes an update of a session and never waits; `full`: much waits to be read
    already."""

    tell: Callable[[str, Update], None]
    questions: Questions
    room: Room
    full: Callable[[], bool]


@asynccontextmanager
async def open_session(settings: Settings, opening: Opening, editor: Editor) -> AsyncGenerator[EditorSession]:
    """Everything started, nothing asked yet but what a crash had cut off. Raises NoSession, ConfigError, StoreFailed
    and what a required hook or server raises."""
    settings, left_out = _in_folder(settings, opening)
    if opening.kept:
        await trio.to_thread.run_sync(_check, settings, opening)
    chat = Chat(NAME, opening.id, sender=SENDER)
    async with (
        _dropping_unused(settings, opening),
        open_conversation_journal(settings.config, NAME, KeptConversation(opening.id)) as journal,
    ):
        assert journal is not None  # noqa: S101 - one is named
        settings = _answered_by(settings, await journal.holds.state(NAME, MODE))
        past = await stored(journal, chat.session_key) if opening.replay else ()
        desk = _Desk(opening.id, editor)
        watching = observer(NAME, tuple(kind.kind for kind in HEARS), desk.hear)
        surfaces = {NAME: EditorSurface(desk.channel)}
        async with open_runtime(settings, Ports((desk.channel,), surfaces, (watching,), journal=journal)) as runtime:
            # Nothing is waited for from here on: what a crash has left is taken up once somebody hears of it.
            around, keeping = runtime.agent.around, runtime.tools.keeping
            looks = Looks(Workspace(settings.workspace, keeping, keeping.hidden), around.redactor)
            for update in replayed(past, looks, around.redactor):
                desk.tell(update)
            extensions = (*extension_problems(runtime), *extension_notes(runtime))
            notes = (*left_out, *extensions, *runtime.text_problems())
            parts = Parts(runtime, journal, looks, desk.tell, editor.room, editor.full, notes, opening.kept)
            session = EditorSession(chat, parts)
            desk.permissions = Permissions(opening.id, editor.questions, session.narration, looks, desk.tell)
            desk.channel.narration = session.narration
            yield session


class _Desk:
    """What of a session the loop is given before there is one."""

    def __init__(self, session: str, editor: Editor) -> None:
        self.channel = EditorChannel(self._ask)
        self.permissions: Permissions | None = None
        self._session, self._editor = session, editor

    def tell(self, update: Update) -> None:
        self._editor.tell(self._session, update)

    def hear(self, event: Event) -> None:
        if self.channel.narration is not None:
            self.channel.narration.hear(event)

    async def _ask(self, request: ApprovalRequest, decide: Decide) -> None:
        assert self.permissions is not None  # noqa: S101 - nothing is asked before it is open
        await self.permissions.ask(request, decide)


async def forget_session(config: Config, name: str) -> None:
    """What was said is gone; that calls were made and allowed stays in the signed record. Raises NoSession, and
    StoreFailed: StoreBusy where it is open in another hookgate."""
    kept = await trio.to_thread.run_sync(_kept, config, name)
    if kept is None or not kept.title:
        raise NoSession(f"there is no session {name!r}")
    async with open_kept_journal(config, conversation_file(config, NAME, name)) as journal:
        for row in await journal.books.sessions():
            await journal.books.forget(row.conversation)


@asynccontextmanager
async def _dropping_unused(settings: Settings, opening: Opening) -> AsyncGenerator[None]:
    """Editors open sessions before anybody has something to say."""
    try:
        yield
    finally:
        if not opening.kept:
            with trio.CancelScope(shield=True):
                file = conversation_file(settings.config, NAME, opening.id)
                await trio.to_thread.run_sync(drop_unused, file)


def _in_folder(settings: Settings, opening: Opening) -> tuple[Settings, tuple[str, ...]]:
    """Whose workspace is this folder, with the editor's servers; and a line for each server that is left out."""
    config, left_out = with_servers(settings.config, opening.folder, opening.servers)
    agent = config.agent.model_copy(update={"workspace": str(opening.folder)})
    return replace(settings, config=config.model_copy(update={"agent": agent})), left_out


def _answered_by(settings: Settings, name: str) -> Settings:
    """By the agent that was chosen last, if there still is one of that name."""
    config = settings.config
    if name != config.agent.name and name not in config.agents:
        return settings
    route = RouteSection(channels=(NAME,), agent=name)
    return replace(settings, config=config.model_copy(update={"routes": (route, *config.routes)}))


def _check(settings: Settings, opening: Opening) -> None:
    """Raises NoSession."""
    kept = _kept(settings.config, opening.id)
    if kept is None:
        raise NoSession(f"there is no session {opening.id!r}")
    if kept.workspace != str(settings.workspace):
        raise NoSession(f"the session {opening.id!r} belongs to {kept.workspace}, not to {settings.workspace}")


def _kept(config: Config, name: str) -> StoredConversation | None:
    try:
        return kept_conversation(conversation_file(config, NAME, name), NAME)
    except ConfigError:
        return None
