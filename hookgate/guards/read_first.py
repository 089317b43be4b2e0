"""A file that exists is changed only by who has seen it in this conversation: read before write."""

from __future__ import annotations

import os.path
import posixpath
from dataclasses import field
from functools import partial

import trio

from hookgate.guards.paths import are_pair, inside, written_path
from hookgate.guards.remembered import MAX_KEPT, Kept, SpecOf, advised, called, finished
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.answers import CONTINUE, Answer, Deny, Modify
from hookgate.protocol.hook.stages import Question
from hookgate.protocol.values import Finished, Step
from hookgate.protocol.values.effects import FileEffect

_LISTING = frozenset({"ls", "glob"})
_SEARCHING = frozenset({"grep", "glob", "find", "search"})
_CHANGES = frozenset({"modify", "append"})
_MAX_SEEN = 10_000


@dataclass
class _Session:
    """Paths by when they were last read or written; `blind`: what calls changed unread, to be said after them."""

    seen: dict[str, None] = field(default_factory=dict[str, None])
    searched: bool = False
    blind: dict[tuple[str, int, str], str] = field(default_factory=dict[tuple[str, int, str], str])


class ReadFirstGuard:
    """`root`: the workspace. Strict refuses; otherwise the call runs and its result says what was missing.

    Built-in tools are judged by what they are asked to do, all others by what they say, or were seen, to have done.
    """

    def __init__(self, root: str, strict: bool, spec_of: SpecOf) -> None:
        self._root = root
        self._strict = strict
        self._spec_of = spec_of
        self._sessions = Kept(_Session)

    async def before_tool(self, question: Question) -> Answer:
        call = called(question)
        path = written_path(call, self._spec_of)
        if path is None:
            return CONTINUE
        session, place = self._sessions.of(question.step.session_key), inside(path, self._root)
        if _known(session, place) or not await self._exists(place):
            return CONTINUE
        if self._strict:
            return Deny(f"{_unread(path)}. Read it, then change what you find.", kind="stale")
        if len(session.blind) >= MAX_KEPT:
            session.blind.clear()
        session.blind[_key(question.step, call.id)] = path
        return CONTINUE

    async def after_tool(self, question: Question) -> Answer:
        done, session = finished(question), self._sessions.of(question.step.session_key)
        blind = session.blind.pop(_key(question.step, done.call.id), None)
        # A write that failed changed nothing, so there is nothing to have read before.
        if done.result.is_error:
            return CONTINUE
        path = blind or self._changed_unread(session, done)
        self._note(session, done)
        if path is None:
            return CONTINUE
        advice = f"{_unread(path)}. Read it before you change it again."
        return Modify({"for_llm": advised(done.result.for_llm, advice)})

    def _changed_unread(self, session: _Session, done: Finished) -> str | None:
        """The file that a call names and that was there before the call changed it, if nobody has read it."""
        path = done.call.arguments.get("path")
        if not isinstance(path, str) or not path or written_path(done.call, self._spec_of) is not None:
            return None
        place = inside(path, self._root)
        files = (it for it in done.result.effects if isinstance(it, FileEffect) and it.op in _CHANGES)
        changed = any(inside(it.path, self._root) == place for it in files)
        return path if changed and not _known(session, place) else None

    def _note(self, session: _Session, done: Finished) -> None:
        call = done.call
        session.searched |= call.name in _SEARCHING
        path = call.arguments.get("path")
        if isinstance(path, str) and call.name not in _LISTING | _SEARCHING:
            _see(session, inside(path, self._root))
        for effect in done.result.effects:
            if isinstance(effect, FileEffect) and effect.op != "delete":
                _see(session, inside(effect.path, self._root))

    async def _exists(self, place: str) -> bool:
        """In a thread: a dead network disk never answers."""
        whole = posixpath.join(self._root, place)
        return await trio.to_thread.run_sync(partial(os.path.isfile, whole), abandon_on_cancel=True)


def _unread(path: str) -> str:
    return f"{path} exists, and this conversation has not read it"


def _known(session: _Session, place: str) -> bool:
    if place in session.seen or any(are_pair(place, other) for other in session.seen):
        return True
    folder = posixpath.dirname(place)
    return session.searched and any(posixpath.dirname(other) == folder for other in session.seen)


def _see(session: _Session, place: str) -> None:
    if len(session.seen) >= _MAX_SEEN:
        session.seen.pop(next(iter(session.seen)))
    session.seen[place] = None


def _key(step: Step, call_id: str) -> tuple[str, int, str]:
    return step.turn_id, step.iteration, call_id
