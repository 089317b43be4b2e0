"""How far tasks that agents hand on may go."""

from __future__ import annotations

from hookgate.protocol.dataclasses import dataclass


@dataclass(frozen=True)
class TaskLimits:
    """`depth`: how many tasks may lead to each other; `per_turn`: how many one message may lead to; `at_once`: of one
    turn; `timeout_s`: of each, without the time in which a person is waited for."""

    depth: int = 2
    per_turn: int = 20
    at_once: int = 4
    timeout_s: float = 1800.0
