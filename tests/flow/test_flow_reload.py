"""Reloads from a hook to an approval rule and back, while calls come: none runs that neither of them has approved."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from hypothesis import settings as profile

from hookgate import config as configuration
from hookgate.assembly.app import Runtime, open_runtime
from hookgate.assembly.settings import Ports, Settings
from hookgate.control.client import call
from hookgate.control.opening import open_gateway_control
from hookgate.protocol.approval import ApprovalRequest, Decide, Decision
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.values import LLMReply, LLMRequest, ProposedCall
from tests.flow.gateway import child
from tests.flow.tools.tooling import Made
from tests.loop.recording import Room

DEADLINE_S = 300.0
# `make fuzz` has the long form.
RELOADS, CALLS = (40, 2000) if profile.default.max_examples > 100 else (12, 500)
CALLS_A_TURN = 20
HEAD = """
[agent]
model = "p/m"
workspace = "{folder}"
[providers.p]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
[guards]
loop = "off"
"""
RULE = '[[approvals]]\ntools = ["act"]\n'
APPROVER = """
import json, os, sys
seen = os.open("approved", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] != "hook.hello":
        os.write(seen, b"%d\\n" % message["params"]["arguments"]["n"])
    result = {"hook.hello": {"ok": True}, "hook.approve_tool": {"approved": True}}.get(message["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


class Busy:
    """A model that wants calls, each with a number of its own, after whatever a person says."""

    def __init__(self) -> None:
        self.asked = 0

    async def complete(self, request: LLMRequest, on_text: Callable[[str], None]) -> LLMReply:
        await trio.lowlevel.checkpoint()
        if request.messages[-1].role == "tool":
            return LLMReply("m", "done")
        first, self.asked = self.asked, self.asked + CALLS_A_TURN
        wanted = (ProposedCall(f"c{n}", "act", json.dumps({"n": n})) for n in range(first, self.asked))
        return LLMReply("m", "", tuple(wanted), "tool_calls")


class Yes(Room):
    """A person who says yes at once."""

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        self.asked.append(request)
        await trio.lowlevel.checkpoint()
        await decide(Decision(True, "test"))


@pytest.mark.hypothesis
@pytest.mark.parametrize("stage", [Stage.APPROVE_TOOL, Stage.BEFORE_TOOL])
async def test_no_reload_between_a_hook_and_a_rule_lets_a_call_through_that_nobody_approved(
    tmp_path: Path, stage: Stage
) -> None:
    head = HEAD.format(folder=tmp_path)
    asks = f'intercept = ["{stage}"]\non_failure = "deny"\ndir = "."\nmatch = {{ tools = ["act"] }}'
    policies = (head + child("approver", tmp_path / "approver.py", APPROVER, asks), head + RULE)
    file, socket, room, tool = tmp_path / "hookgate.toml", tmp_path / "control.sock", Yes([]), Made("act")
    file.write_text(policies[0])
    settings = Settings(configuration.load(file)[0], tmp_path, file, functions=(tool,))
    ports = Ports((room,), providers={"p": Busy()})
    with trio.fail_after(DEADLINE_S):
        async with open_runtime(settings, ports) as runtime, open_gateway_control(runtime, socket):
            over = trio.Event()
            async with trio.open_nursery() as nursery:
                for number in range(4):
                    nursery.start_soon(_talk, runtime, Chat("test", str(number), sender="ann"), over)
                done = 0
                while done < RELOADS or len(tool.seen) < CALLS:
                    done += 1
                    file.write_text(policies[done % 2])
                    await trio.to_thread.run_sync(call, socket, "hooks.reload")
                over.set()
    by_hook = set(map(int, (tmp_path / "approved").read_text().split()))
    by_person = {request.call.arguments["n"] for request in room.asked}
    ran = [seen.arguments["n"] for seen in tool.seen]
    assert [n for n in ran if n not in by_hook | by_person] == []
    assert len(ran) >= CALLS
    # Otherwise only one of the two has been tried.
    assert by_hook
    assert by_person


async def _talk(runtime: Runtime, chat: Chat, over: trio.Event) -> None:
    while not over.is_set():
        await runtime.gateway.receive(Inbound(chat, "go on"))
        await runtime.gateway.idle(chat.session_key)
        await runtime.gateway.receive(Inbound(chat, "/new"))
        await runtime.gateway.idle(chat.session_key)


async def test_a_reload_that_fails_leaves_hooks_and_rules_as_they_were(tmp_path: Path) -> None:
    head = HEAD.format(folder=tmp_path)
    bad = child("new", tmp_path / "new.py", "raise SystemExit(3)", 'intercept = ["approve_tool"]')
    good = child("approver", tmp_path / "approver.py", APPROVER, 'intercept = ["approve_tool"]')
    file, socket = tmp_path / "hookgate.toml", tmp_path / "control.sock"
    file.write_text(head + good + RULE.replace("act", "bash"))
    settings = Settings(configuration.load(file)[0], tmp_path, file)
    ports = Ports((Yes([]),), providers={"p": Busy()})
    with trio.fail_after(DEADLINE_S):
        async with open_runtime(settings, ports) as runtime, open_gateway_control(runtime, socket):
            before = (runtime.gate.mounts, runtime.agent.approvals.rules)
            file.write_text(head + bad)
            with pytest.raises(Exception, match="nothing was changed: hook new: it exited with status 3"):
                await trio.to_thread.run_sync(call, socket, "hooks.reload")
            assert (runtime.gate.mounts, runtime.agent.approvals.rules) == before
            file.write_text(head + good + RULE.replace("act", "bsah"))
            with pytest.raises(Exception, match=r"nothing was changed: .*'bsah' covers no built-in tool"):
                await trio.to_thread.run_sync(call, socket, "hooks.reload")
            assert (runtime.gate.mounts, runtime.agent.approvals.rules) == before
