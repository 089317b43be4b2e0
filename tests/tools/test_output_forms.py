"""Labeled lines and JSON objects of the same items, at their limits."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from hookgate.protocol.values import ToolCall
from hookgate.tools.errors import ToolError
from hookgate.tools.output import Form, Items, form_of, result
from hookgate.tools.text import MAX_BYTES, MAX_LINES


def items(count: int, width: int = 5, *, stopped: bool = False) -> Items:
    names = [f"{number:0{width}d}" for number in range(count)]
    return Items("the header", names, "names", [{"name": name} for name in names], {"count": count}, stopped)


def asking(output: object) -> ToolCall:
    return ToolCall("1", "ls", {} if output is None else {"output": cast("Any", output)})


@pytest.mark.parametrize(
    ("argument", "defaults", "form"),
    [
        (None, (), "labeled"),
        (None, ("json",), "json"),
        (None, (None, "json"), "json"),
        (None, ("labeled", "json"), "labeled"),
        ("labeled", ("json",), "labeled"),
        ("json", ("labeled",), "json"),
    ],
)
def test_the_argument_beats_the_defaults_and_the_first_of_those_the_rest(
    argument: str | None, defaults: tuple[Form | None, ...], form: str
) -> None:
    assert form_of(asking(argument), *defaults) == form


@pytest.mark.parametrize("output", ["xml", "", "JSON", 1, True, ["json"]])
def test_any_other_form_is_refused(output: object) -> None:
    with pytest.raises(ToolError, match="output must be one of labeled, json") as caught:
        form_of(asking(output))
    assert caught.value.kind == "validation"


def test_labeled_is_a_header_and_a_line_an_item() -> None:
    assert result(items(3), "labeled").for_llm == "the header\n00000\n00001\n00002"
    assert result(items(0), "labeled").for_llm == "the header\n(empty)"


@pytest.mark.parametrize("form", ["labeled", "json"])
def test_the_data_is_the_object_in_either_form(form: Form) -> None:
    assert result(items(2), form).data == {
        "count": 2,
        "names": [{"name": "00000"}, {"name": "00001"}],
        "truncated": False,
    }


def test_json_is_the_data_in_one_line() -> None:
    made = result(items(2), "json")
    assert json.loads(made.for_llm) == made.data
    assert "\n" not in made.for_llm
    assert json.loads(result(items(0), "json").for_llm) == {"count": 0, "names": [], "truncated": False}


@pytest.mark.parametrize(("count", "width"), [(100_000, 5), (3000, 1), (40, 5000), (2, MAX_BYTES)])
def test_json_is_never_cut_but_holds_fewer_items(count: int, width: int) -> None:
    made = result(items(count, width), "json")
    data = json.loads(made.for_llm)
    assert len(made.for_llm.encode()) <= MAX_BYTES
    assert data["truncated"] is True
    assert data["count"] == count
    assert len(data["names"]) < min(count, MAX_LINES + 1)
    assert data["names"] == [{"name": f"{number:0{width}d}"} for number in range(len(data["names"]))]


def test_json_holds_as_many_items_as_fit() -> None:
    kept = len(json.loads(result(items(100_000, 40), "json").for_llm)["names"])
    assert MAX_BYTES - 60 < len(result(items(kept, 40), "json").for_llm) <= MAX_BYTES


@pytest.mark.parametrize(("count", "width"), [(100_000, 5), (40, 5000), (2, MAX_BYTES)])
def test_labeled_lines_beyond_the_limits_are_counted(count: int, width: int) -> None:
    text = result(items(count, width), "labeled").for_llm
    first, *shown, last = text.split("\n")
    assert first == "the header"
    assert last == f"... [{count - len(shown)} more]"
    assert len(text.encode()) <= MAX_BYTES
    assert len(shown) + 2 <= MAX_LINES


def test_what_the_tool_itself_left_out_is_truncated_too() -> None:
    data = result(items(1, stopped=True), "json").data
    assert isinstance(data, dict)
    assert data["truncated"] is True
