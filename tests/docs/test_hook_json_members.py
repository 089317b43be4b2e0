"""docs/hook-json-protocol.md, what is listed: params, events, configuration and limits are those of the code."""

from __future__ import annotations

import json
import re
import tomllib
from calendar import timegm
from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from hookgate.config import parse
from hookgate.hooks.children import calls, process
from hookgate.processes import group, outbox, pipes
from hookgate.processes.outbox import hook_event_frame, runtime_event_frame
from hookgate.protocol.chat import Chat, ChatMessage, Inbound
from hookgate.protocol.codec import encode
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import PAYLOADS, GateDecision, Payload
from hookgate.protocol.hook.hello import hello_params
from hookgate.protocol.hook.match import CRITERIA
from hookgate.protocol.hook.peer import notification_frame
from hookgate.protocol.hook.stages import SOURCES, Question, Stage
from hookgate.protocol.values import (
    TOOL_TIMEOUT_S,
    Decode,
    Fault,
    Finished,
    LLMReply,
    LLMRequest,
    Message,
    ProposedCall,
    Step,
    ToolCall,
    ToolResult,
    Usage,
)
from hookgate.protocol.values.effects import FileEffect
from hookgate.sections.hooks import HookDefaults, HookSection
from tests.docs.chat import INBOUND
from tests.docs.page import Part, codes, read_page

ROOT = Path(__file__).parents[2]
PAGE = read_page(ROOT / "docs" / "hook-json-protocol.md")
ALL = frozenset(Stage)

# --- params ---------------------------------------------------------------------------------------------------

BARE = Step("main", "main-turn-1", Inbound(Chat("cli", "1", chat_type=""), "hi"))
ASKED = Inbound(Chat("cli", "1", "7", "group", "9", "user"), "hi", message_id="311")
FULL = Step("main", "main-turn-1", ASKED, extension="notes", resumed=True, kind="telegram", roles=("ops",))
NESTED = ("meta", "context", "context.inbound", "response", "result", "messages[]", "message")


def subject(stage: Stage, full: bool) -> Any:
    call = ToolCall("c", "t", {}, *(("text", Decode(("quotes",))) if full else ()))
    proposed = (ProposedCall("c", "t", "{}"),) if full else ()
    match stage:
        case Stage.ON_MESSAGE:
            return ChatMessage("x", message_id="311" if full else "")
        case Stage.BEFORE_SEND:
            return ChatMessage("x", kind="answer", message_id="311" if full else "")
        case Stage.BEFORE_LLM:
            message = (
                Message("user", "x", proposed, "c", ("data:,x",), "r", is_error=True)
                if full
                else Message("user", "x")
            )
            return LLMRequest("p/m", (message,))
        case Stage.AFTER_LLM:
            return LLMReply("p/m", "x", proposed, "stop", Usage(), "r") if full else LLMReply("p/m", "x", (), "")
        case Stage.AFTER_TOOL:
            return Finished(call, _whole_result() if full else ToolResult("x"), 1)
        case _:
            return call


def _whole_result() -> ToolResult:
    effect = FileEffect("create", "a.txt")
    return ToolResult("x", error=Fault("fatal", "t", "x"), data={"a": 1}, effects=(effect,), cached=True)


def sent(stage: Stage, full: bool) -> set[str]:
    return set(_paths(json.loads(Question(stage, FULL if full else BARE, subject(stage, full)).framed_params(5)), ""))


def _paths(members: dict[str, Any], prefix: str) -> Iterator[str]:
    for name, value in members.items():
        path = f"{prefix}{name}[]" if isinstance(value, list) and f"{name}[]" in NESTED else f"{prefix}{name}"
        if path in NESTED:
            yield from _paths(value[0] if path.endswith("[]") else value, f"{path}.")
        else:
            yield path


def documented(name: str, with_optional: bool) -> set[str]:
    tables = (part for part in PAGE.marked("table") if name in part.mark.split())
    cells = [row[0] for part in tables for row in part.rows]
    assert cells, name
    found = [found for cell in cells for found in re.findall(r"`([^`]+)`(\??)", cell)]
    return {path for path, optional in found if with_optional or not optional}


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("full", [True, False])
def test_the_params_are_those_that_the_page_lists(stage: Stage, full: bool) -> None:
    listed = documented("shared", full) | documented(stage, full)
    if "tool" not in stage:
        listed -= {"context.origin", "context.decode"}
    assert sent(stage, full) == listed


def test_the_hello_params_are_those_that_the_page_lists() -> None:
    params = json.loads(hello_params("guard", ALL, True, "/files", "/work"))
    assert params.keys() == documented("hello", True)
    assert all(f"`{mode}`" in PAGE.text for mode in params["modes"])


# --- events ---------------------------------------------------------------------------------------------------

JSON_TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "JsonObject": "object",
    "tuple[str, ...]": "strings",
    "tuple[Mapping[str, object], ...]": "objects",
}


def test_the_page_lists_every_payload_with_its_members_and_types() -> None:
    shown = [(codes(row[0])[0], codes(row[1])[0], row[2]) for row in PAGE.one("payloads").rows]
    assert shown == [(payload.kind, payload.runtime, _members(payload)) for payload in PAYLOADS]


def _members(payload: type[Payload]) -> str:
    def shown(name: str, annotation: str) -> str:
        bare = annotation.removesuffix(" | None")
        return f"`{name}`{'' if bare == annotation else '?'} {JSON_TYPES[bare]}"

    return ", ".join(shown(field.name, str(field.type)) for field in fields(payload))


def test_the_page_says_which_events_are_not_sent_yet() -> None:
    paths = (path for path in (ROOT / "hookgate").rglob("*.py") if not path.name.endswith("payloads.py"))
    source = "".join(path.read_text() for path in paths)
    silent = {payload.kind for payload in PAYLOADS if f"{payload.__name__}(" not in source}
    marked = {codes(row[0])[0] for row in PAGE.one("payloads").rows if "not sent by this version" in row[3]}
    assert marked == silent


def test_the_page_names_every_source() -> None:
    flat = " ".join(PAGE.text.split())
    assert ", ".join(f"`{payload.source}`" for payload in PAYLOADS if payload.source) in flat
    assert ", ".join(f"`{SOURCES[stage]}`" for stage in Stage) in flat


@pytest.mark.parametrize("part", PAGE.marked("event"), ids=lambda part: f"line {part.line}")
def test_an_event_is_what_hookgate_sends(part: Part) -> None:
    message = json.loads(part.text)
    params = message["params"]
    if message["method"] == "hook.event":
        step = _step() if params["Meta"] else None
        event = Event(_payload(params["Kind"], params["Payload"]), step, 1, 0)
        frame = hook_event_frame(event, params.get("Dropped", 0))
    else:
        moment = datetime.fromisoformat(params["time"])
        time_ns = timegm(moment.utctimetuple()) * 10**9 + moment.microsecond * 1000
        event = Event(_payload(params["kind"], params["payload"]), _step(), int(params["id"][4:]), time_ns)
        frame = runtime_event_frame(event, params.get("Dropped", 0))
    assert json.loads(frame) == message


def _payload(kind: str, members: dict[str, Any]) -> Payload:
    return next(payload for payload in PAYLOADS if kind in (payload.kind, payload.runtime))(**members)


def _step() -> Step:
    return Step("main", "main-turn-1", INBOUND)


def test_events_are_shown_in_both_envelopes_about_the_gateway_and_after_a_loss() -> None:
    shown = [json.loads(part.text) for part in PAGE.marked("event")]
    assert {message["method"] for message in shown} == {"hook.event", "hook.runtime_event"}
    assert any("Dropped" in message["params"] for message in shown)
    assert any(message["params"].get("Meta") == {} for message in shown)


def test_an_event_about_the_gateway_has_an_empty_place_in_both_envelopes() -> None:
    params = json.loads(Event(GateDecision("h", "before_llm", "continue", 1), None, 1, 0).runtime_event + b"}")
    assert params["source"] == {"component": "gateway"}
    assert (params["scope"], params["correlation"], params["attrs"]) == ({}, {}, {})


def test_cancel_is_the_notification_that_hookgate_sends() -> None:
    part = PAGE.one("cancel")
    call_id = int(part.mark.split()[1])
    assert json.loads(part.text) == json.loads(notification_frame("hook.cancel", encode({"id": call_id})))


# --- processes and limits -------------------------------------------------------------------------------------


def test_the_configuration_of_the_page_is_accepted_and_complete() -> None:
    text = PAGE.one("toml").text
    (section,) = parse(text, Path("hookgate.toml")).hooks.processes.values()
    assert section.command
    (given,) = tomllib.loads(text)["hooks"]["processes"].values()
    assert given.keys() == HookSection.model_fields.keys()
    assert all(criterion in text for criterion in CRITERIA)


def test_the_limits_are_those_of_the_code() -> None:
    defaults, minute_s = HookDefaults(), 60
    numbers = {
        "one line from the hook": defaults.max_message_bytes,
        "answer to hello": defaults.hello_timeout_ms,
        "answer at a stage": defaults.interceptor_timeout_ms,
        "answer of an approver": defaults.approver_timeout_ms,
        "answer of the owner of a tool": round(TOOL_TIMEOUT_S * 1000),
        "open calls": HookSection.model_fields["max_in_flight"].default,
        "calls waiting for one to end": calls.MAX_WAITING_CALLS,
        "events waiting": outbox.MAX_WAITING_EVENTS,
        "bytes waiting because the hook does not read": outbox.Bounds().waiting_bytes,
        "output that answers nothing": process.FLOOD_BYTES,
        "one line of stderr": pipes.STDERR_LINE_BYTES,
        "stderr": pipes.STDERR_LINES_PER_S,
    }
    shown = {row[0]: int(row[1].split()[0]) for row in PAGE.one("limits").rows}
    assert shown == numbers
    assert defaults.quarantine_window_ms == defaults.quarantine_probe_ms == minute_s * 1000
    assert f"After {defaults.quarantine_after} ends within {minute_s} s it is tried once in {minute_s} s" in PAGE.text
    assert (group.CLOSE_WAIT_S, group.TERM_WAIT_S) == (2.0, 1.0)
