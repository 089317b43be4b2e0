"""Events in their two envelopes, and how loud each kind is."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.events import payloads as p
from hookgate.protocol.events.event import Event
from hookgate.protocol.values import Step

LINES = (Path(__file__).parents[1] / "golden" / "requests.jsonl").read_text().splitlines()
GOLDEN: dict[str, dict[str, Any]] = {json.loads(line)["method"]: json.loads(line)["params"] for line in LINES}

CHAT = Chat("telegram", "-42", sender="501", chat_type="group", thread="7")
STEP = Step("main", "main-turn-3", Inbound(CHAT, "x", message_id="88"))
END = p.ToolExecEnd("bash", 18_000_000, 18, 0, False, False, "call_1")
TIME_NS = 1_781_429_400_250_000_000
"""2026-06-14T09:30:00.25Z."""


def test_the_page_envelope_is_the_golden_line_with_the_call_id_added() -> None:
    found = json.loads(Event(END, STEP, 41, TIME_NS).hook_event + b"}")
    assert found["Payload"].pop("ToolCallID") == "call_1"
    assert found == GOLDEN["hook.event"]


def test_the_runtime_envelope_is_the_golden_line_with_the_call_id_added() -> None:
    found = json.loads(Event(END, STEP, 41, TIME_NS).runtime_event + b"}")
    assert found["payload"].pop("ToolCallID") == "call_1"
    assert found == GOLDEN["hook.runtime_event"]


def test_an_event_of_the_gateway_itself_belongs_to_no_turn() -> None:
    event = Event(p.HookState("guard", "up", pid=7), None, 1, TIME_NS)
    assert json.loads(event.hook_event + b"}")["Meta"] == {}
    runtime = json.loads(event.runtime_event + b"}")
    assert (runtime["kind"], runtime["source"]) == ("hookgate.hook_state", {"component": "gateway"})
    assert (runtime["scope"], runtime["correlation"], runtime["attrs"]) == ({}, {}, {})


def test_a_child_turn_names_its_parent() -> None:
    step = Step("main", "t2", Inbound(CHAT, "x"), parent_turn_id="t1")
    found = json.loads(Event(END, step, 1, 0).runtime_event + b"}")
    assert found["correlation"] == {"trace_id": "runTurn", "parent_turn_id": "t1"}
    assert found["time"] == "1970-01-01T00:00:00.000000Z"


def test_members_that_are_none_are_left_out_of_a_payload() -> None:
    assert p.HookState("h", "up").wire() == {"hook": "h", "state": "up", "restarts": 0}


def test_a_record_is_one_line() -> None:
    record = Event(p.TurnStart("two\nlines", 0), STEP, 1, TIME_NS).record
    assert record.count(b"\n") == 1
    assert list(json.loads(record)) == ["kind", "time", "meta", "payload"]


@pytest.mark.parametrize(
    ("payload", "severity"),
    [
        (p.TurnStart("x", 0), "info"),
        (p.TurnEnd("completed", 1, 1, 1), "info"),
        (p.TurnEnd("aborted", 1, 1, 1), "warn"),
        (p.TurnEnd("error", 1, 1, 1), "error"),
        (p.TurnEnd("step_limit", 1, 1, 1), "info"),
        (p.LlmRetry(1, 2, "timeout", "e", 1), "warn"),
        (p.ToolExecEnd("t", 1, 1, 1, False, False, "c"), "info"),
        (p.ToolExecEnd("t", 1, 1, 1, True, False, "c"), "warn"),
        (p.ToolExecSkipped("t", "r", "c"), "warn"),
        (p.ErrorEvent("llm", "m"), "error"),
        (p.HookFailed("h", "before_llm", "r", "continue"), "error"),
        (p.HookState("h", "up"), "info"),
        (p.HookState("h", "restarting"), "warn"),
        (p.HookState("h", "quarantined"), "error"),
        (p.ApprovalDecided("A1", "t", True, "me", "d"), "info"),
        (p.ApprovalDecided("A1", "t", False, "me", "d"), "warn"),
    ],
)
def test_severity_follows_the_kind_and_what_it_says(payload: p.Payload, severity: str) -> None:
    assert json.loads(Event(payload, STEP, 1, 0).runtime_event + b"}")["severity"] == severity


def test_every_kind_has_one_name_in_each_spelling() -> None:
    assert len({payload.kind for payload in p.PAYLOADS}) == len(p.PAYLOADS)
    assert len({payload.runtime for payload in p.PAYLOADS}) == len(p.PAYLOADS)


@pytest.mark.parametrize("payload", p.PAYLOADS)
def test_hookgates_own_kinds_are_prefixed_and_picoclaws_keep_their_members(payload: type[p.Payload]) -> None:
    own = payload.runtime == f"hookgate.{payload.kind}"
    assert own or payload.runtime.startswith("agent.")
    assert all(field.name[0].isupper() is not own for field in fields(payload))
    assert bool(payload.source) is not own


def test_an_event_names_its_tool_in_either_spelling() -> None:
    assert Event(END, STEP, 1, 0).tool == "bash"
    assert Event(p.ToolInjected("h", "weather"), STEP, 1, 0).tool == "weather"
    assert Event(p.HookModified("h", "before_llm", ()), STEP, 1, 0).tool == ""
    assert Event(p.TurnStart("x", 0), STEP, 1, 0).tool == ""
