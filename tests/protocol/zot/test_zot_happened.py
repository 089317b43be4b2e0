"""hookgate's events as an extension hears them: which, in which order, with what in them."""

from __future__ import annotations

import pytest

from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import (
    CallDecided,
    CallEnded,
    CallProposed,
    CompactionBegan,
    PersonAsked,
    ReplyEnded,
    SessionBegan,
    StepBegan,
)
from hookgate.protocol.events.inside import CompactionEnded as CompactionDone
from hookgate.protocol.events.inside import SessionEnded as SessionDone
from hookgate.protocol.events.payloads import LlmRequest, Payload, TurnEnd, TurnStart
from hookgate.protocol.values import Fault, ToolCall, ToolResult
from hookgate.protocol.zot.events import (
    AssistantSaid,
    CompactionEnded,
    CompactionStarted,
    ConfirmationRequested,
    HostEvent,
    PermissionDecided,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolProposed,
)
from hookgate.protocol.zot.happened import translated
from hookgate.protocol.zot.heard import HEARD
from tests.hooks.doubles import STEP

LS = ToolCall("c1", "bash", {"command": "ls"})
BROKEN = ToolCall("c2", "bash", {})
PWD = ToolCall("c1", "bash", {"command": "pwd"})
DENIED = ToolResult("no", is_error=True, error=Fault("permission", "before_tool", "no"))


@pytest.mark.parametrize(
    ("payload", "events"),
    [
        (SessionBegan("cli:1"), (SessionStarted(),)),
        (SessionDone("cli:1", "shutdown"), (SessionEnded("shutdown"),)),
        (TurnStart("hi", 2), (PromptSubmitted("hi", image_count=2),)),
        (StepBegan(1), (StepStarted(1),)),
        (ReplyEnded("hi", "hi", (), "end"), (AssistantSaid("hi"), StepEnded("end"))),
        (ReplyEnded("", "", (), "length"), (StepEnded("length"),)),
        (
            ReplyEnded("on it", "on it", (LS, BROKEN), "tool_use"),
            (
                AssistantSaid("on it"),
                ToolProposed("c1", "bash", {"command": "ls"}),
                ToolProposed("c2", "bash", {}),
                StepEnded("tool_use"),
            ),
        ),
        (ReplyEnded("", None, (), "error", "boom"), (StepEnded("error", "boom"),)),
        (
            ReplyEnded("part", "part", (), "aborted", "context canceled"),
            (AssistantSaid("part"), StepEnded("aborted", "context canceled")),
        ),
        (
            CallEnded(PWD, ToolResult("/"), "completed", True),
            (
                ToolEnded(
                    "c1",
                    "bash",
                    {"command": "pwd"},
                    "completed",
                    True,
                    {"content": [{"type": "text", "text": "/"}], "is_error": False},
                ),
            ),
        ),
        (
            CallEnded(BROKEN, DENIED, "blocked", False, '{"command":'),
            (
                ToolEnded(
                    "c2",
                    "bash",
                    {},
                    "blocked",
                    False,
                    {"content": [{"type": "text", "text": "no"}], "is_error": True},
                    '{"command":',
                ),
            ),
        ),
        (CallProposed(PWD), (ToolProposed("c1", "bash", {"command": "pwd"}),)),
        (PersonAsked(PWD, "pwd"), (ConfirmationRequested("c1", "bash", "pwd"),)),
        (
            CallDecided(PWD, "denied", "user", "no"),
            (PermissionDecided("c1", "bash", "denied", "user", "pre_execution", "no"),),
        ),
        (CompactionBegan("k", 9, 100), (CompactionStarted("k", 9, 100),)),
        (CompactionDone("k", 5, 10, "completed"), (CompactionEnded("k", 5, 10, "completed"),)),
        (TurnEnd("completed", 1, 1, 1), ()),
        (LlmRequest("p/m", 1, 1, 0, 0.0), ()),
    ],
)
def test_each_event_is_heard_as_what_zot_calls_it(payload: Payload, events: tuple[HostEvent, ...]) -> None:
    assert translated(Event(payload, STEP, 1, 0)) == events
    assert not events or type(payload) in HEARD
