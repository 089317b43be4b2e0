"""Whose turn runs: the key of the session that a tool works for. Knows no session, only its name."""

from __future__ import annotations

from contextvars import ContextVar

session: ContextVar[str] = ContextVar("session", default="")
"""Set round a turn, inherited by every task that the turn starts; empty outside one."""
