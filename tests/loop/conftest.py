"""A bench for each test; at the end every tool call must be accounted for and every transcript valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.loop.recording import Bench, is_valid


@pytest.fixture
def bench() -> Iterator[Callable[..., Bench]]:
    """Makes a bench; any number of them."""
    made: list[Bench] = []

    def make(*steps: Any, **parts: Any) -> Bench:
        made.append(Bench(*steps, **parts))
        return made[-1]

    yield make
    for one in made:
        assert one.agent.tally.balanced, one.agent.tally
        for session in one.gateway.sessions.values():
            assert is_valid(session.transcript.messages)
