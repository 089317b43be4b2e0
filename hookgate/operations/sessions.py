"""Conversations of a running gateway: which there are, and ending what runs in one."""

from __future__ import annotations

from hookgate.assembly.app import Runtime
from hookgate.operations.methods import ControlError
from hookgate.protocol.values import Json


async def list_sessions(runtime: Runtime) -> Json:
    sessions = runtime.gateway.sessions.values()
    return [
        {"key": s.key, "busy": s.busy, "waiting": s.jobs.waiting, "messages": len(s.transcript)} for s in sessions
    ]


async def stop_turn(runtime: Runtime, session: str) -> Json:
    """True when a turn was running there and now ends."""
    if session not in runtime.gateway.sessions:
        raise ControlError(f"there is no session {session!r}")
    return runtime.gateway.stop(session)
