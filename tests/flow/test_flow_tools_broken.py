"""Chats, people and endpoints that break while a call is under way: it is refused or told of, the turn goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.flow.tooling import Made, endings, open_rig
from tests.model_server import DROPPED, Answer, calls, chunk, cut, events, hang, says

ONE = calls(("1", "work", '{"a": 1}'))


PARTS = events(
    chunk({"tool_calls": [{"index": 0, "id": "1", "function": {"name": "work", "arguments": ""}}]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"path": "/home/u'}}]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": '/build"}'}}]}),
    chunk({}, "tool_calls"),
)


def ended(answer: Answer, after: int) -> Answer:
    """The stream ends in good order, but too early."""
    return Answer(answer.pieces[:after])


@pytest.mark.parametrize("after", [1, 2])
@pytest.mark.parametrize("how", [cut, ended], ids=["cut", "ended"])
async def test_a_reply_that_breaks_off_in_a_call_runs_nothing(tmp_path: Path, how: Any, after: int) -> None:
    tool = Made("work")
    async with open_rig(tmp_path, (*[how(PARTS, after)] * 3, says("x")), tools=(tool,)) as rig:
        await rig.say("go")
        assert tool.seen == []


async def test_a_reply_that_breaks_off_and_comes_again_runs_its_call_once(tmp_path: Path) -> None:
    tool = Made("work")
    async with open_rig(tmp_path, (cut(PARTS, 2), DROPPED, PARTS, says("x")), tools=(tool,)) as rig:
        assert await rig.say("go") == ["x"]
        assert [call.arguments for call in tool.seen] == [{"path": "/home/u/build"}]
        assert endings(rig) == {"1": (1, 1, 0)}


async def test_a_call_that_is_stopped_while_it_is_written_never_runs(tmp_path: Path) -> None:
    tool = Made("work")
    async with open_rig(tmp_path, (hang(PARTS, 3), says("later")), tools=(tool,)) as rig:
        import trio

        async with trio.open_nursery() as nursery:
            nursery.start_soon(rig.say, "go")
            await rig.server.arrived.wait()
            await rig.say("/stop")
        assert await rig.say("and now?") == ["later"]
        assert tool.seen == []
