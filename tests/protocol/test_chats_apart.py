"""A chat as what others keep something by."""

from __future__ import annotations

import pytest

from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import replace


@pytest.mark.parametrize("differs", ["chat_id", "sender", "thread"])
def test_chats_that_differ_in_one_thing_are_told_apart_without_comparing_them(differs: str) -> None:
    chats = [replace(Chat("api", "bench", "bench", thread="t"), **{differs: str(number)}) for number in range(100)]
    assert len({hash(it) for it in chats}) == 100
