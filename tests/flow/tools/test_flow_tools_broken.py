"""Chats, people and endpoints that break while a call is under way: it is refused or told of, the turn goes on."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.protocol.approval import ApprovalRequest, Decide
from hookgate.protocol.hook.answers import Deny
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.values import LLMRequest, Message
from hookgate.providers.openai.provider import open_openai
from tests.flow.tools.tooling import Made, endings, open_rig
from tests.loop.recording import Room, hook
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


async def test_a_chat_that_cannot_be_told_of_a_denial_does_not_end_the_turn(tmp_path: Path) -> None:
    room = Room([])
    room.broken = {"notice"}
    denies = hook("guard", {Stage.BEFORE_TOOL: Deny("no")})
    async with open_rig(
        tmp_path, (ONE, says("x")), tools=(Made("work"),), hooks=(denies,), room=room, agent="show_denials = true"
    ) as rig:
        assert await rig.say("go") == []
        assert rig.results() == ["Tool execution denied by hook: no"]
        room.broken.clear()
        while len(room.sent) < 2:
            await trio.sleep(0.01)
        assert [it.text for it in room.sent] == ["work: Tool execution denied by hook: no", "x"]


class Deaf(Room):
    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        self.asked.append(request)
        raise OSError("the chat is gone")


async def test_a_person_who_cannot_be_asked_is_a_no_and_the_turn_goes_on(tmp_path: Path) -> None:
    tool, rule = Made("work"), '[[approvals]]\ntools = ["work"]\n'
    async with open_rig(tmp_path, (ONE, says("x")), rule, tools=(tool,), room=Deaf([])) as rig:
        assert await rig.say("go") == ["x"]
        assert tool.seen == []
        assert rig.results()[0].startswith("Tool execution denied by approval")


async def test_a_request_that_is_cancelled_while_it_is_sent_leaves_nothing_behind() -> None:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    request = LLMRequest("m", (Message("user", "x" * 32 * 1024 * 1024),))
    async with open_openai(f"http://127.0.0.1:{port}/v1", "key") as provider:
        with trio.fail_after(10):
            async with trio.open_nursery() as nursery:
                # Connected by the system, read by nobody: the body cannot be sent to its end.
                with trio.move_on_after(0.5):
                    await provider.complete(request, lambda _text: None)
                nursery.cancel_scope.cancel()
    await listeners[0].aclose()
    gc.collect()
    await trio.lowlevel.checkpoint()
