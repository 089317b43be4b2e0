"""Conversations of a running gateway: which there are, and ending what runs in one."""

from __future__ import annotations

from dataclasses import dataclass

from hookgate.loop.gateway import Gateway
from hookgate.operations.refused import OperationRefused


@dataclass(frozen=True)
class SessionStatus:
    """`waiting`: jobs behind the one that runs; `messages`: of the transcript."""

    key: str
    busy: bool
    waiting: int
    messages: int


async def list_sessions(gateway: Gateway) -> tuple[SessionStatus, ...]:
    sessions = gateway.sessions.values()
    return tuple(SessionStatus(s.key, s.busy, s.jobs.waiting, len(s.transcript)) for s in sessions)


async def stop_turn(gateway: Gateway, session: str) -> bool:
    """True when a turn was running there and now ends."""
    if session not in gateway.sessions:
        raise OperationRefused(f"there is no session {session!r}")
    return gateway.stop(session)
