"""What extensions change, refuse and are told in the whole program, and what of it people, hooks and clients see."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.program import none_left
from tests.cli.rpc_client import Frame, one, open_rpc, scripted, types
from tests.flow.zot.zot_rules import alone, asks, heard, on, passes, ruled, subscribe, tool, until_heard

PYTHON = Path(__file__).parents[3] / "plugins" / "python"
STRICT = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ASKED = '[[approvals]]\nname = "ask"\ntools = ["bash"]\n'


def results(frames: list[Frame]) -> list[str]:
    return [frame["content"][0]["text"] for frame in frames if frame["type"] == "tool_result"]


# --- tool_call ----------------------------------------------------------------------------------------------


async def test_the_example_guard_refuses_with_its_bare_reason_and_lets_the_rest_run(tmp_path: Path) -> None:
    steps = (asks("bash", command="rm -rf /tmp/nothing-here"), asks("bash", command="ls"))
    folder = scripted(tmp_path, *steps, more="[guards]\nshell = 'off'\n")
    async with open_rpc(folder, *alone(PYTHON / "extensions" / "guard"), env={"TMPDIR": str(tmp_path)}) as client:
        await client.send("prompt", message="go")
        refused, ran = results(await client.done())
        reason = r'guard refused: command matches the danger pattern "(?i)\\brm\\s+-rf\\b".'
        assert refused == f"{reason} Ask the user before running this."
        assert ran.startswith("$ ls\n\n")
        assert await client.ends() == 0
    log = [json.loads(line) for line in (tmp_path / "guard-extension.log").read_text().splitlines()]
    step = ["turn_start", "tool_call", "turn_end"]
    # What it refuses it writes down beside the events, which come one after the other.
    told = [entry["event"] for entry in log if entry["event"] != "refused"]
    assert told == ["session_start", *step, *step, "turn_start", "turn_end"]
    assert [entry["stop"] for entry in log if "stop" in entry] == ["tool_use", "tool_use", "end"]
    assert [entry["tool_id"] for entry in log if entry["event"] == "refused"] == ["c1"]


async def test_a_block_without_a_reason_has_one(tmp_path: Path) -> None:
    guard = ruled(tmp_path, "guard", subscribe("tool_call"), rules=(on("event_intercept", passes(block=True)),))
    async with open_rpc(scripted(tmp_path, asks("bash", command="ls")), *alone(guard)) as client:
        await client.send("prompt", message="go")
        assert results(await client.done()) == ["tool call refused by extension guard"]


async def test_changed_arguments_reach_the_approver_and_the_tool_and_nobody_else(tmp_path: Path) -> None:
    first = passes(modified_args={"command": "echo one"})
    second = passes(modified_args={"command": "echo two"})
    rules = (on("event_intercept", first),)
    a = ruled(tmp_path, "a", subscribe("tool_call"), rules=rules)
    b = ruled(tmp_path, "b", subscribe("tool_call"), rules=(on("event_intercept", second),))
    watcher = ruled(tmp_path, "watcher", subscribe(events=("tool_call", "tool_result", "permission_decision")))
    steps = (asks("bash", command="echo mine"),)
    async with open_rpc(scripted(tmp_path, *steps, more=ASKED), *alone(a, b, watcher), "--rpc-approvals") as client:
        await client.send("prompt", message="go")
        frames = await client.until("approval_request")
        assert frames[-1]["args"] == {"command": "echo two"}
        await client.send("approve", approval=frames[-1]["approval"], approved=True)
        frames += await client.done()
        assert one(frames, "tool_call")["args"] == {"command": "echo mine"}
        assert results(frames)[0].startswith("$ echo two\n\ntwo\n")
        messages = (await client.ask("get_messages"))["data"]["messages"]
        assert messages[1]["content"][0]["args"] == {"command": "echo mine"}
        assert await client.ends() == 0
    assert heard(b, "event_intercept")[0]["tool_args"] == {"command": "echo one"}
    proposed, decided, ended = heard(watcher, "event")
    assert (proposed["event"], proposed["tool_args"]) == ("tool_call", {"command": "echo mine"})
    assert (decided["event"], decided["decision"], decided["source"]) == ("permission_decision", "approved", "user")
    assert (ended["event"], ended["tool_args"]) == ("tool_result", {"command": "echo two"})
    assert (ended["status"], ended["executed"]) == ("completed", True)


@pytest.mark.parametrize("changed", [{"city": 7}, {"town": "Berlin"}])
async def test_changed_arguments_that_the_schema_refuses_are_not_run(tmp_path: Path, changed: Frame) -> None:
    guard = ruled(
        tmp_path, "guard", subscribe("tool_call"), rules=(on("event_intercept", passes(modified_args=changed)),)
    )
    weather = ruled(tmp_path, "weather", tool("weather", STRICT))
    async with open_rpc(scripted(tmp_path, asks("weather", city="Bonn")), *alone(guard, weather)) as client:
        await client.send("prompt", message="go")
        frames = await client.done()
        assert one(frames, "tool_result")["is_error"]
        assert await client.ends() == 0
    assert heard(weather, "tool_call") == []


@pytest.mark.parametrize("changed", ["rm -rf /", [1], ""])
async def test_changed_arguments_that_are_no_object_run_nothing(tmp_path: Path, changed: object) -> None:
    guard = ruled(
        tmp_path, "guard", subscribe("tool_call"), rules=(on("event_intercept", passes(modified_args=changed)),)
    )
    async with open_rpc(scripted(tmp_path, asks("bash", command="echo mine")), *alone(guard)) as client:
        await client.send("prompt", message="go")
        (told,) = results(await client.done())
        assert "hook zot:guard failed at before_tool: modified_args must be an object, not a" in told
        assert "mine" not in told
        assert await client.ends() == 0


async def test_every_proposed_call_is_told_and_an_unknown_tool_is_never_asked_about(tmp_path: Path) -> None:
    events = ("session_start", "turn_start", "assistant_message", "tool_call", "turn_end", "tool_result")
    block = on("event_intercept", passes(block=True, reason="no"), tool_name="bash")
    guard = ruled(tmp_path, "guard", subscribe("tool_call", events=events), rules=(block,))
    batch = {
        "text": "Both.",
        "calls": [asks("nope")["calls"][0], {**asks("bash", command="ls")["calls"][0], "id": "c2"}],
    }
    async with open_rpc(scripted(tmp_path, batch, {"text": "Done."}), *alone(guard)) as client:
        await client.send("prompt", message="go")
        said = results(await client.done())
        assert said == ['unknown tool "nope"', "no"]
        assert await client.ends() == 0
    assert [frame["tool_name"] for frame in heard(guard, "event_intercept")] == ["bash"]
    told = [(it["event"], it.get("tool_id", it.get("stop", it.get("step", "")))) for it in heard(guard, "event")]
    assert told == [
        *(
            ("session_start", ""),
            ("turn_start", 1),
            ("assistant_message", ""),
            ("tool_call", "c1"),
            ("tool_call", "c2"),
        ),
        *(("turn_end", "tool_use"), ("tool_result", "c1"), ("tool_result", "c2")),
        *(("turn_start", 2), ("assistant_message", ""), ("turn_end", "end")),
    ]
    ended = [it for it in heard(guard, "event") if it["event"] == "tool_result"]
    assert [it["executed"] for it in ended] == [False, False]
    assert [it["status"] for it in ended] == ["failed", "blocked"]
    assert ended[0]["result"]["content"] == [{"type": "text", "text": 'unknown tool "nope"'}]
    numbers = [it["sequence"] for it in heard(guard, "event")]
    assert numbers == sorted(set(numbers))


async def test_an_abort_while_a_guard_thinks_keeps_the_call_from_running(tmp_path: Path) -> None:
    guard = ruled(tmp_path, "guard", subscribe("tool_call"), rules=(on("event_intercept"),))
    made = asks("write", path="made.txt", content="x")
    async with open_rpc(scripted(tmp_path, made), *alone(guard)) as client:
        await client.send("prompt", message="go")
        await until_heard(guard, "event_intercept")
        await client.send("abort")
        assert types(await client.done())[-2:] == ["tool_result", "done"]
        assert not (tmp_path / "made.txt").exists()


# --- turn_start, assistant_message --------------------------------------------------------------------------


async def test_a_turn_can_be_blocked_at_its_second_model_call(tmp_path: Path) -> None:
    rule = on("event_intercept", passes(block=True, reason="enough"), event="turn_start", step=2)
    guard = ruled(tmp_path, "guard", subscribe("turn_start"), rules=(rule,))
    async with open_rpc(scripted(tmp_path, asks("ls", path=".")), *alone(guard)) as client:
        await client.send("prompt", message="go")
        frames = await client.done()
        assert types(frames)[-4:] == ["tool_result", "turn_start", "turn_end", "done"]
        assert "error" not in types(frames)
        ends = [(f["stop"], f.get("error")) for f in frames if f["type"] == "turn_end"]
        assert ends == [("tool_use", None), ("error", "enough")]
        assert (await client.ask("get_state"))["data"]["message_count"] == 3
        assert await client.ends() == 0
    assert [frame["step"] for frame in heard(guard, "event_intercept")] == [1, 2]


async def test_a_replaced_text_is_what_others_are_asked_about_and_told(tmp_path: Path) -> None:
    rule = on("event_intercept", passes(replace_text="The plan is secret."))
    first = ruled(tmp_path, "first", subscribe("assistant_message"), rules=(rule,))
    second = ruled(tmp_path, "second", subscribe("assistant_message", events=("assistant_message",)))
    async with open_rpc(scripted(tmp_path, {"text": "The plan is blue."}), *alone(first, second)) as client:
        await client.send("prompt", message="go")
        frames = await client.done()
        assert "blue" not in str(frames)
        assert one(frames, "assistant_message")["content"] == [{"type": "text", "text": "The plan is secret."}]
        assert one(frames, "assistant_message")["time"]
        assert await client.ends() == 0
    assert heard(second, "event_intercept")[0]["text"] == "The plan is secret."
    assert heard(second, "event")[0]["text"] == "The plan is secret."


async def test_a_message_of_calls_alone_is_not_asked_about(tmp_path: Path) -> None:
    guard = ruled(tmp_path, "guard", subscribe("assistant_message", events=("assistant_message",)))
    async with open_rpc(scripted(tmp_path, asks("ls", path="."), {"text": "Done."}), *alone(guard)) as client:
        await client.send("prompt", message="go")
        await client.done()
        assert await client.ends() == 0
    assert [frame["text"] for frame in heard(guard) if "text" in frame] == ["Done.", "Done."]


@pytest.mark.parametrize(("event", "between"), [("turn_start", "turn_end"), ("assistant_message", "assistant_start")])
async def test_a_silent_guard_that_fails_closed_ends_the_turn_or_withholds_the_reply(
    tmp_path: Path, event: str, between: str
) -> None:
    guard = ruled(tmp_path, "guard", subscribe(event), rules=(on("event_intercept"),))
    section = "[zot.extensions.guard]\nfail_closed = true\ntimeout_ms = 200\n"
    async with open_rpc(scripted(tmp_path, {"text": "The plan is blue."}, more=section), *alone(guard)) as client:
        await client.send("prompt", message="go")
        frames = await client.done()
        assert "blue" not in str(frames)
        assert between in types(frames)
        assert one(frames, "turn_end")["stop"] == ("error" if event == "turn_start" else "end")
        assert "guard" in str(frames)


async def test_a_guard_that_fails_closed_and_never_came_up_denies_every_call(tmp_path: Path) -> None:
    guard = ruled(tmp_path, "guard", subscribe("tool_call"), exec="./missing")
    section = "[zot.extensions.guard]\nfail_closed = true\n"
    async with open_rpc(scripted(tmp_path, asks("ls", path="."), more=section), *alone(guard)) as client:
        await client.send("prompt", message="go")
        ended = one(await client.done(), "tool_result")
        assert ended["is_error"]
        assert "guard" in ended["content"][0]["text"]


# --- before_agent_start -------------------------------------------------------------------------------------


async def test_a_system_prompt_is_asked_for_once_and_again_after_another_model_and_clear(tmp_path: Path) -> None:
    ext = ruled(tmp_path, "ext", subscribe("before_agent_start"))
    async with open_rpc(scripted(tmp_path), *alone(ext), "--system-prompt", "be kind") as client:
        for step in ("prompt", "prompt", "set_model", "prompt", "clear", "prompt"):
            if step == "prompt":
                await client.send("prompt", message="go")
                await client.done()
            else:
                assert (await client.ask(step, model="other"))["success"]
        assert await client.ends() == 0
    asked = heard(ext, "event_intercept")
    assert [(it["event"], it["model"], it["system_prompt"]) for it in asked] == [
        ("before_agent_start", model, "be kind") for model in ("m", "other", "other")
    ]
    assert asked[0]["cwd"] == str(tmp_path)


async def test_a_system_prompt_that_is_no_text_is_left_and_people_are_warned(tmp_path: Path) -> None:
    rule = on("event_intercept", passes(system_prompt=["be", "rude"]))
    ext = ruled(tmp_path, "ext", subscribe("before_agent_start"), rules=(rule,))
    async with open_rpc(scripted(tmp_path), *alone(ext)) as client:
        await client.send("prompt", message="go")
        frames = await client.done()
        warned = one(frames, "ext_notify")
        assert (warned["extension"], warned["level"]) == ("ext", "warn")
        assert warned["message"].startswith("before_agent_start: ")
        assert warned["message"].endswith("; keeping current system prompt")
        assert one(frames, "turn_end")["stop"] == "end"


# --- beside ordinary hooks ----------------------------------------------------------------------------------

HOOK = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    params, result = asked.get("params", {}), {"action": "continue"}
    match asked["method"]:
        case "hook.hello":
            result = {"ok": True}
        case "hook.approve_tool":
            result = {"approved": params["arguments"] == {"city": "Berlin"}}
        case "hook.after_tool":
            result = {"action": "modify", "result": {**params["result"], "for_llm": "checked"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


async def test_a_tool_of_an_extension_is_approved_and_looked_at_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "hook.py").write_text(HOOK)
    section = f'command = ["{sys.executable}", "{tmp_path}/hook.py"]\n'
    more = f'[hooks.processes.judge]\n{section}intercept = ["approve_tool", "after_tool"]\n'
    rewrite = on("event_intercept", passes(modified_args={"city": "Berlin"}), once=True)
    weather = ruled(tmp_path, "weather", tool("weather", STRICT), subscribe("tool_call"), rules=(rewrite,))
    steps = (asks("weather", city="Bonn"), asks("weather", city="Bonn"))
    async with open_rpc(scripted(tmp_path, *steps, more=more), *alone(weather)) as client:
        await client.send("prompt", message="go")
        allowed, refused = results(await client.done())
        assert allowed == "checked"
        assert refused == "Tool execution denied by approval hook"
        assert await client.ends() == 0
    assert [frame["args"] for frame in heard(weather, "tool_call")] == [{"city": "Berlin"}]
    await none_left(tmp_path)
