"""Stage calls that are kept for whoever fetches them: bounded, forgotten when nobody does, free when nobody asked."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import trio

from hookgate.hooks import recordings
from hookgate.hooks.gate import Gate
from hookgate.hooks.recordings import NoRecording, TooManyRecordings
from hookgate.protocol.events.payloads import StageCall
from hookgate.protocol.hook.answers import Deny, Modify
from hookgate.protocol.hook.stages import Question, Stage
from tests.hooks.doubles import CALL, STEP, Asked, hook


def gate_of() -> Gate:
    gate = Gate()
    said = Asked().saying("guard", lambda it: Deny("no") if "rm" in str(it.subject) else Modify({"name": "bash"}))
    gate.mount([hook("guard", said)])
    return gate


async def test_calls_are_kept_from_the_beginning_to_the_end_whatever_is_mounted_meanwhile() -> None:
    gate = gate_of()
    await gate.before_tool(STEP, CALL)
    assert not gate.events.heard(StageCall)
    name = gate.recordings.begin()
    await gate.before_tool(STEP, CALL)
    gate.mount(gate.mounts)
    await gate.before_tool(STEP, replace(CALL, arguments={"command": "rm"}))
    kept = [json.loads(line)["payload"] for line in (await gate.recordings.fetch(name, 0)).lines]
    assert [it["answer"] for it in kept] == [
        {"action": "modify", "changes": {"tool": "bash"}},
        {"action": "deny_tool", "reason": "no"},
    ]
    assert kept[0]["params"] == json.loads(Question(Stage.BEFORE_TOOL, STEP, CALL).params)
    gate.recordings.end(name)
    assert not gate.events.heard(StageCall)
    with pytest.raises(NoRecording):
        await gate.recordings.fetch(name, 0)


async def test_what_finds_no_room_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = gate_of()
    name = gate.recordings.begin()
    await gate.before_tool(STEP, CALL)
    monkeypatch.setattr(recordings, "MOST_BYTES", 1000)
    for _ in range(3):
        await gate.before_tool(STEP, CALL)
    fetched = await gate.recordings.fetch(name, 0)
    assert (len(fetched.lines), fetched.missed) == (1, 3)
    await gate.before_tool(STEP, CALL)
    assert len((await gate.recordings.fetch(name, 0)).lines) == 1


async def test_whoever_waits_is_woken_by_the_next_call(autojump_clock: trio.testing.MockClock) -> None:
    gate = gate_of()
    name = gate.recordings.begin()
    async with trio.open_nursery() as nursery:

        async def fetch() -> None:
            assert len((await gate.recordings.fetch(name, 20)).lines) == 1

        nursery.start_soon(fetch)
        await trio.sleep(3)
        await gate.before_tool(STEP, CALL)


async def test_a_recording_that_nobody_fetches_ends_and_there_are_only_so_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = gate_of()
    for _ in range(recordings.MOST):
        gate.recordings.begin()
    with pytest.raises(TooManyRecordings):
        gate.recordings.begin()
    monkeypatch.setattr(recordings, "IDLE_S", -1.0)
    await gate.before_tool(STEP, CALL)
    assert not gate.events.heard(StageCall)
