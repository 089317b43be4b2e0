"""`hookgate schema` says what really goes over the wire: recorded calls and events fit it and hold no member that it
does not name, good answers fit it, and bad ones do not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from hookgate.protocol.codec import encode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.events.payloads import PAYLOADS
from hookgate.protocol.hook.answers import parse_answer
from hookgate.protocol.hook.hello import hello_params
from hookgate.protocol.hook.peer import notification_frame
from hookgate.protocol.hook.schema import REFS, json_schema, openrpc
from hookgate.protocol.hook.stages import Question, Stage
from tests.control.openrpc import document_validator
from tests.docs.chat import play
from tests.docs.page import codes
from tests.docs.test_hook_json_members import BARE, FULL, subject
from tests.docs.test_hook_json_protocol import PAGE, answers
from tests.preloaded.running import ran

DOCUMENT = json_schema()


def name(stage: Stage) -> str:
    return "".join(word.capitalize() for word in stage.split("_"))


def closed(schema: Any) -> Any:
    """The same, that takes no member which it does not name."""
    match schema:
        case {"type": "object", "properties": dict()}:
            return {key: closed(it) for key, it in schema.items()} | {"additionalProperties": False}
        case dict():
            return {key: closed(it) for key, it in schema.items()}
        case list():
            return [closed(it) for it in schema]
        case _:
            return schema


LINE = jsonschema_rs.validator_for(closed(DOCUMENT))


def of(definition: str, *, strict: bool = False) -> Any:
    definitions = closed(DOCUMENT["$defs"]) if strict else DOCUMENT["$defs"]
    return jsonschema_rs.validator_for({"$ref": REFS + definition, "$defs": definitions})


def problems(validator: Any, value: Any) -> list[str]:
    return [str(error) for error in validator.iter_errors(value)]


async def test_every_line_of_a_recorded_turn_fits_and_has_no_member_that_is_not_named(tmp_path: Path) -> None:
    hook = tmp_path / "guard.py"
    hook.write_text(PAGE.one("hook").text)
    lines, _ = await play(hook, lambda _event: None)
    assert len(lines) > 10
    for line in map(json.loads, lines):
        definition = "".join(word.capitalize() for word in line["method"].removeprefix("hook.").split("_"))
        # By name first: what a union has against a line says little.
        assert problems(of(f"{definition}Params", strict=True), line["params"]) == []
        assert problems(LINE, line) == []


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("full", [True, False])
def test_a_stage_call_with_all_that_it_can_have_and_with_least_fits(stage: Stage, full: bool) -> None:
    question = Question(stage, FULL if full else BARE, subject(stage, full))
    params = json.loads(question.framed_params(5))
    assert problems(of(f"{name(stage)}Params", strict=True), params) == []
    for member in params:
        less = {key: value for key, value in params.items() if key != member}
        assert problems(of(f"{name(stage)}Params"), less) != [], f"{member} is always there"


def test_what_is_no_stage_call_fits_too() -> None:
    hello = json.loads(hello_params("guard", frozenset(Stage), True, "/files", "/work"))
    assert problems(of("HelloParams", strict=True), hello) == []
    assert problems(LINE, json.loads(notification_frame("hook.cancel", encode({"id": 5})))) == []
    for part in PAGE.marked("event"):
        assert problems(LINE, json.loads(part.text)) == []


def test_a_payload_is_held_against_its_kind() -> None:
    event = json.loads(PAGE.marked("event")[0].text)
    event["params"]["Payload"]["ForLLMLen"] = "36"
    assert problems(LINE, event) != []
    event["params"]["Kind"] = "of_a_newer_hookgate"
    assert problems(LINE, event) == []
    assert {payload.__name__ for payload in PAYLOADS} <= DOCUMENT["$defs"].keys()


ONE_LEVEL_DOWN = (
    '{"action":"modify","response":{"model":"openai/gpt-5-mini","response":{"content":"I cannot tell you that."}}}',
    '{"action":"modify","result":{"tool":"bash","result":{"for_llm":"key [key] accepted","is_error":false}}}',
)
"""Spellings that hookgate takes besides."""


@pytest.mark.parametrize(("stage", "text", "what"), [*answers()])
def test_an_answer_of_the_page_fits_where_it_is_good(stage: Stage, text: str, what: str) -> None:
    good = what.startswith("`") and text not in ONE_LEVEL_DOWN
    assert (problems(of(f"{name(stage)}Result"), json.loads(text)) == []) is good


@pytest.mark.parametrize(
    ("reply", "good"),
    [
        ({"text": "", "media": ["data:,x"]}, True),
        ({"text": None, "media": ["data:,x"]}, True),
        ({"text": "Hello.", "media": []}, True),
        ({"text": "", "media": []}, False),
        ({"media": None}, False),
    ],
)
def test_a_reply_fits_where_hookgate_takes_it(reply: dict[str, Any], good: bool) -> None:
    answer = {"action": "respond", "reply": reply}
    assert (problems(of("OnMessageResult"), answer) == []) is good
    with nullcontext() if good else pytest.raises(BadMessage, match="neither text nor media"):
        parse_answer(Stage.ON_MESSAGE, answer)


def test_a_hello_of_the_page_fits_where_it_is_well_formed() -> None:
    for part in PAGE.marked("hello-result"):
        assert problems(of("HelloResult", strict=True), json.loads(part.text)) == []
    for text, what in ((codes(row[0])[0], row[1]) for row in PAGE.one("hellos").rows):
        fits = problems(of("HelloResult"), json.loads(text)) == []
        assert fits is (what == "good" or "refused" in what)


def test_the_openrpc_document_is_one_and_its_schemas_are_the_same() -> None:
    document = openrpc()
    methods = {method["name"]: method for method in document["methods"]}
    assert {stage.method for stage in Stage} | {"hook.hello", "hook.cancel"} <= methods.keys()
    assert [it for it, method in methods.items() if "result" not in method] == [
        "hook.cancel",
        "hook.event",
        "hook.runtime_event",
    ]
    assert document["components"]["schemas"].keys() == DOCUMENT["$defs"].keys()
    assert REFS not in json.dumps(document)
    assert problems(document_validator(), document) == []


@pytest.mark.parametrize(("flags", "document"), [([], json_schema), (["--openrpc"], openrpc)])
def test_the_command_prints_it(flags: list[str], document: Callable[[], Any]) -> None:
    done = ran("schema", *flags)
    assert (done.returncode, json.loads(done.stdout)) == (0, document())


def test_no_start_pays_for_the_shapes() -> None:
    code = "import hookgate.assembly.app, sys; print('hookgate.protocol.hook.shapes' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False\n"
