"""Whole conversations past real hook processes, the example plugins among them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from hookgate.protocol.approval import Decision
from hookgate.protocol.events.payloads import GateDecision, HookFailed
from tests.flow.gateway import Flow, child, open_flow, plugin
from tests.loop.recording import is_valid
from tests.model_server import calls, hang, says

GUARD = plugin(
    "guard", 'intercept = ["before_tool"]\non_failure = "deny"\npriority = 10\nmatch = { tools = ["bash"] }'
)
APPROVE = plugin("approve", 'intercept = ["approve_tool"]\nmatch = { tools = ["bash"] }')
# hookgate's own redaction would leave the plugin nothing to do.
REDACT = "[guards]\nredaction = false\n" + plugin("redact", 'intercept = ["after_tool"]\non_failure = "deny"')
WEATHER = plugin("weather", 'intercept = ["before_llm", "before_tool"]\nmay_modify = ["tools"]\npriority = 20')
SECRET = "sk-abcdefghijklmnop0123456789"

LOOP = """
import json, os, sys, time
for line in sys.stdin:
    message = json.loads(line)
    method, answer = message["method"], {}
    if "id" not in message:
        continue
    params = message["params"]
    %s
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
"""


def bash(call_id: str, command: str) -> tuple[str, str, str]:
    return (call_id, "bash", json.dumps({"command": command}))


async def test_one_turn_past_guard_approve_redact_weather_and_audit_log(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    audit = plugin("audit_log", f'observe = ["*"]\nenv = {{ AUDIT_FILE = "{log}" }}')
    wanted = calls(
        ("1", "weather", '{"city": "Lisbon"}'),
        bash("2", "rm -rf /srv"),
        bash("3", "sudo reboot"),
        bash("4", f"echo {SECRET}"),
        bash("5", "touch made-by-a-person"),
        bash("6", "touch never"),
    )
    async with open_flow(tmp_path, GUARD + APPROVE + REDACT + WEATHER + audit, (wanted, says("Done."))) as flow:
        flow.room.answers = [Decision(True, "ann"), Decision(False, "ann", "not that one")]
        assert await flow.say("do it all") == ["Done."]
        weather, guarded, refused, redacted, granted, denied = flow.results()
        tally = flow.runtime.agent.tally
    assert weather.startswith("Lisbon: ")
    assert guarded == "Tool execution denied by hook: 'rm -rf /srv' is not allowed here"
    assert refused == "Tool execution denied by approval hook: commands run without sudo here"
    assert "[redacted]" in redacted
    assert SECRET not in redacted
    assert (tmp_path / "made-by-a-person").exists()
    assert granted
    assert denied == "Tool execution denied by approval: not that one"
    assert not (tmp_path / "never").exists()
    assert (tally.calls, tally.denied, tally.answered, tally.executed) == (6, 3, 1, 2)
    assert [request.call.arguments["command"] for request in flow.room.asked] == [
        "touch made-by-a-person",
        "touch never",
    ]
    assert "weather" in [tool["function"]["name"] for tool in flow.server.requests[0].body["tools"]]
    kinds = [json.loads(line)["kind"] for line in log.read_text().splitlines()]
    assert kinds.count("tool_exec_skipped") == 3
    assert (kinds.count("turn_start"), kinds.count("turn_end")) == (1, 1)
    # The secret was on its way to the model only; nothing that leaves shows it.
    sent = json.dumps([request.body for request in flow.server.requests[1:]])
    assert SECRET not in sent.replace(json.dumps(f"echo {SECRET}")[1:-1], "")


ABORTS = {
    "before_llm": ["user"],
    "after_llm": ["user"],
    "before_tool": ["user", "assistant", "tool"],
    "after_tool": ["user", "assistant", "tool"],
}


@pytest.mark.parametrize("stage", ABORTS)
async def test_a_process_may_abort_the_turn_at_every_stage(tmp_path: Path, stage: str) -> None:
    source = (
        LOOP % 'answer = {"action": "abort_turn", "reason": "enough"} if method != "hook.hello" else {"ok": True}'
    )
    config = child("quitter", tmp_path / "quitter.py", source, f'intercept = ["{stage}"]')
    async with open_flow(tmp_path, config, (calls(("1", "ls", "{}")), says("never"))) as flow:
        assert await flow.say("go") == [f"hook quitter aborted the turn at {stage}: enough"]
        assert [message.role for message in flow.messages] == ABORTS[stage]
        assert is_valid(flow.messages)


async def test_a_process_may_stop_the_conversation_and_take_the_turn_back(tmp_path: Path) -> None:
    source = LOOP % 'answer = {"action": "hard_abort", "reason": "stolen"} if "tool" in params else {}'
    config = child("alarm", tmp_path / "alarm.py", source, 'intercept = ["before_tool"]')
    async with open_flow(tmp_path, config, (says("hello"), calls(("1", "ls", "{}")), says("never"))) as flow:
        await flow.say("hi")
        assert await flow.say("go") == ["hook alarm stopped this conversation at before_tool: stolen"]
        assert [message.content for message in flow.messages] == ["hi", "hello"]


@pytest.mark.parametrize(
    ("policy", "told"), [("continue", "(empty"), ("deny", "Tool execution denied by hook: hook mortal failed at")]
)
async def test_a_process_that_dies_in_a_call_counts_as_its_policy_says(
    tmp_path: Path, policy: str, told: str
) -> None:
    source = LOOP % 'if method == "hook.before_tool": os._exit(3)'
    config = child("mortal", tmp_path / "mortal.py", source, f'intercept = ["before_tool"]\non_failure = "{policy}"')
    (tmp_path / "empty").mkdir()
    async with open_flow(tmp_path, config, (calls(("1", "ls", '{"path": "empty"}')), says("x"))) as flow:
        assert await flow.say("go") == ["x"]
        assert flow.results()[0].startswith(told)
        [failure] = [event.payload for event in flow.named("hook_failed")]
        assert isinstance(failure, HookFailed)
        assert (failure.hook, failure.policy) == ("mortal", policy)


async def test_stop_while_a_process_thinks_ends_the_turn_and_not_the_process(tmp_path: Path) -> None:
    source = LOOP % 'if params.get("model") == "p/m" and params["messages"][-1]["content"] == "go": continue'
    config = child("muser", tmp_path / "muser.py", source, 'intercept = ["before_llm"]\ntimeout_ms = 30000')
    async with open_flow(tmp_path, config, (says("later"),)) as flow:
        [muser] = flow.runtime.mounts.hooks
        pid = muser.pid
        async with trio.open_nursery() as nursery:
            nursery.start_soon(flow.say, "go")
            while not flow.named("turn_start"):
                await trio.lowlevel.checkpoint()
            await flow.say("/stop")
        assert flow.room.sent[-1].text == "Stopped."
        assert await flow.say("and now?") == ["later"]
        assert (muser.pid, muser.state) == (pid, "up")


async def test_stop_while_the_model_talks_closes_the_connection(tmp_path: Path) -> None:
    async with open_flow(tmp_path, "", (hang(says("I ", "was"), 2), says("later"))) as flow:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(flow.say, "go")
            await flow.server.arrived.wait()
            await flow.say("/stop")
        assert flow.room.sent[-1].text == "Stopped."
        assert await flow.say("and now?") == ["later"]
        while not flow.server.clients_gone:
            await trio.lowlevel.checkpoint()


async def test_every_hook_call_is_one_gate_decision(tmp_path: Path) -> None:
    async with open_flow(tmp_path, GUARD + REDACT, (calls(bash("1", "true")), says("x"))) as flow:
        await flow.say("go")
        decisions = [(it.hook, it.stage, it.action, it.tool) for it in _decisions(flow)]
    assert decisions == [("guard", "before_tool", "continue", "bash"), ("redact", "after_tool", "continue", "bash")]


def _decisions(flow: Flow) -> list[GateDecision]:
    return [event.payload for event in flow.named("gate_decision") if isinstance(event.payload, GateDecision)]
