"""What the editor's requests lead to: answered at once, or by the session that they are for. Owns no pipe.

It answers `initialize` before anything that a session needs is imported.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

import structlog
import trio

from hookgate import __version__
from hookgate.acp.prompts import read_prompt
from hookgate.acp.questions import Questions
from hookgate.assembly.settings import Settings
from hookgate.protocol.acp import answers, requests, wire
from hookgate.protocol.acp.requests import BadParams, read_params
from hookgate.protocol.acp.updates import Update, update_members
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.framing import MAX_MESSAGE_BYTES, Oversize

if TYPE_CHECKING:
    from hookgate.acp.session import EditorSession
    from hookgate.embedding.metered import Room

log = structlog.get_logger("hookgate.acp")

MAX_SESSIONS = 32
MAX_WORK = 256
FIRST = "initialize comes first"
OTHER_VERSION = "the editor speaks version {} of the protocol, hookgate speaks {}: it has to speak that, or to leave"


class RequestRefused(Exception):
    """The text is the answer's; `code` as JSON-RPC has it."""

    def __init__(self, why: str, code: int = wire.INVALID_PARAMS) -> None:
        super().__init__(why)
        self.code = code


@dataclass(frozen=True)
class Out:
    """The way to the editor. `write` takes a whole frame and never waits; `say`: a line for whoever reads stderr."""

    write: Callable[[bytes], None]
    room: Room
    full: Callable[[], bool]
    say: Callable[[str], None]


class Server:
    def __init__(self, settings: Settings, out: Out) -> None:
        self._settings, self._out = settings, out
        self._questions = Questions(out.write)
        # None: it is being opened.
        self._sessions: dict[str, EditorSession | None] = {}
        self._initialized = False
        self._work, self._inbox = trio.open_memory_channel[Callable[[], Awaitable[None]]](MAX_WORK)

    async def run(self) -> None:
        """Do what takes longer than an answer, until cancelled."""
        await trio.to_thread.run_sync(import_module, "hookgate.acp.opening", abandon_on_cancel=True)
        async with trio.open_nursery() as nursery:
            async for work in self._inbox:
                nursery.start_soon(work)

    # --- in ---

    def take(self, line: bytes | Oversize) -> bool:
        """One line of the editor's; more are always wanted."""
        if isinstance(line, Oversize):
            why = f"a line of {line.size} bytes, and {MAX_MESSAGE_BYTES} are taken"
            self._out.write(wire.error_line(None, wire.INVALID_REQUEST, why))
            return True
        match wire.read_line(line):
            case wire.Fault(id=id_, code=code, why=why):
                self._out.write(wire.error_line(id_, code, why))
            case wire.Answer() as answer:
                self._questions.take(answer)
            case wire.Notice(method=requests.CANCEL, params=params):
                self._cancel(params)
            case wire.Notice(method=method):
                log.debug("notification_ignored", method=method[:100])
            case wire.Call() as call:
                self._call(call)
        return True

    def _cancel(self, params: wire.JsonObject) -> None:
        try:
            session = self._sessions.get(read_params(requests.CancelSession, params).session_id)
        except BadParams as error:
            log.warning("cancel_unread", reason=str(error))
            return
        if session is not None:
            session.cancel()

    def _call(self, call: wire.Call) -> None:
        try:
            shape = requests.METHODS.get(call.method)
            if shape is None:
                raise RequestRefused(f"there is no method {call.method[:100]!r} here", wire.METHOD_NOT_FOUND)
            self._do(call, read_params(shape, call.params))
        except (RequestRefused, BadParams) as error:
            self._refuse(call, error)
        except trio.WouldBlock:
            self._refuse(call, RequestRefused("too much waits already", wire.INTERNAL_ERROR))

    def _refuse(self, call: wire.Call, error: RequestRefused | BadParams) -> None:
        code = error.code if isinstance(error, RequestRefused) else wire.INVALID_PARAMS
        self._out.write(wire.error_line(call.id, code, str(error)))

    def _answer(self, call: wire.Call, result: object) -> None:
        self._out.write(wire.result_line(call.id, result))

    def _do(self, call: wire.Call, request: requests.Request) -> None:
        """Raises RequestRefused, BadParams and WouldBlock."""
        if isinstance(request, requests.Initialize):
            self._initialize(call, request)
            return
        if not self._initialized:
            raise RequestRefused(FIRST, wire.INVALID_REQUEST)
        match request:
            case requests.Authenticate():
                raise RequestRefused(
                    f"there is no way to authenticate {request.method_id[:100]!r}, and nobody has to"
                )
            case requests.NewSession() | requests.LoadSession() | requests.ResumeSession():
                self._open(call, request)
            case requests.ListSessions():
                self._work.send_nowait(partial(self._list, call, request))
            case requests.PromptSession():
                self._prompt(call, request)
            case requests.SetMode():
                session = self._session(request.session_id)
                self._work.send_nowait(partial(self._set_mode, call, session, request.mode_id))
            case requests.DeleteSession():
                if request.session_id in self._sessions:
                    raise RequestRefused(f"the session {request.session_id[:100]!r} is open: close it first")
                self._work.send_nowait(partial(self._delete, call, request.session_id))
            case requests.CloseSession():
                self._session(request.session_id).close(partial(self._answer, call, {}))

    def _initialize(self, call: wire.Call, request: requests.Initialize) -> None:
        if self._initialized:
            raise RequestRefused("it is initialized already", wire.INVALID_REQUEST)
        self._initialized = True
        editor = request.client_info
        if editor is not None:
            log.info("editor", name=editor.name[:100], version=editor.version[:100])
        if request.protocol_version != answers.VERSION:
            self._out.say(OTHER_VERSION.format(request.protocol_version, answers.VERSION))
        self._answer(call, answers.initialized(__version__))

    def _session(self, name: str) -> EditorSession:
        """Raises RequestRefused."""
        session = self._sessions.get(name)
        if session is None:
            raise RequestRefused(f"no session {name[:100]!r} is open", wire.NOT_FOUND)
        return session

    def _prompt(self, call: wire.Call, request: requests.PromptSession) -> None:
        from hookgate.acp.session import Busy, Prompt

        session, (text, media) = self._session(request.session_id), read_prompt(request.prompt)

        def answered(reason: answers.StopReason) -> None:
            self._answer(call, {"stopReason": reason})

        def failed(why: str) -> None:
            self._refuse(call, RequestRefused(why, wire.INTERNAL_ERROR))

        try:
            session.offer(Prompt(text, media, answered, failed))
        except Busy as error:
            raise RequestRefused(str(error), wire.INVALID_REQUEST) from None

    async def _set_mode(self, call: wire.Call, session: EditorSession, name: str) -> None:
        if await session.set_mode(name):
            self._answer(call, {})
        else:
            self._refuse(call, RequestRefused(f"there is no mode {name[:100]!r} here"))

    # --- sessions ---

    def _open(
        self, call: wire.Call, request: requests.NewSession | requests.LoadSession | requests.ResumeSession
    ) -> None:
        """Raises RequestRefused and WouldBlock."""
        name = token_hex(8) if isinstance(request, requests.NewSession) else request.session_id
        if name in self._sessions:
            raise RequestRefused(f"the session {name[:100]!r} is open already")
        if len(self._sessions) >= MAX_SESSIONS:
            raise RequestRefused(f"{MAX_SESSIONS} sessions are open already: close one", wire.INTERNAL_ERROR)
        if request.additional_directories:
            raise RequestRefused("additionalDirectories: a session has one folder here")
        folder = Path(request.cwd)
        if not folder.is_absolute() or not folder.is_dir():
            raise RequestRefused(f"cwd: {request.cwd!r} is no absolute path of a folder")
        self._work.send_nowait(partial(self._opened, call, name, folder, request))
        self._sessions[name] = None

    async def _opened(
        self,
        call: wire.Call,
        name: str,
        folder: Path,
        request: requests.NewSession | requests.LoadSession | requests.ResumeSession,
    ) -> None:
        """From its first process to its last. What ends it before its time ends no other one."""
        from hookgate.acp.opening import Editor, Opening, open_session

        kept = not isinstance(request, requests.NewSession)
        opening = Opening(name, folder, request.mcp_servers, kept, isinstance(request, requests.LoadSession))
        editor = Editor(self._tell, self._questions, self._out.room, self._out.full)
        session: EditorSession | None = None
        try:
            async with open_session(self._settings, opening, editor) as session:
                self._sessions[name] = session
                self._answer(call, answers.opened(session.modes, session.mode, "" if kept else name))
                await session.run()
        except Exception as error:
            why = _refused(error)
            if session is None:
                self._refuse(call, why)
            else:
                session.fail(str(why))
        finally:
            del self._sessions[name]
        if session is not None:
            session.closed()

    def _tell(self, session: str, update: Update) -> None:
        params = {"sessionId": session, "update": update_members(update)}
        self._out.write(wire.notice_line(answers.UPDATE, params))

    async def _delete(self, call: wire.Call, name: str) -> None:
        from hookgate.acp.opening import forget_session

        try:
            await forget_session(self._settings.config, name)
        except Exception as error:
            self._refuse(call, _refused(error))
        else:
            self._answer(call, {})

    async def _list(self, call: wire.Call, request: requests.ListSessions) -> None:
        from hookgate.acp.listing import kept_sessions

        cursor = request.cursor or "0"
        if not cursor.isdecimal() or len(cursor) > 9:
            self._refuse(call, RequestRefused("cursor: none of those that were given"))
            return
        look = partial(kept_sessions, self._settings.config, request.cwd, int(cursor))
        rows, more = await trio.to_thread.run_sync(look)
        self._answer(call, answers.listed(rows, str(more) if more else ""))


def _refused(error: Exception) -> RequestRefused:
    from hookgate.acp.opening import NoSession
    from hookgate.program.endings import ending

    if isinstance(error, NoSession):
        return RequestRefused(str(error), wire.NOT_FOUND)
    plain = ending(error)
    if plain is None:
        log.exception("session_crashed", exc_info=error)
        return RequestRefused("something went wrong inside hookgate; its log says what", wire.INTERNAL_ERROR)
    return RequestRefused(plain[0].removeprefix("hookgate: "), wire.INTERNAL_ERROR)
