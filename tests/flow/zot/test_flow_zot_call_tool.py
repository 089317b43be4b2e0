"""Extensions that call tools themselves: through the whole gate, for their chat, and never past a limit."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.hooks.rules import Mount
from hookgate.protocol.chat import Inbound
from hookgate.protocol.hook.answers import CONTINUE, Abort, Answer, Approve, Deny, Modify
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import ToolCall
from hookgate.protocol.zot.blocks import MAX_RESULT_BYTES
from tests.cli.program import DEADLINE_S, PLUGINS, none_left
from tests.cli.rpc_client import Frame, one, open_rpc, scripted, types
from tests.cli.zot.test_zot_gateway import asks as asked
from tests.cli.zot.test_zot_gateway import heard as told
from tests.cli.zot.test_zot_gateway import open_gateway
from tests.flow.zot.zot_rules import (
    DONE,
    HELLO,
    alone,
    answers,
    asks,
    command,
    heard,
    on,
    ruled,
    subscribe,
    text,
    tool,
    until_heard,
)
from tests.loop.recording import CHAT, hook
from tests.model_server import says
from tests.rpc.test_rpc import hooked

FREE = "[guards]\nshell = 'off'\n"
OPTED: Frame = {**HELLO, "capabilities": ["call_tool"]}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "zot"))


def wants(name: Any, args: Any, parent: str = "", call: str = "k1") -> Frame:
    return {"type": "call_tool", "id": call, "name": name, "args": args, "parent_id": parent}


def passed_on(call: str = "1") -> Frame:
    """A rule: once the tool that it called has a result, its own call is answered."""
    return on("tool_result", {"type": "tool_result", "id": call, "content": [text("passed on")]})


def caller(folder: Path, *wanted: Frame, name: str = "caller", first: tuple[Frame, ...] = ()) -> Path:
    """Its tool `outer` calls these, and answers when it has heard of the first."""
    rules = (on("tool_call", *wanted, name="outer"), {**passed_on(), "once": True})
    return ruled(folder, name, {**OPTED, "name": name}, tool("outer"), *first, rules=rules)


def answer(directory: Path, number: int = 0) -> tuple[bool, str]:
    """Whether a call that it made failed, and the text."""
    frame = heard(directory, "tool_result")[number]
    return frame.get("is_error", False), frame["content"][0]["text"]


def recorder(asked_of: list[str]) -> Mount:
    async def record(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        asked_of.append(f"{question.stage} {question.tool} {question.step.extension}".strip())
        return Approve() if question.stage is Stage.APPROVE_TOOL else CONTINUE

    stages = (Stage.BEFORE_TOOL, Stage.APPROVE_TOOL, Stage.AFTER_TOOL)
    return hook("recorder", dict.fromkeys(stages, record))


# --- what it may do -----------------------------------------------------------------------------------------


async def test_a_tool_that_calls_another_passes_every_stage_for_both_and_the_transcript_has_one(
    tmp_path: Path,
) -> None:
    stages: list[str] = []
    ext = caller(tmp_path, wants("write", {"path": "made", "content": "by an extension"}, "1"))
    said = (asked("outer"), says("Done."))
    async with open_gateway(tmp_path, [ext], *said, inside=[recorder(stages)]) as flow:
        assert await flow.say("go") == ["Done."]
        assert flow.results() == ["passed on"]
        tally = flow.runtime.agent.tally
        assert (tally.calls, tally.allowed, tally.executed) == (2, 2, 2)
    assert stages == [
        *("before_tool outer", "approve_tool outer"),
        *("before_tool write caller", "approve_tool write caller", "after_tool write caller"),
        "after_tool outer",
    ]
    assert (tmp_path / "made").read_text() == "by an extension"
    assert answer(ext) == (False, "by an extension")
    assert heard(ext, "hello_ack")[0]["capabilities"] == ["call_tool"]
    assert heard(ext, "tool_result")[0]["id"] == "k1"
    assert heard(ext, "tool_result")[0]["name"] == "write"


async def test_a_command_may_call_a_tool_of_its_chat(tmp_path: Path) -> None:
    said = {"type": "command_response", "id": "1", "action": "display", "display": "looked"}
    rules = (on("command_invoked", wants("ls", {})), on("tool_result", said))
    ext = ruled(tmp_path, "ext", OPTED, command("look"), rules=rules)
    (tmp_path / "here").touch()
    async with open_gateway(tmp_path, [ext]) as flow:
        assert await flow.say("/look") == ["[ext] looked"]
        assert flow.runtime.agent.tally.executed == 1
        assert not flow.runtime.gateway.sessions
    failed, listed = answer(ext)
    assert not failed
    assert "here" in listed.splitlines()


async def test_a_client_is_told_of_the_models_calls_alone_and_extensions_of_all(tmp_path: Path) -> None:
    events = ("tool_call", "tool_result", "permission_decision", "tool_confirmation_requested")
    watcher = ruled(tmp_path, "watcher", subscribe("tool_call", events=events))
    ext = caller(tmp_path, wants("bash", {"command": "echo mine"}, "1"))
    rule = '[[approvals]]\nname = "ask"\ntools = ["bash"]\n'
    folder = scripted(tmp_path, asks("outer"), DONE, more=rule)
    async with open_rpc(folder, *alone(watcher, ext), "--rpc-approvals") as client:
        await client.send("prompt", message="go")
        # Its outer call has a minute in all, so nobody is waited for meanwhile, however they might answer.
        frames = await client.done()
        assert "approval_request" not in types(frames)
        assert one(frames, "tool_result")["content"] == [{"type": "text", "text": "passed on"}]
        assert "tool_progress" not in types(frames)
        messages = (await client.ask("get_messages"))["data"]["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
        assert await client.ends() == 0
    told = [(it["event"], it["tool_name"], it.get("origin_extension", "")) for it in heard(watcher, "event")]
    mine = ("bash", "caller")
    assert told == [
        ("tool_call", "outer", ""),
        *((event, *mine) for event in ("tool_call", "tool_confirmation_requested", "permission_decision")),
        ("tool_result", *mine),
        ("tool_result", "outer", ""),
    ]
    asked_about = [(it["tool_name"], it.get("origin_extension", "")) for it in heard(watcher, "event_intercept")]
    assert asked_about == [("outer", ""), mine]
    failed, reason = answer(ext)
    assert failed
    assert "outer, which makes this call, runs meanwhile and cannot wait" in reason
    await none_left(tmp_path)


async def test_what_somebody_refuses_is_not_run_and_the_reason_is_its_result(tmp_path: Path) -> None:
    ext = caller(tmp_path, wants("write", {"path": "made", "content": "x"}, "1"))
    rule = '[[approvals]]\nname = "ask"\ntools = ["write"]\n'
    async with open_rpc(scripted(tmp_path, asks("outer"), DONE, more=rule), *alone(ext)) as client:
        await client.send("prompt", message="go")
        assert types(await client.done())[-1] == "done"
    failed, reason = answer(ext)
    assert failed
    assert "a person would have to be asked" in reason
    assert not (tmp_path / "made").exists()


async def test_a_hook_changes_and_denies_its_calls_like_any_others(tmp_path: Path) -> None:
    async def judge(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        assert isinstance(question.subject, ToolCall)
        match question.tool:
            case "write":
                return Modify({"arguments": {**question.subject.arguments, "content": "changed"}})
            case "bash":
                return Deny("not in this house")
            case _:
                return CONTINUE

    wanted = (
        wants("write", {"path": "made", "content": "x"}, "1"),
        wants("bash", {"command": "touch other"}, "1", "k2"),
    )
    rules = (
        on("tool_call", wanted[0], name="outer"),
        on("tool_result", wanted[1], id="k1"),
        {**passed_on(), "when": {"type": "tool_result", "id": "k2"}},
    )
    ext = ruled(tmp_path, "ext", OPTED, tool("outer"), rules=rules)
    guard = hook("guard", {Stage.BEFORE_TOOL: judge})
    async with open_gateway(tmp_path, [ext], asked("outer"), says("Done."), inside=[guard]) as flow:
        await flow.say("go")
        tally = flow.runtime.agent.tally
        assert (tally.calls, tally.denied, tally.executed) == (3, 1, 2)
    assert (tmp_path / "made").read_text() == "changed"
    assert answer(ext, 1) == (True, "Tool execution denied by hook: not in this house")


async def test_an_abort_at_its_call_ends_the_turn(tmp_path: Path) -> None:
    stop = hook("stop", {Stage.BEFORE_TOOL: lambda question: _aborting(question, "ls")})
    ext = caller(tmp_path, wants("ls", {}, "1"))
    async with open_gateway(tmp_path, [ext], asked("outer"), says("never"), inside=[stop]) as flow:
        assert await flow.say("go") == ["hook stop aborted the turn at before_tool: enough"]
        assert [message.role for message in flow.messages] == ["user", "assistant", "tool"]
    assert answer(ext) == (True, "hook stop aborted the turn at before_tool: enough")


async def test_a_hard_abort_at_a_commands_call_takes_the_turn_back_and_says_so_once(tmp_path: Path) -> None:
    said = {"type": "command_response", "id": "1", "action": "display", "display": "looked"}
    rules = (on("command_invoked", wants("ls", {})), on("tool_result", said))
    ext = ruled(tmp_path, "ext", OPTED, command("look"), rules=rules)
    stop = hook("stop", {Stage.BEFORE_TOOL: lambda question: _aborting(question, "ls", hard=True)})
    waits = asked("bash", command="touch began; sleep 60")
    async with open_gateway(tmp_path, [ext], waits, says("never"), inside=[stop], config=FREE) as flow:
        gateway = flow.runtime.gateway
        for text_ in ("first", "second"):
            await gateway.receive(Inbound(CHAT, text_))
        with trio.fail_after(DEADLINE_S):
            while not (tmp_path / "began").exists():
                await trio.sleep(0.02)
        assert await flow.say("/look") == [STOPPED]
        assert not flow.messages
        assert await flow.say("/look") == [STOPPED]


async def test_a_hard_abort_at_its_call_stops_what_a_client_has_asked_for_too(tmp_path: Path) -> None:
    stops = {"action": "hard_abort", "reason": "enough"}
    more = FREE + hooked(tmp_path, "before_tool", stops)
    program = (tmp_path / "hook.py").read_text()
    about_ls = f'({stops!r} if asked["params"].get("tool") == "ls" else {{"action": "continue"}})'
    (tmp_path / "hook.py").write_text(program.replace(repr(stops), about_ls))
    ext = caller(tmp_path, wants("ls", {}, "1"))
    async with open_rpc(scripted(tmp_path, asks("outer"), DONE, more=more), *alone(ext)) as client:
        for number in ("1", "2"):
            await client.send("prompt", id=number, message="go")
        await client.done()
        frames = await client.done()
        assert one(frames, "error")["message"] == "hook judge stopped this conversation at before_tool: enough"
        assert "assistant_message" not in types(frames)
        assert await client.ends() == 0


STOPPED = "hook stop stopped this conversation at before_tool: enough"


async def _aborting(question: Question, name: str, *, hard: bool = False) -> Answer:
    await trio.lowlevel.checkpoint()
    return Abort("enough", hard=hard) if question.tool == name else CONTINUE


SDK_EXTENSION = """
import asyncio

from hookgate_extension import Extension

ext = Extension("sdk", calls_tools=True)

@ext.tool("Reads.")
def outer(file: str) -> object:
    answer = ext.call_tool("read", {"path": file})
    return ext.fail(answer.text) if answer.is_error else answer.text.strip().upper()

@ext.tool("Reads twice.")
async def twice(file: str) -> object:
    asked = (asyncio.to_thread(ext.call_tool, "outer", {"file": file}) for _ in range(2))
    return " ".join(answer.text for answer in await asyncio.gather(*asked))

@ext.command("again")
def again(args: str) -> str:
    ext.submit_slash("/look")
    return ext.call_tool("nope").text

@ext.command("look")
def look(args: str) -> str:
    return ext.call_tool("twice", {"file": "notes"}).text

ext.run()
"""


async def test_with_the_python_library_a_call_is_a_line(tmp_path: Path) -> None:
    folder = tmp_path / "sdk"
    folder.mkdir()
    (folder / "ext.py").write_text(SDK_EXTENSION)
    (tmp_path / "notes").write_text("milk")
    env = f'[zot.extensions.sdk]\nenv = {{ PYTHONPATH = "{PLUGINS}" }}\n'
    manifest = {"name": "sdk", "exec": sys.executable, "args": ["ext.py"]}
    (folder / "extension.json").write_text(json.dumps(manifest))
    said = (asked("outer", file="notes"), asked("twice", file="notes"), asked("outer", file="none"), says("Done."))
    async with open_gateway(tmp_path, [folder], *said, config=env) as flow:
        await flow.say("go")
        read, twice, failed = flow.results()
        assert (read, twice) == ("MILK", "MILK MILK")
        assert "none" in failed
        # The two that `twice` makes at once run side by side, so one may have what the other reads.
        assert flow.runtime.agent.tally.executed + flow.runtime.agent.tally.cached == 9
        assert '[sdk] unknown tool "nope"' in await flow.say("/again")
        # The command that it submits comes in by itself, as a person's would.
        await told(flow, "[sdk] MILK MILK")


# --- what it may not ----------------------------------------------------------------------------------------


UNUSABLE = "call_tool requires a name and JSON object args"
REFUSED: tuple[tuple[Frame, str], ...] = (
    (wants("ls", {}), "parent_id is required while an extension tool is active"),
    (wants("ls", {}, "7"), "unknown or expired parent tool call"),
    (wants("outer", {}, "1"), "tool call cycle detected"),
    (wants("", {}, "1"), UNUSABLE),
    (wants("ls", "x", "1"), UNUSABLE),
    (wants("ls", None, "1"), UNUSABLE),
    (wants(7, {}, "1"), UNUSABLE),
    (wants("n" * 201, {}, "1"), "call_tool: the name is longer than 200 characters"),
    (wants("nope", {}, "1"), 'unknown tool "nope"'),
    (wants("read", {}, "1"), "path is required"),
)


async def test_a_call_that_cannot_be_made_is_answered_with_the_reason(tmp_path: Path) -> None:
    """One after the other, each when the one before it is answered."""
    ids = [f"k{number}" for number in range(len(REFUSED))]
    begin, *then = [{**wanted, "id": call} for call, (wanted, _) in zip(ids, REFUSED, strict=True)]
    rules = [on("tool_call", begin)]
    rules += [on("tool_result", wanted, id=call) for call, wanted in zip(ids, then, strict=False)]
    ext = ruled(tmp_path, "ext", OPTED, tool("outer"), rules=(*rules, passed_on()))
    async with open_gateway(tmp_path, [ext], asked("outer"), says("Done.")) as flow:
        assert await flow.say("go") == ["Done."]
        tally = flow.runtime.agent.tally
        assert (tally.calls, tally.executed) == (1, 1)
    frames = heard(ext, "tool_result")
    assert [(it["id"], it["is_error"]) for it in frames] == [(call, True) for call in ids]
    assert [it["content"][0]["text"] for it in frames] == [reason for _, reason in REFUSED]


async def test_who_has_not_opted_in_or_serves_nobody_calls_nothing(tmp_path: Path) -> None:
    rules = (on("tool_call", wants("ls", {}, "1")), passed_on())
    plain = ruled(tmp_path, "plain", tool("outer"), rules=rules)
    idle = ruled(tmp_path, "idle", OPTED, wants("ls", {}))
    async with open_gateway(tmp_path, [plain, idle], asked("outer"), says("Done.")) as flow:
        await flow.say("go")
        assert flow.runtime.agent.tally.executed == 1
        await until_heard(idle, "tool_result")
    assert answer(plain) == (True, "extension did not opt in to call_tool")
    assert "capabilities" not in heard(plain, "hello_ack")[0]
    failed, reason = answer(idle)
    assert failed
    assert reason.startswith("no chat is served: ")


async def test_tools_may_call_each_other_four_deep_over_extensions_and_never_in_a_circle(tmp_path: Path) -> None:
    """`t1` to `t4` in turn, by two extensions; the fifth is too deep, and the first is in the chain already."""
    a = _chained(tmp_path, "a", {"t1": "t2", "t3": "t4"})
    b = _chained(tmp_path, "b", {"t2": "t3", "t4": "t5", "t5": ""}, more=wants("t1", {}, "2", "k9"))
    async with open_gateway(tmp_path, [a, b], asked("t1"), says("Done.")) as flow:
        assert await flow.say("go") == ["Done."]
        assert flow.results() == ["t1 is done"]
        assert flow.runtime.agent.tally.executed == 4
    refused = {frame["id"]: frame["content"][0]["text"] for frame in heard(b, "tool_result") if frame.get("is_error")}
    assert refused == {"t4": "tool call depth limit reached", "k9": "tool call cycle detected"}
    fine = {frame["id"]: frame["content"][0]["text"] for frame in heard(a, "tool_result")}
    assert fine == {"t1": "t2 is done", "t3": "t4 is done"}


def _chained(folder: Path, name: str, calls: Mapping[str, str], more: Frame | None = None) -> Path:
    """Each tool calls the next one, under its own name, and is done when that is; the last also asks for `more`."""
    rules: list[Frame] = []
    for number, (mine, following) in enumerate(calls.items(), 1):
        extra = [more] if more is not None and number == 2 else []
        rules.append(on("tool_call", wants(following, {}, str(number), mine), *extra, name=mine))
        done = {"type": "tool_result", "id": str(number), "content": [text(f"{mine} is done")]}
        rules.append(on("tool_result", done, id=mine))
    first = ({**OPTED, "name": name}, *(tool(mine) for mine in calls))
    return ruled(folder, name, *first, rules=tuple(rules))


# --- how it ends --------------------------------------------------------------------------------------------


async def test_a_call_that_it_cancels_ends_and_is_answered_once(tmp_path: Path) -> None:
    slow = wants("bash", {"command": "touch begun; sleep 60"}, "1")
    ext = caller(tmp_path, slow, first=(command("enough"),))
    cancel = on("command_invoked", {"type": "call_tool_cancel", "id": "k1"}, answers_command(), name="enough")
    _add_rule(ext, cancel)
    async with open_rpc(scripted(tmp_path, asks("outer"), DONE, more=FREE), *alone(ext)) as client:
        await client.send("prompt", message="go")
        await client.until("tool_call")
        await _until_exists(tmp_path / "begun")
        await client.send("ext_command", name="enough")
        frames = await client.done()
        assert one(frames, "tool_result")["content"] == [{"type": "text", "text": "passed on"}]
        assert await client.ends() == 0
    assert heard(ext, "tool_result") == [
        {
            **{"type": "tool_result", "id": "k1", "name": "bash", "is_error": True},
            "content": [text("aborted: the extension cancelled it")],
        }
    ]
    await none_left(tmp_path)


async def test_what_it_called_ends_with_the_turn_and_with_the_call_that_it_was_for(tmp_path: Path) -> None:
    slow = wants("bash", {"command": "touch begun; sleep 60"}, "1")
    ext = caller(tmp_path, slow)
    rules = (on("tool_call", {**slow, "parent_id": "1"}, answers(text("gone ahead"))),)
    hasty = ruled(tmp_path, "hasty", {**OPTED, "name": "hasty"}, tool("hasty"), rules=rules)
    steps = (asks("outer"), asks("hasty"), DONE)
    async with open_rpc(scripted(tmp_path, *steps, more=FREE), *alone(ext, hasty)) as client:
        await client.send("prompt", message="go")
        await _until_exists(tmp_path / "begun")
        await client.send("abort")
        assert one(await client.done(), "tool_result")["is_error"]
        await client.send("prompt", message="again")
        assert one(await client.done(), "tool_result")["content"] == [text("gone ahead")]
        assert await client.ends() == 0
    assert answer(ext) == answer(hasty) == (True, "aborted: what it was called for has ended")
    await none_left(tmp_path)


async def test_a_result_that_is_too_long_is_cut_and_says_so(tmp_path: Path) -> None:
    # A picture cannot be cut, so it is left out; a text has been cut before, for the model's sake.
    (tmp_path / "big.png").write_bytes(b"\x89PNG" * (MAX_RESULT_BYTES // 4))
    ext = caller(tmp_path, wants("read", {"path": "big.png"}, "1"))
    async with open_gateway(tmp_path, [ext], asked("outer"), says("Done.")) as flow:
        await flow.say("go")
    (frame,) = heard(ext, "tool_result")
    assert frame["truncated"]
    assert [block["type"] for block in frame["content"]] == ["text"]


def answers_command() -> Frame:
    return {"type": "command_response", "id": "{id}", "action": "noop"}


def _add_rule(directory: Path, rule: Frame) -> None:
    manifest = json.loads((directory / "extension.json").read_text())
    manifest["args"][2] = json.dumps([rule, *json.loads(manifest["args"][2])])
    (directory / "extension.json").write_text(json.dumps(manifest))


async def _until_exists(path: Path) -> None:
    with trio.fail_after(DEADLINE_S):
        while not path.exists():  # noqa: ASYNC240 - one look at a local file
            await trio.sleep(0.01)
