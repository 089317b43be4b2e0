"""Mistakes that tool systems are known for, each through the whole program: none of them is made here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hookgate.protocol.events.payloads import ToolExecStart
from hookgate.protocol.hook.stages import Stage
from hookgate.tools.errors import NameConflict
from tests.flow.tools.tooling import Made, open_rig
from tests.model_server import Answer, calls, says

ALL = 'text_tool_calls = "all"'
NESTED = {"a": {"b": {"c": [{"d": 1}]}}, "e": "x"}


def fence(name: str, arguments: object) -> str:
    return f"```json\n{json.dumps({'name': name, 'arguments': arguments})}\n```"


def tag(name: str, arguments: object) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


RUN: dict[str, tuple[Answer, list[dict[str, Any]]]] = {
    "a nested object in a fence is whole": (says(fence("change", NESTED)), [NESTED]),
    "a nested object in a tag is whole": (says(f"So: {tag('change', NESTED)}"), [NESTED]),
    "no repair reaches into a string": (calls(("1", "change", '{"a": "x, }",}')), [{"a": "x, }"}]),
    "nor into one in single quotes": (calls(("1", "change", "{'a': 'x, }'}")), [{"a": "x, }"}]),
    "nor takes a key from one": (says('<|tool_call>call:change{a:<|"|>x, b: y<|"|>}'), [{"a": "x, b: y"}]),
    "native arguments that are encoded twice are read": (
        calls(("1", "change", json.dumps(json.dumps({"a": 1})))),
        [{"a": 1}],
    ),
    "arguments in text that are no object run nothing": (says(tag("change", [1])), []),
    "nor does a number": (says(tag("change", 7)), []),
    "data that looks like a call is data": (says('[{"name": "Alice", "age": 3}]'), []),
    "calls keep the order of the text": (
        says(f"{tag('change', {'n': 1})}\n{tag('change', {'n': 2})}\n{fence('change', {'n': 3})}"),
        [{"n": 1}, {"n": 2}, {"n": 3}],
    ),
    "the same call twice is two calls": (says(tag("change", {}) * 2), [{}, {}]),
}


@pytest.mark.parametrize("name", RUN)
async def test_what_is_read_from_a_reply(tmp_path: Path, name: str) -> None:
    reply, expected = RUN[name]
    tool = Made("change")
    async with open_rig(tmp_path, (reply, says("x"), says("x")), agent=ALL, tools=(tool,)) as rig:
        await rig.say("go")
        assert [dict(call.arguments) for call in tool.seen] == expected


FOREIGN = {
    "type": "object",
    "$defs": {"unit": {"enum": ["m", "km"]}},
    "properties": {
        "description": {"type": "string", "minLength": 2},
        "example": {"type": ["string", "null"]},
        "$comment": {"const": 1},
        "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False},
        "either": {"anyOf": [{"type": "integer", "maximum": 3}, {"type": "string", "pattern": "^a"}]},
        "unit": {"$ref": "#/$defs/unit"},
    },
    "required": ["description"],
    "additionalProperties": False,
}
FITS: list[dict[str, object]] = [
    {"description": "ab"},
    {"description": "ab", "example": None, "$comment": 1, "pair": [1, "a"], "either": "abc", "unit": "km"},
]
MISFITS: list[dict[str, object]] = [
    {},
    {"description": None},
    {"description": "a"},
    {"description": "ab", "Example": "x"},
    {"description": "ab", "example": 1},
    {"description": "ab", "$comment": 2},
    {"description": "ab", "pair": [1, "a", 2]},
    {"description": "ab", "pair": ["a", 1]},
    {"description": "ab", "either": 4},
    {"description": "ab", "either": "b"},
    {"description": "ab", "unit": "mile"},
    {"description": "ab", "unknown": 1},
]


async def test_a_foreign_schema_reaches_the_model_whole_and_all_of_it_is_checked(tmp_path: Path) -> None:
    tool = Made("strange", parameters=FOREIGN, provider="mcp:x")
    wanted = calls(*((f"c{n}", "strange", json.dumps(it)) for n, it in enumerate([*FITS, *MISFITS])))
    guards = "[guards]\nloop = 'off'\n"
    async with open_rig(tmp_path, (wanted, says("x")), guards, tools=(tool,)) as rig:
        await rig.say("go")
        [offered] = [it for it in rig.server.requests[0].body["tools"] if it["function"]["name"] == "strange"]
        assert offered["function"]["parameters"] == FOREIGN
        assert [dict(call.arguments) for call in tool.seen] == FITS
        assert all(text.startswith("ERROR (validation) strange: ") for text in rig.results()[len(FITS) :])


WRONG: list[tuple[str, dict[str, object]]] = [
    ("read", {}),
    ("read", {"Path": "a.txt"}),
    ("read", {"path": "a.txt", "nonsense": 1}),
    ("write", {"path": "a.txt"}),
    ("write", {"content": "x"}),
    ("bash", {"Command": "true"}),
    ("ls", {"path": 7}),
]


async def test_missing_unknown_and_misspelled_arguments_of_built_in_tools_are_refused(tmp_path: Path) -> None:
    wanted = calls(*((f"c{n}", name, json.dumps(given)) for n, (name, given) in enumerate(WRONG)))
    guards = "[guards]\nloop = 'off'\n"
    async with open_rig(tmp_path, (wanted, says("x")), guards) as rig:
        await rig.say("go")
        assert all(text.startswith("ERROR (validation) ") for text in rig.results())
        assert rig.payloads(ToolExecStart) == []
        assert not (tmp_path / "a.txt").exists()


async def test_an_exit_code_of_zero_is_told_and_an_unknown_one_is_null(tmp_path: Path) -> None:
    wanted = calls(("1", "bash", '{"command": "true"}'), ("2", "bash", '{"command": "sleep 60", "background": true}'))
    async with open_rig(tmp_path, (wanted, says("x"))) as rig:
        await rig.say("go")
        effects = [json.loads(params)["result"]["effects"][0] for params in rig.asked(Stage.AFTER_TOOL)]
        assert [effect["exit_code"] for effect in effects] == [0, None]


LEAKED = {
    'a "token": "abcdefgh12345678"': "abcdefgh12345678",
    "password=hunter2hunter2": "hunter2hunter2",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789": "ghp_abcdefghij",
    "https://ann:s3cret-pass@example.org/": "s3cret-pass",
    "Authorization: Bearer abc.def.ghi-jkl": "abc.def",
    "AKIAIOSFODNN7EXAMPLE": "AKIAIOSFODNN7",
    '{"outer": "{\\"api_key\\": \\"zzzzzzzz1\\"}"}': "zzzzzzzz1",
}


@pytest.mark.parametrize("text", LEAKED)
async def test_what_looks_like_a_secret_in_the_output_of_any_tool_never_reaches_the_model(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "leak.txt").write_text(f"{text}\n")
    wanted = calls(("1", "read", '{"path": "leak.txt"}'), ("2", "bash", '{"command": "cat leak.txt"}'))
    async with open_rig(tmp_path, (wanted, says("x"))) as rig:
        await rig.say("go")
        sent = json.dumps([request.body for request in rig.server.requests])
        asked = b"".join(rig.asked(Stage.AFTER_TOOL)).decode()
        assert LEAKED[text] not in sent + asked
        assert "[REDACTED:" in rig.results()[0]


async def test_no_provider_can_stand_in_front_of_a_built_in_tool(tmp_path: Path) -> None:
    async with open_rig(tmp_path, (says("x"),)) as rig:
        with pytest.raises(NameConflict):
            rig.add(Made("bash", provider="mcp:evil"))
        rig.runtime.tools.registry.unregister_provider("mcp:evil")
        await rig.say("go")
        assert "bash" in rig.offered()
