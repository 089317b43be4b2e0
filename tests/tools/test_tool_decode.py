"""Arguments from text: what is read, what is refused, and that hostile text costs nothing."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.protocol.values import Decode, ProposedCall, ToolCall, ToolResult
from hookgate.tools.decode import decode_call


def decoded(text: str) -> ToolCall | ToolResult:
    return decode_call(ProposedCall("c1", "tool", text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        (" \n", {}),
        ("null", {}),
        ("{}", {}),
        ('\ufeff{"a": 1}', {"a": 1}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}),
        ('{"a": "1e999"}', {"a": "1e999"}),
        ('{"a": 1e99}', {"a": 1e99}),
        ('{"a": "\\ud800"}', {"a": "\ufffd"}),
        ('{"a": "' + "[" * 200 + '"}', {"a": "[" * 200}),
    ],
)
def test_strict_json_is_read_exactly(text: str, value: dict[str, object]) -> None:
    assert decoded(text) == ToolCall("c1", "tool", value, decode=Decode())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": ', "line 1 column"),
        ("{'a': 1}", "line 1 column 2"),
        ('{"a": 1} tail', "trailing characters"),
        ('{"a": NaN}', "not JSON"),
        ('{"a": 1e999}', "too large"),
        ('{"a": [-1e400]}', "too large"),
        ("[{}]", "an array"),
        ('"{}"', "a string"),
        ("7", "a number"),
        ("true", "a boolean"),
        ('{"a":' * 65 + "1" + "}" * 65, "deeper than 64"),
        ("[" * 100_000, "deeper than 64"),
        ('{"a":' * 100_000, "deeper than 64"),
        ('{"a": "' + "x" * (1024 * 1024) + '"}', "bytes"),
        ('{"a": ' + "9" * 5000 + "}", ""),
    ],
)
def test_anything_else_is_a_validation_failure_that_says_what_to_fix(text: str, reason: str) -> None:
    result = decoded(text)
    if not reason and isinstance(result, ToolCall):
        return
    assert isinstance(result, ToolResult)
    assert result.is_error
    assert result.error is not None
    assert result.error.kind == "validation"
    assert reason in result.error.reason
    assert result.for_llm.startswith("ERROR (validation) tool: ")
    assert "JSON object" in result.for_llm


@pytest.mark.parametrize("piece", ["{", '"', "\\", '\\"', '["', "[]", '{"a":"'])
def test_a_mebibyte_of_anything_is_judged_in_linear_time(piece: str) -> None:
    text = piece * (1024 * 1024 // len(piece))
    started = time.perf_counter()
    assert isinstance(decoded(text), ToolResult)
    assert time.perf_counter() - started < 3


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_a_dumped_object_reads_back_equal(value: dict[str, object]) -> None:
    call = decoded(json.dumps(value))
    assert isinstance(call, ToolCall)
    assert call.arguments == json.loads(json.dumps(value).encode("utf-8", "replace"))


@given(st.text())
def test_nothing_raises(text: str) -> None:
    assert isinstance(decoded(text), ToolCall | ToolResult)
