"""The repair cascade: which step reads a text, what it reads, and that no step reads what has no one meaning."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.tools.repair import Decoded, Undecodable, decode_arguments

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "conformance" / "repair.jsonl").read_text(encoding="utf-8").splitlines()
]
LOSSLESS = {"strict", "unquote", "ctrl", "comma", "relaxed", "embedded"}


def outcome(text: str) -> Decoded | Undecodable:
    try:
        return decode_arguments(text)
    except Undecodable as error:
        return error


def step_of(text: str) -> str:
    decoded = outcome(text)
    return decoded.step if isinstance(decoded, Decoded) else "REJECT"


def group(step: str) -> str:
    return "lossless" if step in LOSSLESS else step


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_row_of_the_corpus_comes_out_as_it_says(row: dict[str, Any]) -> None:
    allowed = {group(row["class"])}
    if row["class"] == "GUESS":
        allowed.add("REJECT")
    if "also cut" in row.get("note", ""):
        allowed.add("TRUNC")
    assert group(step_of(row["input"])) in allowed
    if "value" in row:
        assert decode_arguments(row["input"]).value == row["value"]


def test_the_corpus_is_whole() -> None:
    assert len(ROWS) == 80


@pytest.mark.parametrize(
    ("text", "steps", "value"),
    [
        ("", ("empty",), {}),
        ("\ufeff null ", ("empty",), {}),
        ('{"a": 1}', (), {"a": 1}),
        ('{"a": "x\ny",}', ("ctrl", "comma"), {"a": "x\ny"}),
        ("{'a': 'x\ny', }", ("ctrl", "comma", "relaxed"), {"a": "x\ny"}),
        ("{'a': 'x, }'}", ("relaxed",), {"a": "x, }"}),
        ("{'a': '[[{{\" \\\\ \\' \\\" '}", ("relaxed",), {"a": '[[{{" \\ \' " '}),
        ("{'a': '" + "[" * 100 + "'}", ("relaxed",), {"a": "[" * 100}),
        ("{a: 1/**/, $b: -0x1F, c: 5., d: -.5e1}", ("relaxed",), {"a": 1, "$b": -31, "c": 5.0, "d": -5.0}),
        ("// first\n{true: True, null: None}", ("relaxed",), {"true": True, "null": None}),
        ('"{\\"a\\": 1,}"', ("unquote", "comma"), {"a": 1}),
        ('"{a: 1}"', ("unquote", "relaxed"), {"a": 1}),
        ('so: {"a": "x\ny",} .', ("ctrl", "comma", "embedded"), {"a": "x\ny"}),
        ("it's {it's}, [see 1] so: {\"a\": [{}]}]}", ("embedded",), {"a": [{}]}),
        ('{"a": "\\ud83d\\ude00\\ud800", "b": "\\ud83d', ("TRUNC",), {"a": "\U0001f600\ufffd", "b": ""}),
        ('{"a": "x\n, }", "b": [1, 15', ("ctrl", "TRUNC"), {"a": "x\n, }", "b": [1]}),
        ('{"a": 15 ', ("TRUNC",), {"a": 15}),
        ('{"a": true', ("TRUNC",), {"a": True}),
        ('{"a": [1,],\n"k', ("comma", "TRUNC"), {"a": [1]}),
    ],
)
def test_the_record_names_each_step_that_was_needed(text: str, steps: tuple[str, ...], value: dict[str, Any]) -> None:
    decoded = decode_arguments(text)
    assert (decoded.value, decoded.steps, decoded.truncated) == (value, steps, "TRUNC" in steps)


@pytest.mark.parametrize(
    ("text", "reason", "position", "fix"),
    [
        ('  {"a": 1 "b": 2}', "expected `,` or `}`", 10, "comma"),
        ('\n{"é": "ü",\n "b": \\}', "line 2", 18, "JSON"),
        ('{"re": "\\d"}', "invalid escape", 9, "backslash"),
        ("[1]", "not an array", 0, "object"),
        ('["a",]', "not an array", 0, "object"),
        ('[{"a": 1}]', "not an array", 0, "object"),
        ('"hi"', "not a string", 0, "object"),
        ("true", "not a boolean", 0, "object"),
        ("7", "not a number", 0, "object"),
        ('{"a": 1e999}', "too large", 0, "string"),
        ('{"a": 1e999, "b": "x', "EOF", 19, "again"),
        ('{"a": 1} and {"b": 2}', "two objects", 13, "two calls"),
        ("{'a': 1} and {'b': 2}", "two objects", 13, "two calls"),
        ('{"a": {"x": 1}}, "b": 2}', "not JSON", 15, "object"),
        ('"a": {"x": 1}, "b": 2}', "not JSON", 3, "object"),
        ('{"a":' * 65 + "1" + "}" * 65, "deeper than 64", 0, "less deeply"),
        ("{'a':" * 65 + "1" + "}" * 65, "deeper than 64", 0, "less deeply"),
        ('x {"a":' * 65 + "1" + "}" * 65, "deeper than 64", 0, "less deeply"),
        ('{"a": "' + "é" * 600_000 + '"}', "more than 1048576 bytes", 0, "Split"),
        ("{'a': 1/**/2}", "not JSON", 1, "double quotes"),
        ("{'a': undefined}", "not JSON", 1, "double quotes"),
        ("{'a': 1-1}", "not JSON", 1, "double quotes"),
        ("{'a': 0x}", "not JSON", 1, "double quotes"),
        ("{'a': '\\x41'}", "not JSON", 1, "double quotes"),
        ("{'a': '\\\n'}", "not JSON", 1, "double quotes"),
        ('{"a": "\\\n"}', "not JSON", 9, "backslash"),
        ("{a: 1} // {", "", 0, ""),
    ],
)
def test_what_cannot_be_read_is_one_error_with_a_place_and_a_cure(
    text: str, reason: str, position: int, fix: str
) -> None:
    if not reason:
        assert decode_arguments(text, guess=False).value == {"a": 1}
        return
    with pytest.raises(Undecodable) as refused:
        decode_arguments(text, guess=False)
    error = refused.value
    assert reason in error.reason
    assert fix in error.fix
    assert error.position == position
    assert str(position) in str(error)


def test_without_the_optional_package_a_guess_is_a_refusal() -> None:
    program = (
        "import sys; sys.modules['json_repair'] = None\n"
        "from hookgate.tools.repair import Undecodable, decode_arguments\n"
        'try: decode_arguments(\'{"a": 1 "b": 2}\')\n'
        "except Undecodable: print('refused')\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert run.stdout == "refused\n", run.stderr


@pytest.mark.parametrize("text", ['{"a": 1 "b": 2}', '{"msg": "he said "hi" ok"}'])
def test_a_guess_says_that_it_is_one(text: str) -> None:
    assert decode_arguments(text).guessed
    with pytest.raises(Undecodable):
        decode_arguments(text, guess=False)


def test_a_text_too_long_for_a_guess_is_a_refusal() -> None:
    guessed = '{"a": 1 "b": "%s"}'
    assert decode_arguments(guessed % ("x" * 2000)).guessed
    with pytest.raises(Undecodable):
        decode_arguments(guessed % ("x" * 2048))


def calls_to_read(text: str) -> int:
    """What reading costs, in calls of functions: the same on every machine."""
    counted = count()

    def seen(_frame: object, event: str, _argument: object) -> None:
        if event in ("call", "c_call"):
            next(counted)

    sys.setprofile(seen)
    try:
        outcome(text)
    finally:
        sys.setprofile(None)
    return next(counted)


@pytest.mark.parametrize("piece", ['{"n{"l_calls": [', "{a: 1, b: true", '"a":', 's"t', "Tru\x18ne}", '{"a": {"}'])
def test_a_text_of_twice_the_length_costs_no_more_than_twice_the_work(piece: str) -> None:
    once, twice = (calls_to_read('{"a": ' + piece * (size // len(piece))) for size in (3000, 6000))
    assert twice <= 2.5 * once


# --- properties ---------------------------------------------------------------------------------------------

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from([", }", "{'a': 1}", "\\", '"', "\U0001f600", "</think>", "/* x */", "true", "// x"])
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)
DUMPED = st.builds(
    lambda value, ascii_only, indent: (value, json.dumps(value, ensure_ascii=ascii_only, indent=indent)),
    OBJECTS,
    st.booleans(),
    st.sampled_from([None, 1]),
)


@given(DUMPED)
def test_a_dumped_object_is_strict_and_equal(dumped: tuple[dict[str, Any], str]) -> None:
    value, text = dumped
    assert decode_arguments(text) == Decoded(value)


def grown_from(part: object, whole: object) -> bool:
    """Whether every leaf of `part` is the beginning of the leaf in the same place of `whole`."""
    match part, whole:
        case dict(), dict():
            return all(key in whole and grown_from(part[key], whole[key]) for key in part)
        case list(), list():
            return len(part) <= len(whole) and all(map(grown_from, part, whole))
        case str(), str():
            return whole.startswith(part)
        case _:
            return part == whole and type(part) is type(whole)


@given(DUMPED, st.data())
def test_a_proper_prefix_is_cut_and_never_lossless(dumped: tuple[dict[str, Any], str], data: st.DataObject) -> None:
    value, text = dumped
    decoded = decode_arguments(text[: data.draw(st.integers(1, len(text) - 1))])
    assert (decoded.step, decoded.truncated) == ("TRUNC", True)
    assert grown_from(decoded.value, value)


PROSE = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="{}[]\"':,"))


@given(OBJECTS, PROSE, PROSE)
def test_prose_around_one_object_changes_only_the_steps(value: dict[str, Any], before: str, after: str) -> None:
    decoded = decode_arguments(f"{before} {json.dumps(value)} {after}")
    assert (decoded.value, decoded.truncated, decoded.guessed) == (value, False, False)
    assert decoded.step in {"strict", "relaxed", "embedded"}


@given(VALUES, st.integers(1, 3))
def test_commas_before_a_closer_change_only_the_steps(value: object, commas: int) -> None:
    text = f'{{"a": [{json.dumps(value)}{", " * commas}]{"," * commas}\n}}'
    assert decode_arguments(text) == Decoded({"a": [value]}, ("comma",))


@given(OBJECTS)
def test_the_python_spelling_of_an_object_reads_the_same_or_not_at_all(value: dict[str, Any]) -> None:
    """Python writes some characters with escapes of its own; those have no one meaning here."""
    try:
        decoded = decode_arguments(repr(value), guess=False)
    except Undecodable:
        assert "\\x" in repr(value) or "\\U" in repr(value) or "\\u" in repr(value)
    else:
        assert decoded.value == value


@given(OBJECTS)
def test_an_object_that_was_encoded_twice_is_opened_once(value: dict[str, Any]) -> None:
    once = json.dumps(json.dumps(value))
    assert decode_arguments(once) == Decoded(value, ("unquote",))
    assert step_of(json.dumps(once)) == "REJECT"


PIECES = st.sampled_from(
    [*"{}[]\"'\\,:/*#`.+-0179eExXutn \n\t\x00\ufeff\ud800", "true", "None", "\\ud83d", '{"a":', "//"]
)


@given(st.text() | st.lists(PIECES, max_size=40).map("".join))
def test_only_the_one_error_is_ever_raised(text: str) -> None:
    match outcome(text):
        case Undecodable(position=position, reason=reason, fix=fix):
            assert 0 <= position <= len(text)
            assert reason
            assert fix
        case Decoded(value=value):
            assert json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


@pytest.mark.parametrize(
    "piece", ["{", '"', "\\", "[", "'", ",", '\\"', '["', "[],", "{}", "{x}", '{"a":', "a:", ".5,"]
)
@pytest.mark.parametrize("before", ["", '{"a":[', "{a:['", '{"a":"\x01', 'x {"a":1} '])
def test_64_kibibytes_of_anything_are_answered(before: str, piece: str) -> None:
    """A step that is not linear would not come back from this."""
    assert step_of(before + piece * (64 * 1024 // len(piece))) in {*LOSSLESS, "TRUNC", "GUESS", "REJECT"}
