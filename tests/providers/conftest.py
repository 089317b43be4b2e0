"""What every provider test needs: a request to send and a list that catches what is streamed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hookgate.protocol.values import Json, LLMRequest, Message
from hookgate.protocol.values.delta import Delta


@pytest.fixture
def ask() -> Callable[..., LLMRequest]:
    """A request of one user message; options as keywords."""

    def make(text: str = "hi", **options: Json) -> LLMRequest:
        return LLMRequest("m-1", (Message("user", text),), options=options)

    return make


@pytest.fixture
def heard() -> list[Delta]:
    return []
