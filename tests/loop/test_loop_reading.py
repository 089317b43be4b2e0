"""Reading long replies: in a process of its own where they are broken, with the same outcome."""

from __future__ import annotations

import json

import pytest
import trio

from hookgate.loop.calls.reply_calls import AT_ONCE_CHARS, asked, read_reply
from hookgate.protocol.values import LLMReply, LLMRequest, ProposedCall, ToolSpec

DEADLINE_S = 60.0
REQUEST = LLMRequest("p/m", (), (ToolSpec("write", "", {"type": "object"}),))
LONG = "x" * (2 * AT_ONCE_CHARS)


@pytest.mark.parametrize(
    ("content", "arguments"),
    [
        (LONG, None),
        ("", json.dumps({"content": LONG})),
        ("", f'{{"content": "{LONG}",}}'),
        ("", f'{{"content": "{LONG}'),
        ("", "{" * len(LONG)),
        (f'<tool_call>{{"name": "write", "arguments": {{"content": "{LONG}",}}}}</tool_call>', None),
    ],
)
async def test_a_long_reply_is_read_as_a_short_one_would_be(content: str, arguments: str | None) -> None:
    calls = (ProposedCall("c", "write", arguments),) if arguments is not None else ()
    reply = LLMReply("p/m", content, calls)
    with trio.fail_after(DEADLINE_S):
        assert await read_reply(reply, REQUEST, "all", 0) == asked(reply, REQUEST, "all", 0)


async def test_reading_can_be_cancelled() -> None:
    reply = LLMReply("p/m", "", (ProposedCall("c", "write", "{" * len(LONG)),))
    with trio.fail_after(DEADLINE_S):
        with trio.CancelScope() as scope:
            scope.cancel()
            await read_reply(reply, REQUEST, "all", 0)
        assert scope.cancelled_caught
