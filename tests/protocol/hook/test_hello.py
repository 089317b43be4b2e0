"""The handshake: what is offered, in a fixed order, and what a hook may declare of itself."""

from __future__ import annotations

from typing import Any

import pytest

from hookgate.protocol.codec import decode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.hello import Hello, hello_params, parse_hello
from hookgate.protocol.hook.stages import Stage

ALL = frozenset(Stage)
TOOL = {"type": "function", "function": {"name": "weather", "description": "d", "parameters": {"type": "object"}}}


@pytest.mark.parametrize(
    ("stages", "observes", "modes"),
    [
        (set(), True, ["observe"]),
        ({Stage.BEFORE_LLM}, False, ["llm"]),
        ({Stage.AFTER_LLM}, False, ["llm"]),
        ({Stage.AFTER_TOOL}, False, ["tool"]),
        ({Stage.BEFORE_TOOL}, True, ["observe", "tool"]),
        ({Stage.APPROVE_TOOL}, False, ["approve"]),
        (set(Stage), True, ["observe", "llm", "tool", "approve", "message"]),
        ({Stage.BEFORE_SEND, Stage.BEFORE_LLM}, False, ["llm", "message"]),
    ],
)
def test_modes_follow_from_the_stages_in_a_fixed_order(stages: set[Stage], observes: bool, modes: list[str]) -> None:
    params = decode(hello_params("h", frozenset(stages), observes))
    assert params == {"name": "h", "version": 1, "stages": [s for s in Stage if s in stages], "modes": modes}


@pytest.mark.parametrize("result", [{}, {"ok": True}, {"ok": None}, {"ok": True, "anything": [1]}, {"name": None}])
def test_a_plain_v1_hook_declares_nothing(result: dict[str, Any]) -> None:
    assert parse_hello(result, ALL) == Hello()


def test_null_members_are_left_out() -> None:
    nulls = dict.fromkeys(["name", "error", "reason", "tools", "stages", "events", "cancel", "max_in_flight"])
    assert parse_hello({"ok": True, **nulls}, ALL) == Hello()


@pytest.mark.parametrize("result", [None, [], "ok", 5, True, [{"ok": True}]])
def test_a_hello_that_is_no_object_is_refused(result: Any) -> None:
    with pytest.raises(BadMessage, match="must be an object"):
        parse_hello(result, ALL)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"ok": False}, "the hook answered ok: false"),
        ({"ok": False, "reason": "no licence"}, "the hook refused: no licence"),
        ({"ok": False, "error": "no licence"}, "the hook refused: no licence"),
        ({"ok": "yes"}, "hello.ok"),
        ({"stages": ["before_llm", "before_lunch"]}, "'before_lunch' was not offered"),
        ({"stages": "before_llm"}, "hello.stages"),
        ({"events": "tool_*"}, "hello.events"),
        ({"cancel": "yes"}, "hello.cancel"),
        ({"max_in_flight": 0}, "hello.max_in_flight"),
        ({"max_in_flight": 1.5}, "hello.max_in_flight"),
        ({"max_in_flight": True}, "hello.max_in_flight"),
        ({"tools": [{}]}, r"hello.tools\[0\]"),
        ({"tools": {}}, "hello.tools"),
        ({"tools": [TOOL], "stages": ["before_llm"]}, "needs the stage before_tool"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused_by_name(result: dict[str, Any], text: str) -> None:
    with pytest.raises(BadMessage, match=text):
        parse_hello(result, ALL)


def test_a_stage_that_config_did_not_give_cannot_be_declared() -> None:
    with pytest.raises(BadMessage, match="was not offered"):
        parse_hello({"stages": ["approve_tool"]}, frozenset({Stage.BEFORE_TOOL}))
    with pytest.raises(BadMessage, match="needs the stage before_tool"):
        parse_hello({"tools": [TOOL]}, frozenset({Stage.BEFORE_LLM}))


def test_everything_a_hook_may_declare_is_read() -> None:
    declared = {"name": "w", "tools": [TOOL], "stages": ["before_tool"], "events": ["tool_*"]}
    hello = parse_hello({**declared, "cancel": True, "max_in_flight": 2}, ALL)
    assert [spec.name for spec in hello.tools] == ["weather"]
    assert hello.stages == {Stage.BEFORE_TOOL}
    assert (hello.name, hello.events, hello.cancel, hello.max_in_flight) == ("w", ("tool_*",), True, 2)


def test_a_hook_may_narrow_itself_to_no_stage_at_all() -> None:
    assert parse_hello({"stages": [], "events": []}, ALL) == Hello(stages=frozenset(), events=())
