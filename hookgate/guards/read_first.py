"""A file that exists is changed only by who has seen it in this conversation: read before write."""

from __future__ import annotations

import os.path
import posixpath
from dataclasses import dataclass, field
from functools import partial

import trio

from hookgate.guards.kept import MAX_KEPT, Kept, SpecOf, advised, called, finished
from hookgate.guards.paths import are_pair, changed_path, inside
from hookgate.protocol.answers import CONTINUE, Answer, Deny, Modify
from hookgate.protocol.effects import FileEffect
from hookgate.protocol.stages import Question
from hookgate.protocol.values import Finished, Step

_LISTING = frozenset({"ls", "glob"})
_SEARCHING = frozenset({"grep", "glob", "find", "search"})
_MAX_SEEN = 10_000


@dataclass
class _Session:
    """Paths by when they were last read or written; `blind`: calls that are to be told so after they ran."""

    seen: dict[str, None] = field(default_factory=dict[str, None])
    searched: bool = False
    blind: dict[tuple[str, int, str], str] = field(default_factory=dict[tuple[str, int, str], str])


class ReadFirstGuard:
    """`root`: the workspace. Strict refuses; otherwise the call runs and its result says what was missing."""

    def __init__(self, root: str, strict: bool, spec_of: SpecOf) -> None:
        self._root = root
        self._strict = strict
        self._spec_of = spec_of
        self._sessions = Kept(_Session)

    async def before_tool(self, question: Question) -> Answer:
        call = called(question)
        path = changed_path(call, self._spec_of)
        if path is None:
            return CONTINUE
        session, place = self._sessions.of(question.step.session_key), inside(path, self._root)
        if _known(session, place) or not await self._exists(place):
            return CONTINUE
        reason = f"{path} exists, and this conversation has not read it"
        if self._strict:
            return Deny(f"{reason}. Read it, then change what you find.", kind="stale")
        if len(session.blind) >= MAX_KEPT:
            session.blind.clear()
        session.blind[_key(question.step, call.id)] = f"{reason}. Read it before you change it again."
        return CONTINUE

    async def after_tool(self, question: Question) -> Answer:
        done, session = finished(question), self._sessions.of(question.step.session_key)
        if not done.result.is_error:
            self._note(session, done)
        advice = session.blind.pop(_key(question.step, done.call.id), None)
        # A write that failed changed nothing, so there is nothing to have read before.
        if advice is None or done.result.is_error:
            return CONTINUE
        return Modify({"for_llm": advised(done.result.for_llm, advice)})

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
