"""Arguments from text: what is read, what is refused, and that hostile text costs nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.protocol.values import Decode, ProposedCall, ToolCall, ToolResult, ToolSpec
from hookgate.tools.decode import decode_call, incomplete, read_calls
from tests.cost import linear

WRITES = ToolSpec("write", "", {})
READS = ToolSpec("read", "", {}, mutates=False, affects_workspace=False)


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
    "text",
    [
        '{"a": 1}{"b": 2}',
        "[{}]",
        "7",
        "true",
        "use the defaults",
        '{"a": 1e999}',
        '{"a":' * 65 + "1" + "}" * 65,
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"a": "' + "x" * (1024 * 1024) + '"}',
    ],
)
def test_what_no_repair_reads_is_a_validation_failure_that_says_what_to_fix(text: str) -> None:
    result = decoded(text)
    assert isinstance(result, ToolResult)
    assert result.is_error
    assert result.error is not None
    assert result.error.kind == "validation"
    assert result.for_llm.startswith("ERROR (validation) tool: ")


@pytest.mark.parametrize(
    ("text", "value", "step"),
    [
        ("{'a': 1}", {"a": 1}, "relaxed"),
        ('{"a": 1,}', {"a": 1}, "comma"),
        ('Here: {"a": 1}', {"a": 1}, "embedded"),
        ('"{\\"a\\": 1}"', {"a": 1}, "unquote"),
        ('{"a": "x\ny"}', {"a": "x\ny"}, "ctrl"),
    ],
)
def test_a_lossless_repair_runs_and_is_on_the_record(text: str, value: dict[str, object], step: str) -> None:
    call = decoded(text)
    assert isinstance(call, ToolCall)
    assert call.arguments == value
    assert step in call.decode.steps
    assert incomplete(WRITES, call) is None


def test_cut_arguments_run_only_what_changes_nothing() -> None:
    call = decoded('{"path": "a.txt", "content": "half of')
    assert isinstance(call, ToolCall)
    assert call.decode.truncated
    assert incomplete(READS, call) is None
    refused = incomplete(WRITES, call)
    assert refused is not None
    assert "were cut off" in refused.for_llm


def test_a_reply_that_hit_its_limit_leaves_no_call_whole() -> None:
    (read,) = read_calls([ProposedCall("c1", "write", "{}")], cut=True)
    assert isinstance(read.call, ToolCall)
    assert incomplete(WRITES, read.call) is not None


@pytest.mark.parametrize(
    ("text", "recorded"),
    [('{"a": 1}', '{"a": 1}'), ("{'a': 1}", '{"a":1}'), ("nonsense", "{}"), ("", "{}")],
)
def test_the_transcript_gets_json_whatever_the_model_wrote(text: str, recorded: str) -> None:
    (read,) = read_calls([ProposedCall("c1", "tool", text)], cut=False)
    assert read.recorded == ProposedCall("c1", "tool", recorded)


@pytest.mark.parametrize("piece", ["{", '"', "\\", '\\"', '["', "[]", '{"a":"'])
def test_a_mebibyte_of_anything_is_judged_in_linear_time(piece: str) -> None:
    text = piece * (1024 * 1024 // len(piece))
    with linear():
        assert isinstance(decoded(text), ToolResult)


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
