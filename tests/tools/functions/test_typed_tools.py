"""Functions as tools: what a model is shown, how its arguments are read, what becomes of what is returned."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial, wraps
from threading import Event
from typing import Annotated, Any, Literal

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator
from pydantic import JsonValue as AnyJson

from hookgate.protocol.codec import canonical
from hookgate.protocol.values import Decode, ToolCall, ToolResult
from hookgate.tools.arguments import ArgumentRules
from hookgate.tools.dispatch import execute, settled_arguments
from hookgate.tools.errors import BadSpec, ToolError
from hookgate.tools.functions.typed import Typed, tool, typed
from hookgate.tools.registry import Registry


class Mode(Enum):
    FAST = "fast"
    SAFE = "safe"


class Edit(BaseModel):
    path: str
    title: str = "untitled"
    line: int | None = None
    count: int = 1


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


class Checked(BaseModel):
    even: int

    @field_validator("even")
    @classmethod
    def _is_even(cls, even: int) -> int:
        if even % 2:
            raise ValueError("must be even")
        return even


@dataclass
class Point:
    x: int
    y: int = 0


class Node(BaseModel):
    name: str
    children: list[Node] = []


@tool(mutates=False, affects_workspace=False, pure=True)
async def edit(
    rationale: Annotated[str, Field(description="Why first.")],
    path: str,
    edits: list[Edit],
    count: int = 1,
    ratio: float = 1.0,
    dry: bool = False,
    mode: Mode = Mode.FAST,
    kind: Literal["a", "b"] = "a",
    note: str | None = None,
    schema: Annotated[int, Field(ge=0, le=9)] = 3,
    copy: int | list[int] = 0,
) -> dict[str, int]:
    """Change a file.

    Every edit once.
    """
    return {"edits": len(edits), "count": count}


def call(arguments: dict[str, Any], name: str = "edit") -> ToolCall:
    return ToolCall("c", name, arguments)


def given_arguments(**more: object) -> dict[str, Any]:
    return {"rationale": "r", "path": "p", "edits": [], **more}


def decoded(subject: Typed, **arguments: object) -> dict[str, Any]:
    settled = settled_arguments(subject, call(arguments))
    assert isinstance(settled, ToolCall), settled
    return dict(settled.arguments)


def refused(subject: Typed, **arguments: object) -> list[str]:
    settled = settled_arguments(subject, call(arguments))
    assert isinstance(settled, ToolResult), settled
    assert settled.error is not None
    assert settled.error.kind == "validation"
    return settled.error.reason.split("\n")


async def outcome(subject: Typed, **arguments: object) -> ToolResult:
    with trio.fail_after(10):
        return await execute(subject, call(arguments, subject.spec.name))


# --- the schema -------------------------------------------------------------------------------------------------


def test_the_signature_is_the_schema_in_the_order_it_is_written() -> None:
    spec = edit.spec
    assert spec.name == "edit"
    assert spec.description == "Change a file.\n\nEvery edit once."
    assert (spec.read_only, spec.pure) == (True, True)
    schema: Any = spec.parameters
    assert list(schema["properties"])[:3] == ["rationale", "path", "edits"]
    assert schema["required"] == ["rationale", "path", "edits"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["rationale"] == {"type": "string", "description": "Why first."}
    assert schema["properties"]["mode"] == {"type": "string", "enum": ["fast", "safe"], "default": "fast"}
    assert schema["properties"]["note"] == {"type": "string"}
    assert schema["properties"]["schema"] == {"type": "integer", "minimum": 0, "maximum": 9, "default": 3}
    items = schema["properties"]["edits"]["items"]
    assert items["additionalProperties"] is False
    assert items["properties"]["title"] == {"type": "string", "default": "untitled"}
    assert "$defs" not in schema


def test_what_nothing_is_said_of_changes_state() -> None:
    @tool
    def plain(x: int) -> str:
        return str(x)

    assert (plain.spec.mutates, plain.spec.affects_workspace, plain.spec.timeout_s) == (True, True, 60.0)
    assert (plain.spec.description, plain.spec.provider) == ("", "builtin")


def test_a_type_that_holds_itself_keeps_its_reference() -> None:
    @tool
    async def walk(root: Node) -> Node:
        return root

    parameters: Any = walk.spec.parameters
    assert parameters["properties"]["root"] == {"$ref": "#/$defs/Node"}
    assert parameters["$defs"]["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert decoded(walk, root={"name": "a", "children": [{"name": "b", "children": None}]}) == {
        "root": {"name": "a", "children": [{"name": "b", "children": []}]}
    }
    assert refused(walk, root={"name": "a", "children": [{"nmae": "b"}]}) == [
        "root.children.0.name: field required",
        "root.children.0.nmae: unknown argument (did you mean name?)",
    ]


def _untyped(x) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001
    return ""


def _rest(*paths: str) -> str:
    return ""


def _named(**options: str) -> str:
    return ""


def _by_place(x: int, /) -> str:
    return ""


def _wrong_default(x: int = None) -> str:  # type: ignore[assignment]  # noqa: RUF013
    return ""


def _out_of_bounds(x: Annotated[int, Field(ge=1)] = 0) -> str:
    return ""


def _a_set(x: set[str]) -> str:
    return ""


def _a_secret(x: SecretStr) -> str:
    return ""


def _no_type(x: Nowhere) -> str:  # type: ignore[name-defined]  # noqa: F821
    return ""


def _no_json(x: Event) -> str:
    return ""


def _no_json_back() -> Event:
    return Event()


def _several() -> Any:
    yield 1


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (_untyped, "x has no type"),
        (_rest, "paths cannot be given by its name"),
        (_named, "options cannot be given by its name"),
        (_by_place, "x cannot be given by its name"),
        (_wrong_default, "default of x does not fit"),
        (_out_of_bounds, "default of x does not fit: .*greater than or equal to 1"),
        (_a_set, "take a list"),
        (_a_secret, "take a string"),
        (_no_type, "'Nowhere' is not defined"),
        (_no_json, "Event"),
        (_no_json_back, "Event"),
        (_several, "generator"),
    ],
)
def test_a_signature_that_cannot_be_a_tools_is_refused_when_it_is_made(
    function: Callable[..., Any], reason: str
) -> None:
    with pytest.raises(BadSpec, match=reason):
        typed(function, name="it")


def test_flags_that_cannot_be_are_refused_when_it_is_made() -> None:
    with pytest.raises(BadSpec, match="cannot be pure"):
        tool(pure=True)(_several_free)
    with pytest.raises(BadSpec, match="no tool name"):
        tool(name="two words")(_several_free)


def _several_free() -> str:
    return ""


# --- arguments --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "written", "read"),
    [
        ("count", "7", 7),
        ("count", " 7 ", 7),
        ("count", "7.0", 7),
        ("count", "1_000", 1000),
        ("count", 1.0, 1),
        ("count", True, 1),
        ("dry", "true", True),
        ("dry", "yes", True),
        ("dry", "on", True),
        ("dry", 1, True),
        ("mode", "safe", "safe"),
        ("copy", [1, "2"], [1, 2]),
        # Null says "not given" where it cannot be a value.
        ("count", None, 1),
        ("mode", None, "fast"),
    ],
)
def test_arguments_are_read_kindly_and_come_out_canonical(argument: str, written: object, read: object) -> None:
    arguments = decoded(edit, **given_arguments(**{argument: written}))
    assert canonical(arguments[argument]) == canonical(read)


@pytest.mark.parametrize(
    ("argument", "written"),
    [
        *(("count", value) for value in (1.5, "0x10", 1e30, "seven", [], {})),
        *(("dry", value) for value in (2, "maybe")),
        *(("ratio", value) for value in ("nan", "inf")),
        *(("path", value) for value in (5, None, ["p"], True)),
        *(("edits", value) for value in ("a", None, {}, [1])),
        ("schema", 10),
        ("kind", "A"),
        ("Path", "p"),
    ],
)
def test_arguments_that_mean_something_else_are_refused(argument: str, written: object) -> None:
    refused(edit, **given_arguments(**{argument: written}))


def test_defaults_are_filled_in_and_null_members_of_inner_objects_dropped() -> None:
    arguments = decoded(edit, **given_arguments(edits=[{"path": "q", "count": None, "line": None}], note=None))
    assert arguments["edits"] == [{"path": "q", "title": "untitled", "count": 1}]
    assert arguments["mode"] == "fast"
    shown = [name for name in edit.spec.parameters["properties"] if name != "note"]  # type: ignore[union-attr]
    assert list(arguments) == shown


def test_canonical_arguments_fit_the_schema_that_the_model_is_shown() -> None:
    once = settled_arguments(edit, call(given_arguments(edits=[{"path": "q"}])))
    assert isinstance(once, ToolCall)
    assert settled_arguments(edit.spec, once) is once


def test_null_stays_where_it_is_a_value_of_its_own() -> None:
    @tool
    async def keep(limit: int | None = 5, both: int | None = None) -> str:
        return f"{limit} {both}"

    assert decoded(keep, limit=None, both=None) == {"limit": None}
    assert decoded(keep) == {"limit": 5}


def test_a_canonical_call_is_the_very_same_call() -> None:
    once = settled_arguments(edit, call(given_arguments(count="7")))
    assert isinstance(once, ToolCall)
    assert settled_arguments(edit, once) is once


def test_every_place_has_its_line_and_a_guess_at_what_was_meant() -> None:
    lines = refused(
        edit, rationale="r", file_path="p", edits=[{"Path": "q"}, {"path": "q", "cuont": 2}], copy="x", mode="quick"
    )
    assert lines == [
        "path: field required",
        "edits.0.path: field required",
        "edits.0.Path: unknown argument (did you mean path?)",
        "edits.1.cuont: unknown argument (did you mean count?)",
        "mode: input should be 'fast' or 'safe'",
        "copy: input should be a valid integer, unable to parse string as an integer, "
        "or input should be a valid list",
        "file_path: unknown argument (did you mean path?)",
    ]


def test_a_refusal_shows_the_signature_in_one_line_and_says_what_to_do() -> None:
    @tool
    async def find(words: list[str], where: Literal["a", "b"] = "a", limit: int | None = None) -> str:
        return ""

    result = settled_arguments(find, call({}, "find"))
    assert isinstance(result, ToolResult)
    assert result.for_llm.split("\n") == [
        "ERROR (validation) find: words: field required",
        'find(words: [string], where: "a" | "b" = "a", limit?: integer)',
        "Fix the arguments named above to match the tool's schema, then call again.",
    ]


def test_many_mistakes_and_long_ones_leave_a_short_text() -> None:
    result = settled_arguments(edit, call({f"{i}{'x' * 2000}": 1 for i in range(500)}))
    assert isinstance(result, ToolResult)
    assert "\n... and more\n" in result.for_llm
    assert len(result.for_llm) < 6000


def test_a_validators_own_words_reach_the_model() -> None:
    @tool
    async def halve(it: Checked) -> str:
        return ""

    assert refused(halve, it={"even": 3}) == ["it.even: must be even"]


def test_a_model_that_takes_anything_keeps_what_it_is_given() -> None:
    @tool
    async def keep(it: Open) -> str:
        return ""

    assert decoded(keep, it={"name": "n", "more": [1]}) == {"it": {"name": "n", "more": [1]}}
    assert refused(keep, it={"name": "n"}, more=1) == ["more: unknown argument"]


def test_a_validator_that_crashes_is_a_result() -> None:
    class Broken(BaseModel):
        x: int

        @field_validator("x")
        @classmethod
        def _crash(cls, _x: int) -> int:
            raise KeyError("boom")

    async def broken(x: int) -> str:
        return ""

    broken.__annotations__["x"] = Broken
    result = settled_arguments(typed(broken), call({"x": {"x": 1}}))
    assert isinstance(result, ToolResult)
    assert result.error is not None
    assert result.error.kind == "fatal"


def test_an_alias_is_renamed_before_validation_and_on_the_record() -> None:
    rules = ArgumentRules({"file_path": "path"}, {"count": 9})
    arguments = {"rationale": "r", "file_path": "p", "edits": []}
    settled = settled_arguments(edit, replace(call(arguments), decode=Decode(("comma",))), rules)
    assert isinstance(settled, ToolCall)
    assert (settled.arguments["path"], settled.arguments["count"]) == ("p", 9)
    assert settled.decode.steps == ("comma", "alias")
    again = settled_arguments(edit, settled, rules)
    assert again is settled


def test_an_alias_beside_what_it_stands_for_is_refused() -> None:
    result = settled_arguments(edit, call(given_arguments(file_path="q")), ArgumentRules({"file_path": "path"}))
    assert isinstance(result, ToolResult)
    assert "file_path: unknown argument" in result.for_llm


ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@tool
async def anything(
    path: str,
    edits: list[Edit],
    many: dict[str, float | None],
    numbers: dict[int, bool],
    point: Point,
    pair: tuple[int, str] = (1, "a"),
    mode: Mode = Mode.SAFE,
    note: str | None = None,
    free: AnyJson = None,
) -> None:
    return None


EDITS = st.fixed_dictionaries(
    {"path": st.text()},
    optional={"title": st.none() | st.text(), "line": st.none() | st.integers(), "count": st.none()},
)


@given(
    st.fixed_dictionaries(
        {
            "path": st.text(),
            "edits": st.lists(EDITS, max_size=3),
            "many": st.dictionaries(
                st.text(max_size=3), st.none() | st.floats(allow_nan=False, allow_infinity=False)
            ),
            "numbers": st.dictionaries(st.integers(-99, 99).map(str), st.sampled_from([True, 0, "yes", "off"])),
            "point": st.fixed_dictionaries({"x": st.integers()}, optional={"y": st.none() | st.integers().map(str)}),
        },
        optional={
            "pair": st.tuples(st.integers(), st.text()).map(list) | st.none(),
            "mode": st.sampled_from(["fast", "safe", None]),
            "note": st.none() | st.text(),
            "free": ANY_JSON,
        },
    )
)
def test_decoding_what_was_decoded_changes_nothing(arguments: dict[str, Any]) -> None:
    once = settled_arguments(anything, call(arguments))
    assert isinstance(once, ToolCall), once
    assert settled_arguments(anything, once) is once


@given(st.dictionaries(st.sampled_from([*edit.spec.parameters["properties"], "x"]), ANY_JSON))  # type: ignore[misc]
def test_whatever_is_written_is_a_call_or_a_refusal(arguments: dict[str, Any]) -> None:
    settled = settled_arguments(edit, call(arguments))
    assert isinstance(settled, ToolCall) or settled.for_llm.startswith("ERROR (validation) edit: ")


# --- running ----------------------------------------------------------------------------------------------------


async def test_a_call_runs_the_function_with_values_not_with_json() -> None:
    seen: list[Any] = []

    @tool
    async def keep(mode: Mode, edits: list[Edit], point: Point) -> None:
        seen.extend([mode, edits[0].path, point])

    result = await outcome(keep, mode="safe", edits=[{"path": "p"}], point={"x": "3"})
    assert result.for_llm == "ok"
    assert seen == [Mode.SAFE, "p", Point(3, 0)]


@pytest.mark.parametrize(
    ("value", "annotation", "text", "data"),
    [
        (None, None, "ok", None),
        ("as\nit is", str, "as\nit is", None),
        ("", str, "(no output)", None),
        (3, int, "3", {"result": 3}),
        (True, bool, "true", {"result": True}),
        ({"a": 1}, dict[str, int], '{"a":1}', {"a": 1}),
        ([1, 2], list[int], '{"result":[1,2]}', {"result": [1, 2]}),
        (Edit(path="p"), Edit, None, {"path": "p", "title": "untitled", "line": None, "count": 1}),
        (Point(1, 2), Point, '{"x":1,"y":2}', {"x": 1, "y": 2}),
        (None, Edit | None, '{"result":null}', {"result": None}),
        ("found", str | None, "found", {"result": "found"}),
        (Mode.SAFE, Mode, '{"result":"safe"}', {"result": "safe"}),
        ({"a": Mode.SAFE}, Any, '{"a":"safe"}', {"a": "safe"}),
        (None, Any, "ok", None),
        (ToolResult("mine", for_user="u"), ToolResult, "mine", None),
    ],
)
async def test_what_is_returned_becomes_text_and_data(
    value: object, annotation: Any, text: str, data: object
) -> None:
    async def giver() -> Any:
        return value

    giver.__annotations__["return"] = annotation
    result = await outcome(typed(giver))
    assert not result.is_error
    assert result.data == data
    if text is not None:
        assert result.for_llm == text


def test_the_return_type_is_the_output_schema() -> None:
    async def giver() -> Any: ...

    def schema(annotation: object) -> Any:
        giver.__annotations__["return"] = annotation
        return typed(giver).spec.output_schema

    assert schema(str) is schema(None) is schema(Any) is schema(ToolResult) is None
    assert schema(int)["properties"] == {"result": {"type": "integer"}}
    assert schema(Point)["properties"]["x"] == {"type": "integer"}
    assert schema(Node)["$defs"].keys() == {"Node"}
    assert schema(list[Node])["properties"]["result"]["items"] == {"$ref": "#/$defs/Node"}


async def test_a_long_list_is_cut_at_an_item_and_says_so() -> None:
    @tool
    async def much() -> list[str]:
        return ["word " * 20] * 5000

    result = await outcome(much)
    assert result.for_llm.endswith('"],"truncated":true}')
    assert len(result.for_llm) < 52_000
    assert isinstance(result.data, dict)
    assert len(result.data["result"]) == 5000  # type: ignore[arg-type]


@pytest.mark.parametrize(("value", "annotation"), [("text", int), (Event(), Any), ({"a": Event()}, dict[str, Any])])
async def test_a_value_that_is_not_what_was_promised_is_a_failure(value: object, annotation: Any) -> None:
    async def liar() -> Any:
        return value

    liar.__annotations__["return"] = annotation
    result = await outcome(typed(liar))
    assert result.error is not None
    assert result.error.kind == "fatal"


async def test_a_plain_function_runs_in_a_thread_and_is_abandoned_past_its_deadline() -> None:
    go_on, ended = Event(), Event()

    @tool(timeout_s=0.05)
    def stuck() -> str:
        go_on.wait(10)
        ended.set()
        return "too late"

    result = await outcome(stuck)
    assert result.abandoned
    assert result.error is not None
    assert result.error.kind == "transient"
    assert not ended.is_set()
    go_on.set()
    with trio.fail_after(10):
        await trio.to_thread.run_sync(ended.wait, 10)


async def test_an_async_function_past_its_deadline_leaves_nothing_behind() -> None:
    @tool(timeout_s=0.05)
    async def slow() -> None:
        await trio.sleep_forever()

    result = await outcome(slow)
    assert not result.abandoned
    assert "timed out after 0.05 s" in result.for_llm


@asynccontextmanager
async def _waiting() -> AsyncGenerator[None]:
    await trio.sleep_forever()
    yield


async def _items() -> AsyncGenerator[int]:
    await trio.sleep_forever()
    yield 1


async def _awaits() -> None:
    await trio.sleep_forever()


async def _enters() -> None:
    async with _waiting():
        pass


async def _iterates() -> None:
    async for _ in _items():
        pass


async def _comprehends() -> str:
    return str([it async for it in _items()])


class _Called:
    __name__ = "called"

    async def __call__(self) -> None:
        await trio.sleep_forever()


@wraps(_awaits)
async def _wrapper() -> None:
    await _awaits()


@pytest.mark.parametrize(
    "function",
    [_awaits, _enters, _iterates, _comprehends, _Called(), _Called().__call__, _wrapper, partial(_awaits)],
)
async def test_whatever_waits_has_its_deadline(function: Callable[[], Awaitable[object]]) -> None:
    with trio.fail_after(10):
        result = await outcome(typed(function, name="waits", timeout_s=0.05))
    assert "timed out after 0.05 s" in result.for_llm


async def test_a_function_that_awaits_nothing_is_given_no_deadline_that_could_not_reach_it() -> None:
    @tool(timeout_s=1)
    async def at_once() -> float:
        return trio.current_effective_deadline() - trio.current_time()

    @tool(timeout_s=1)
    async def waits() -> float:
        await trio.lowlevel.checkpoint()
        return trio.current_effective_deadline() - trio.current_time()

    assert float((await outcome(waits)).for_llm) <= 1 < float((await outcome(at_once)).for_llm)


async def test_threads_that_never_end_keep_no_other_tool_waiting() -> None:
    go_on = Event()

    @tool(timeout_s=0.05)
    def stuck() -> None:
        go_on.wait(10)

    @tool(timeout_s=5)
    def quick() -> str:
        return "here"

    async with trio.open_nursery() as nursery:
        for _ in range(60):
            nursery.start_soon(outcome, stuck)
    try:
        assert (await outcome(quick)).for_llm == "here"
    finally:
        go_on.set()


def _exits() -> str:
    sys.exit(3)


async def _exits_too() -> str:
    sys.exit(3)


@pytest.mark.parametrize("function", [_exits, _exits_too])
async def test_a_function_that_ends_the_process_only_ends_its_call(function: Callable[..., Any]) -> None:
    result = await outcome(typed(function))
    assert result.error is not None
    assert (result.error.kind, result.is_error) == ("fatal", True)


async def test_what_a_function_raises_keeps_its_kind() -> None:
    @tool
    async def busy() -> str:
        raise ToolError("transient", "busy", "not now", retry_after_s=30)

    result = await outcome(busy)
    assert result.error is not None
    assert (result.error.kind, result.error.retry_after_s) == ("transient", 30)
    assert result.for_llm.endswith("Wait 30 s first.")


async def test_a_method_and_a_called_object_are_functions_too() -> None:
    class Counter:
        def __init__(self) -> None:
            self.total = 0

        async def add(self, by: int) -> int:
            """Adds."""
            self.total += by
            return self.total

        async def __call__(self, by: int) -> int:
            return await self.add(by)

    counter = Counter()
    add = typed(counter.add)
    assert list(add.spec.parameters["properties"]) == ["by"]  # type: ignore[arg-type]
    assert (await outcome(add, by=2)).data == {"result": 2}
    assert (await outcome(typed(counter, name="again"), by="3")).data == {"result": 5}
    assert await add(by=1) == 6  # type: ignore[misc]


def test_a_typed_tool_registers_like_any_other() -> None:
    registry = Registry()
    registry.register(edit, reserved=True)
    assert registry.snapshot().get("edit") is edit
    assert registry.rows()[0].flags == ("read-only", "pure")


def test_nothing_of_pydantic_is_loaded_before_a_typed_tool_is_made() -> None:
    parts = ("functions.typed", "dispatch", "registry", "select")
    modules = ", ".join(f"hookgate.tools.{part}" for part in parts)
    code = f"import sys, {modules}; sys.exit('pydantic.main' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=30, check=False).returncode == 0
