"""Calls in a model's text: what is one, what is only shown, and how much of a stream must wait to know."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.protocol.values import Decode, ProposedCall
from hookgate.tools.extract import CallHoldBack, Extracted, Mode, as_proposed, extract_calls, held_from
from tests.cost import linear

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "conformance" / "extraction.jsonl").read_text("utf-8").splitlines()
]
NAMES = frozenset({"a", "b", "w", "read"})
A = '{"name":"a","arguments":{"x":1}}'
TAGGED = f"<tool_call>{A}</tool_call>"


def blanks(text: str) -> str:
    return " ".join(text.split())


def named(extracted: Extracted) -> list[str]:
    return [call.name for call in extracted.calls]


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_row_of_the_corpus_comes_out_as_it_says(row: dict[str, Any]) -> None:
    found = extract_calls(row["text"], row["tools"], "all")
    calls = [{"name": call.name, "arguments": call.arguments} for call in found.calls]
    assert (found.klass, calls) == (row["class"], row.get("calls", []))
    if "rest" in row:
        assert blanks(found.rest) == blanks(row["rest"])
    if not calls:
        assert found.rest == row["text"]
    assert bool(found.problems) == (row["class"] == "MALFORMED" or row["id"] == "a08")


OTHERWISE_IN_TAGS: dict[str, tuple[str, list[str], str]] = {
    "e04": ("NONE", [], "the tag stands within a line, and prose follows it"),
    "e23": ("NONE", [], "a bare value, with nothing that announces a call"),
    "e41": ("NONE", [], "the opener stands within a line, and prose follows it"),
    "e42": ("NONE", [], "a fence, which is an example, follows the call"),
    "e43": ("CALLS", ["b", "a"], "the call in a fence is an example, those after it are not"),
    "e44": ("NONE", [], "the tag stands within a line, and prose follows it"),
    "e58": ("NONE", [], "a fence, whatever its language"),
    "e59": ("NONE", [], "prose follows the call"),
    "a10": ("NONE", [], "a bare value, with nothing that announces a call"),
    "a13": ("NONE", [], "a bare value, with nothing that announces a call"),
}
"""The table is about `all`. In `tags` these rows come out so: class, calls, and why."""


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_row_of_the_corpus_comes_out_in_tags_as_it_says_but_for_what_may_be_quoted(row: dict[str, Any]) -> None:
    found = extract_calls(row["text"], row["tools"], "tags")
    if row["id"] in OTHERWISE_IN_TAGS:
        klass, names, _ = OTHERWISE_IN_TAGS[row["id"]]
        assert (found.klass, named(found)) == (klass, names)
    else:
        calls = [{"name": call.name, "arguments": call.arguments} for call in found.calls]
        assert (found.klass, calls) == (row["class"], row.get("calls", []))


@pytest.mark.parametrize(
    "text",
    [
        f"The page says: {TAGGED}",
        f"```\n{TAGGED}\n```",
        f"```\n{TAGGED}",
        f"So:\n~~~~ text\n~~~\n{TAGGED}",
        f"Look: ```json\n{TAGGED}\n```",
        f"- ```\n{TAGGED}",
        f"> {TAGGED}",
        f"> it says\n{TAGGED}",
        f">\n> {TAGGED}",
        f"    {TAGGED}",
        f"so\n\n\t{TAGGED}",
        f"<pre>\n{TAGGED}\n</pre>",
        f'<PRE class="x">\n\n{TAGGED}',
        f"<pre><code>\n{TAGGED}",
        f"<blockquote>\n{TAGGED}",
        f"<tool_response>\n{TAGGED}",
        f"<!-- kept\n{TAGGED}\n-->",
        f"<!--\n\n{TAGGED}",
        f'The page says "\n{TAGGED}',
        f'The page says: "hello\n\n{TAGGED}',
        f'"""\n{TAGGED}',
        f"It says '\n{TAGGED}",
        f"It says “\n{TAGGED}",
        f"Sie sagt: „so\n{TAGGED}",
        f"Elle dit : « oui\n{TAGGED}",
        f"it is `\n{TAGGED}",
        f"it is ``a`\n{TAGGED}",
        f"1. {TAGGED}",
        f"{TAGGED} is what it says",
        f"{TAGGED}\n\nThat is what it says.",
        f"{TAGGED}\n`ls`",
        f"{TAGGED}\n<think>so it says</think>",
        f"```\n</think>{TAGGED}",
        f"`a</think>\n{TAGGED}",
        f'so {{"tool_calls":[{A}]}}',
        f'> so\n{{"tool_calls":[{A}]}}',
        f'so\n{{"answer": [\n{{"tool_calls":[{A}]}}\n]}}',
        f'so\n{{"content": 1, "tool_calls":[{A}]}}',
        f'    {{"tool_calls":[{A}]}}',
        "The page says: <tool_call>{",
        "```\n<tool_call>{",
    ],
)
def test_what_is_quoted_is_no_call(text: str) -> None:
    found = extract_calls(text, NAMES)
    assert (found.klass, found.rest) == ("NONE", text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"I will look.\n{TAGGED}", ["a"]),
        (f"I will look.\n\n   {TAGGED}\n\n", ["a"]),
        (f"so\r\n{TAGGED}\r\n", ["a"]),
        (f"{TAGGED} {TAGGED}\n  {TAGGED}", ["a", "a", "a"]),
        (f"It says: {TAGGED}\n{TAGGED}", ["a"]),
        (f"{TAGGED} is what it says. So:\n{TAGGED}", ["a"]),
        (f"```\n{TAGGED}\n```\n{TAGGED}", ["a"]),
        (f"````\n```\n{TAGGED}\n````\n{TAGGED}", ["a"]),
        (f"> it says\n\n{TAGGED}", ["a"]),
        (f"<pre>{TAGGED}</pre>\n{TAGGED}", ["a"]),
        (f"<!-- {TAGGED} -->\n{TAGGED}", ["a"]),
        (f'The page says "hello (you)".\n{TAGGED}', ["a"]),
        (f"Use `{TAGGED}`.\n{TAGGED}", ["a"]),
        (f"It's a 5\" disk, isn't it?\n{TAGGED}", ["a"]),
        (f"The users' files, x < y, a`b\n\n{TAGGED}", ["a"]),
        (f'Say "" or """x""".\n{TAGGED}', ["a"]),
        (f'He said: "I won\'t".\n{TAGGED}', ["a"]),
        (f"Die „Datei“ heißt »x«.\n{TAGGED}", ["a"]),
        (f"»x\n» item\n{TAGGED}", []),
        (f"» item\n{TAGGED}", ["a"]),
        (f"use the <tool_call> syntax {{x}}\n{TAGGED}", ["a"]),
        (f'<think>is it "so\n```</think>\n{TAGGED}', ["a"]),
        (f"I see.</think>{TAGGED}", ["a"]),
        (f'so\n{{"tool_calls":[{A}]}}', ["a"]),
        (f'so\n{{\n  "tool_calls": [{A}]\n}}', ["a"]),
        (f'{{"content": 1, "tool_calls":[{A}]}}', ["a"]),
        (f'so\n{TAGGED}{{"tool_calls":[{A}]}}', ["a", "a"]),
    ],
)
def test_a_call_on_a_line_of_its_own_that_nothing_follows_is_one(text: str, names: list[str]) -> None:
    found = extract_calls(text, NAMES)
    assert (named(found), found.problems) == (names, ())
    assert all(piece in text for piece in found.written)
    assert len(found.written) == len(names)


def test_the_corpus_is_whole() -> None:
    assert len(ROWS) == 72


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"I will.</think>{A}", ["a"]),
        (f"<think>{TAGGED}", []),
        (f"{TAGGED} that was a thought</think> so: {TAGGED}", ["a"]),
        (f"use `{TAGGED}` or ``{TAGGED}``", []),
        (f"```\n{TAGGED}\n```", ["a"]),
        (f"```\n{TAGGED}\n```\nwould call it", []),
        (f"```\nfirst\n{TAGGED}\n```", []),
        (f"~~~\n{TAGGED}\n~~~", []),
        (f"```python\n{TAGGED}", []),
        (f"```json\n{A}\n```\n```py\nx\n```\n{TAGGED}", ["a", "a"]),
        (f"```json\n{A}\n```\n{TAGGED} done", ["a"]),
        ('```json\n{"name":"w","arguments":{"t":"\n```\nx"}}\n```', ["w"]),
        ('<tool_call>{"name":"a"}{"name":"b"}</tool_call>{"name":"w"}', ["a", "b"]),
        ('<tool_call>{"name":"a"} {"name":"b"} and so on', ["a"]),
        ('<|python_tag|>{"name":"a"}; {"name":"b"} {"name":"w"}', ["a", "b"]),
        ('so {"content":null,"tool_calls":[{"name":"a"},{"name":"b"}]} ok', ["a", "b"]),
        ('{"answer":"<tool_call>{', []),
        ('so {"answer":"<tool_call>{\\"name\\":\\"a\\"}</tool_call>', []),
        (json.dumps({"answer": TAGGED}), []),
        (f"he said {json.dumps({'answer': TAGGED})} to me", []),
        (f"he said {json.dumps([{'answer': TAGGED}])} to me", []),
        (f"he said {{'answer': '}} {TAGGED}'}} to me", []),
        (f"take {{x}} or {{it's}} {TAGGED}", ["a"]),
        ('{"tool_calls": []}', []),
        ('[{"type":"function","function":{"name":"a","parameters":{}}}]', ["a"]),
        ('<|tool_call>call:w{q:<|"|>a "}" \\ b<|"|>}<tool_call|>', ["w"]),
    ],
)
def test_only_what_is_meant_as_a_call_is_one(text: str, names: list[str]) -> None:
    found = extract_calls(text, NAMES, "all")
    assert (named(found), found.problems) == (names, ())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<tool_call>{"name":"red"}</tool_call>', "no tool named 'red'; close: read"),
        ("<|tool_call>call:red{}<tool_call|>", "no tool named 'red'; close: read"),
        ('<tool_call>{"name":"a","arguments":"{\\"x\\": \\"y"}</tool_call>', "was cut"),
        ('<tool_call>{"name":"a","arguments":"x"}</tool_call>', "not JSON"),
        ('<tool_call>{"name":"a","arguments":{"name":"b"}', "was cut"),
        ('<tool_call>{"name":"a" "arguments":{"name":"b"}}</tool_call>', "not JSON"),
        ("<tool_call>[]</tool_call>", "no call"),
        ("<tool_call>[1]</tool_call>", "must be a JSON object"),
        ('ok {"tool_calls":[{"name":"a","arguments":{"x":"', "was cut"),
        ('ok {"tool_calls":[{"name":"a" 1}]} ok', "not JSON"),
        ('{"name":"a","arguments":{"x":"y', "was cut"),
        ('{"name":"a","arguments":null}', "must be a JSON object"),
        ("<|tool_call>call:w{q:Paris}<tool_call|>", "not JSON"),
        ('<|tool_call>call:w{q:<|"|>Par', "was cut"),
    ],
)
def test_a_call_that_cannot_be_made_says_why(text: str, problem: str) -> None:
    found = extract_calls(text, NAMES, "all")
    assert (found.klass, found.rest) == ("MALFORMED", text)
    assert problem in found.problems[0].reason


@pytest.mark.parametrize(
    ("text", "names"),
    [(A, []), (f"```json\n{A}\n```", []), (f"[{A}]", []), (TAGGED, ["a"]), (f'{{"tool_calls":[{A}]}}', ["a"])],
)
def test_only_explicit_openers_count_unless_all_is_asked_for(text: str, names: list[str]) -> None:
    assert named(extract_calls(text, NAMES)) == names
    assert named(extract_calls(text, NAMES, "all")) == ["a"]


def test_a_call_carries_its_origin_and_what_reading_it_took() -> None:
    text = '<tool_call>{"name":"a","arguments":"{\'x\': 1}",}</tool_call>'
    call = extract_calls(text, NAMES).calls[0]
    assert (call.origin, call.decode) == ("text", Decode(("comma", "relaxed")))
    assert as_proposed(call) == ProposedCall("call_0", "a", '{"x":1}')


def test_given_ids_stay_and_the_others_get_free_ones() -> None:
    ids = ["", "call_0", "q", "q", ""]
    text = json.dumps({"tool_calls": [{"id": given, "name": "a"} for given in ids]})
    assert [call.id for call in extract_calls(text, NAMES).calls] == ["call_1", "call_0", "q", "call_2", "call_3"]


def test_a_bad_fragment_is_told_beside_a_good_call() -> None:
    found = extract_calls(f'one <tool_call>{{"name":"x"}}</tool_call> two {TAGGED} three', NAMES, "all")
    assert (found.klass, named(found), blanks(found.rest)) == ("CALLS", ["a"], "one two three")
    assert [problem.name for problem in found.problems] == ["x"]


# --- streams ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [row for row in ROWS if row["class"] != "NONE"], ids=lambda row: row["id"])
def test_no_character_of_a_call_is_shown_while_it_streams(row: dict[str, Any]) -> None:
    text = row["text"]
    shown = max(min(held_from(text[:end], "all"), end) for end in range(len(text) + 1))
    assert "tool_call" not in text[:shown].replace("<think>maybe ", "")
    assert '"name"' not in text[:shown]
    assert held_from(text, "all") == shown


@pytest.mark.parametrize(
    ("text", "mode", "shown"),
    [
        ("hello", "tags", "hello"),
        ("a < b", "tags", "a < b"),
        ("a <tool_call>", "tags", "a <tool_call>"),
        ("a\n<", "tags", "a\n"),
        ("a\n  <TOOL_c", "tags", "a\n  "),
        ("a\n    <TOOL_c", "tags", "a\n    <TOOL_c"),
        ("a\n<b>", "tags", "a\n<b>"),
        ("see\n[TOOL", "tags", "see\n"),
        ("see\n[1]", "tags", "see\n[1]"),
        ("the set\n{1, 2", "tags", "the set\n{1, 2"),
        ('so\n{ \n "tool_ca', "tags", "so\n"),
        ("so\n{\n<tool_", "tags", "so\n{\n"),
        ("so\n{\n <tool_\n", "tags", "so\n{\n <tool_\n"),
        ('so\n{"tools": 1', "tags", 'so\n{"tools": 1'),
        ("`x\n<tool_call>", "tags", "`x\n<tool_call>"),
        ("`x\n\n<tool_call>", "tags", "`x\n\n"),
        ("```\n<tool_call>", "tags", "```\n<tool_call>"),
        ("> x\n<tool_call>", "tags", "> x\n<tool_call>"),
        ("x</think><tool", "tags", "x</think>"),
        (f"x\n{TAGGED} that is it", "tags", "x\n"),
        (' \n{"x', "tags", " \n"),
        ('<think>x</think> {"x', "tags", "<think>x</think> "),
        ('x</think>\n["x', "tags", "x</think>\n"),
        ("so ```json\n", "tags", "so ```json\n"),
        ("a <", "all", "a "),
        ("a <TOOL_c", "all", "a "),
        ("a <b>", "all", "a <b>"),
        ("see [TOOL", "all", "see "),
        ('so {"tool_ca', "all", "so "),
        ("so ```\n<tool_call>{", "all", "so "),
        ("so ```python\nx", "all", "so ```python\nx"),
        ("so `x` or `y", "all", "so `x` or `y"),
        ("so ``", "all", "so "),
        ("so <|tool_call>\ncall:a{", "all", "so "),
        ("so ```json\n", "all", "so "),
    ],
)
def test_text_is_held_from_where_a_call_may_begin(text: str, mode: Mode, shown: str) -> None:
    assert text[: held_from(text, mode)] == shown


# --- properties ---------------------------------------------------------------------------------------------

MARKS = ["```", "```json\n", "\n~~~\n", "<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_calls>"]
MARKS += ["<|tool_call>call:a", "<tool_call|>", '<|"|>', "<|python_tag|>", "[TOOL_CALLS]", "text", A, TAGGED]
MARKS += ["> ", "<pre>", "</pre>", "<!--", "-->", '"', "\n\n", "\n    ", "\n<tool_call>", f"\n{TAGGED}"]
MARKS += ['{"tool_calls":[', '{"name":"a"', '"arguments":{', '{"x": 1}', "'x'"]
PIECES = st.sampled_from([*"{}[]\"'\\`~<>|, \n\ud800", *MARKS])
TEXTS = st.text() | st.lists(PIECES, max_size=30).map("".join)


@given(TEXTS, st.sampled_from(["tags", "all"]))
def test_any_text_has_a_verdict(text: str, mode: Mode) -> None:
    found = extract_calls(text, NAMES, mode)
    assert (found.klass == "CALLS") == bool(found.calls)
    assert (found.klass == "MALFORMED") == bool(found.problems and not found.calls)
    assert {call.name for call in found.calls} <= NAMES
    assert len({call.id for call in found.calls}) == len(found.calls)
    assert 0 <= held_from(text, mode) <= len(text)
    found.rest.encode()


@given(TEXTS, st.sampled_from(["tags", "all"]))
def test_what_is_found_was_held_back(text: str, mode: Mode) -> None:
    if extract_calls(text, NAMES, mode).klass != "NONE":
        assert held_from(text, mode) < len(text)


JSON = st.recursive(
    st.none() | st.integers() | st.text() | st.sampled_from([TAGGED, "</tool_call>", "<think>", "```"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("name"), inner, max_size=3),
)


BEGUN = [
    "<tool_",
    "call>",
    "</thi",
    "nk>",
    "[TOOL",
    '{"tool_ca',
    "lls",
    "{ ",
    "``` ",
    "json\n",
    "a_longer_word",
    "\x0b",
]
HOSTILE = st.lists(PIECES | st.sampled_from(BEGUN), max_size=30).map("".join)


@given(HOSTILE | st.sampled_from([row["text"] for row in ROWS]), st.sampled_from(["tags", "all"]), st.randoms())
def test_the_same_is_shown_of_a_text_however_it_is_cut_into_pieces(text: str, mode: Mode, random: Random) -> None:
    cuts = sorted({0, len(text), *(random.randint(0, len(text)) for _ in range(random.randint(0, 20)))})
    whole, cut = CallHoldBack(mode), CallHoldBack(mode)
    by_character = max(0, *map(whole, text)) if text else 0
    shown = 0
    for begin, end in pairwise(cuts):
        shown = max(shown, cut(text[begin:end]))
        assert shown <= end
    assert shown == by_character == held_from(text, mode)


@given(st.dictionaries(st.text(), JSON, max_size=4), st.booleans())
def test_arguments_come_through_whatever_they_hold(arguments: dict[str, Any], ascii_only: bool) -> None:
    call = json.dumps({"name": "w", "arguments": arguments}, ensure_ascii=ascii_only)
    for text in (
        f"<tool_call>{call}</tool_call>",
        f"so\n<tool_call>\n{call}\n</tool_call>\n",
        f"[TOOL_CALLS] [{call}]",
    ):
        found = extract_calls(text, NAMES)
        assert [(it.name, it.arguments) for it in found.calls] == [("w", arguments)]
        assert found.rest in ("", "so")


@given(st.dictionaries(st.text(), JSON, max_size=4).filter(lambda value: "tool_calls" not in value))
def test_a_json_answer_holds_no_call(answer: dict[str, Any]) -> None:
    assert extract_calls(json.dumps(answer), NAMES).klass == "NONE"


@given(st.dictionaries(st.text(), JSON, max_size=3), st.data())
def test_a_cut_call_is_never_made(arguments: dict[str, Any], data: st.DataObject) -> None:
    call = json.dumps({"name": "w", "arguments": arguments})
    cut = data.draw(st.integers(1, len(call) - 1))
    assert extract_calls(f"<tool_call>{call[:cut]}", NAMES).klass == "MALFORMED"


@pytest.mark.parametrize(
    "piece",
    [
        *("{", '"', "`", "```\n", "~~~\n", "[[", "{}", "<think>", "{</think>", '{"a" <', "x ", "<pre ", "``` ` "),
        *("> ", "\n<", "\n<!-", "'", "” “", '""', "\n", "\n <tool_call>{}", "</think>"),
    ],
)
@pytest.mark.parametrize("before", ["", "x ", "<tool_call>", "```json\n", '{"a":['])
def test_32_kibibytes_of_anything_are_answered(before: str, piece: str) -> None:
    """A walk that is not linear would not come back from this."""
    text = before + piece * (32 * 1024 // len(piece))
    with linear():
        assert not extract_calls(text, NAMES, "all").calls
        assert not extract_calls(text, NAMES, "tags").calls
        held = CallHoldBack("tags")
        for begin in range(0, len(text), 16):
            held(text[begin : begin + 16])


@pytest.mark.parametrize(
    "piece",
    [
        "<tool_call>{",
        "<tool_call>{</tool_call>",
        '<tool_call>{"</tool_call>',
        '{"tool_calls":[',
        "<|tool_call>call:a{",
    ],
)
def test_openers_without_end_are_problems_and_no_calls(piece: str) -> None:
    found = extract_calls(piece * (32 * 1024 // len(piece)), NAMES, "all")
    assert (found.klass, found.calls) == ("MALFORMED", ())
