"""What new_tool's arguments are read as, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from hookgate.protocol.values import ToolCall
from hookgate.tools.dispatch import invalid
from hookgate.tools.dynamic.draft import Draft, read_draft
from hookgate.tools.dynamic.lifecycle import NEW_TOOL_SPEC, UNREGISTER_TOOL_SPEC
from hookgate.tools.errors import ToolError
from hookgate.tools.registry import check_spec

USUAL = {"name": "add", "description": "Adds.", "body": "return 1"}


def draft(**changes: Any) -> Draft:
    return read_draft(ToolCall("1", "new_tool", {**USUAL, **changes}))


def test_the_lifecycle_tools_can_be_registered() -> None:
    for spec in (NEW_TOOL_SPEC, UNREGISTER_TOOL_SPEC):
        check_spec(spec)
        assert not spec.read_only


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "Add"},
        {"name": "a"},
        {"name": "add\n"},
        {"name": "../add"},
        {"name": "a" * 65},
        {"body": ""},
        {"description": ""},
        {"returns": "xml"},
        {"strange": 1},
        {"args": "who"},
        {"args": [{"type": "string"}]},
    ],
)
def test_arguments_that_do_not_fit_the_closed_schema_never_run(changes: dict[str, Any]) -> None:
    result = invalid(NEW_TOOL_SPEC, ToolCall("1", "new_tool", {**USUAL, **changes}))
    # The schema's dollar matches before a last line end, so that name is left to the reader.
    if changes == {"name": "add\n"}:
        with pytest.raises(ToolError, match="name"):
            draft(**changes)
        return
    assert result is not None
    assert result.error is not None
    assert result.error.kind == "validation"


@pytest.mark.parametrize(
    ("args", "parameters"),
    [
        (None, {"type": "object", "properties": {}, "additionalProperties": False}),
        ({}, {"type": "object"}),
        ({"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
        ({"properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
        (
            [{"name": "who"}, {"name": "n", "type": "integer", "description": "How many.", "default": 2}],
            {
                "type": "object",
                "properties": {
                    "who": {"type": "string"},
                    "n": {"type": "integer", "description": "How many.", "default": 2},
                },
                "required": ["who"],
                "additionalProperties": False,
            },
        ),
        (
            [{"name": "a", "required": False}, {"name": "b", "required": True, "default": 1}],
            {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {"type": "string", "default": 1}},
                "required": ["b"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_arguments_are_a_schema_or_a_list_of_rows(args: Any, parameters: dict[str, Any]) -> None:
    assert draft(args=args).parameters == parameters


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"args": {"type": "string"}}, "args"),
        ({"args": {"who": {"type": "string"}}}, "args"),
        ({"args": [{"name": "a"}, {"name": "a"}]}, r"args\[1\].name: 'a' is there twice"),
        ({"args": [{"name": "a b"}]}, r"args\[0\].name"),
        ({"args": [{"name": "a", "type": "float"}]}, r"args\[0\].type"),
        ({"description": "  "}, "description"),
        ({"body": "x" * 70_000}, "body"),
        ({"requires": [1]}, "requires"),
    ],
)
def test_what_makes_no_sense_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolError, match=said) as caught:
        draft(**changes)
    assert caught.value.kind == "validation"
