"""Layers, reserved names, versions and snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.tools.errors import BadSpec, NameConflict
from hookgate.tools.failures import close_names
from hookgate.tools.registry import Change, Registry, Row


@dataclass(frozen=True)
class Stub:
    spec: ToolSpec

    async def execute(self, call: ToolCall) -> ToolResult:
        return ToolResult(self.spec.provider)


def stub(name: str, provider: str = "builtin", **changes: object) -> Stub:
    spec = ToolSpec(name, "does things", {"type": "object"}, provider=provider)
    return Stub(replace(spec, **changes))  # type: ignore[arg-type]


def visible(registry: Registry) -> dict[str, str]:
    return {name: tool.spec.provider for name, tool in registry.snapshot().tools.items()}


def test_a_snapshot_is_sorted_by_name_and_stays_as_it_was() -> None:
    registry = Registry()
    for name in ("write", "bash", "read"):
        registry.register(stub(name))
    before = registry.snapshot()
    registry.unregister_provider("builtin")
    assert [spec.name for spec in before.specs] == ["bash", "read", "write"]
    assert before.get("read") is not None
    assert registry.snapshot().specs == ()


def test_taking_a_provider_away_uncovers_what_it_covered() -> None:
    registry = Registry()
    registry.register(stub("search", "mcp:a"))
    change = registry.register(stub("search", "mcp:b"))
    assert change.shadowed == ("search",)
    assert change.added == ()
    assert visible(registry) == {"search": "mcp:b"}
    assert registry.unregister_provider("mcp:b").removed == ()
    assert visible(registry) == {"search": "mcp:a"}


def test_the_higher_priority_is_visible_whatever_comes_later() -> None:
    registry = Registry()
    registry.register(stub("search", "mcp:a"), priority=5)
    registry.register(stub("search", "mcp:b"))
    assert visible(registry) == {"search": "mcp:a"}


@pytest.mark.parametrize("builtin_first", [True, False])
def test_a_reserved_tool_is_the_visible_one_in_whatever_order_they_come(builtin_first: bool) -> None:
    registry = Registry()
    if builtin_first:
        registry.register(stub("bash"), reserved=True)
        with pytest.raises(NameConflict, match="reserved by builtin"):
            registry.register(stub("bash", "zot:evil"), priority=99)
    else:
        registry.register(stub("bash", "zot:evil"), priority=99)
        registry.register(stub("bash"), reserved=True)
    assert visible(registry) == {"bash": "builtin"}


def test_two_providers_cannot_both_reserve_a_name() -> None:
    registry = Registry()
    registry.register(stub("bash"), reserved=True)
    with pytest.raises(NameConflict):
        registry.register(stub("bash", "lifecycle"), reserved=True)


def test_the_version_rises_exactly_when_a_visible_spec_changes() -> None:
    registry = Registry()
    assert registry.register(stub("a", "mcp:x"), priority=1).version == 1
    assert registry.register(stub("a", "mcp:x"), priority=1).version == 1
    assert registry.register(stub("a", "mcp:hidden")).version == 1
    assert registry.register(stub("a", "mcp:x", description="new"), priority=1).version == 2
    assert registry.unregister_provider("mcp:nobody").version == 2
    assert registry.unregister("a", "mcp:x").version == 3
    assert visible(registry) == {"a": "mcp:hidden"}


def test_a_snapshot_depends_on_the_tools_and_not_on_the_order_they_came_in() -> None:
    one, two = Registry(), Registry()
    for name in ("a", "b"):
        one.register(stub(name))
    for name in ("b", "a"):
        two.register(stub(name))
    assert one.snapshot().specs == two.snapshot().specs


def test_the_next_snapshot_has_the_new_description_and_a_running_one_keeps_its_own() -> None:
    texts: dict[str, str] = {"late": "Waits."}
    registry = Registry(texts.get)
    for name in ("bash", "read"):
        registry.register(stub(name, description=f"{name} itself"))
    before = registry.snapshot()
    texts["read"] = "Better words."
    registry.touch()
    after = registry.snapshot()
    assert [it.description for it in before.specs] == ["bash itself", "read itself"]
    assert [it.description for it in after.specs] == ["bash itself", "Better words."]
    assert after.version == before.version + 1
    assert after.get("read") is before.get("read")
    registry.register(stub("late"))
    late = registry.snapshot().spec("late")
    assert late is not None
    assert late.description == "Waits."
    del texts["read"]
    registry.touch()
    registry.unregister("late", "builtin")
    assert registry.snapshot().specs == before.specs


def test_close_names_are_at_most_three() -> None:
    close = close_names("read_fil", ("read_file", "read_files", "read_filed", "read_filet", "bash"))
    assert len(close) == 3
    assert "bash" not in close


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"name": "two words"}, "no tool name"),
        ({"name": ""}, "no tool name"),
        ({"name": "x" * 65}, "no tool name"),
        ({"description": "x" * 2049}, "description"),
        ({"pure": True}, "cannot be pure"),
        ({"timeout_s": 0.0}, "timeout_s"),
        ({"parameters": {"type": "nonsense"}}, "does not compile"),
        ({"parameters": {"$ref": "http://127.0.0.1:9/x"}}, "does not compile"),
        ({"parameters": {"$ref": "file:///etc/passwd"}}, "does not compile"),
        ({"parameters": {"$ref": "#"}}, "loop"),
        ({"parameters": {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}}, "loop"),
        ({"parameters": {"$defs": {"a": {"$anchor": "x", "not": {"$ref": "#x"}}}}}, "loop"),
        ({"parameters": {"description": "x" * 40_000}}, "bytes"),
    ],
)
def test_a_tool_that_cannot_work_is_refused_when_it_registers(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(BadSpec, match=reason):
        Registry().register(stub(**{"name": "tool", "provider": "mcp:x", **changes}))  # type: ignore[arg-type]


def test_a_schema_that_nests_too_deep_or_chains_too_long_is_refused_without_recursing() -> None:
    deep: dict[str, object] = {}
    for _ in range(3000):
        deep = {"a": deep}
    with pytest.raises(BadSpec, match=r"deeper|bytes|recursion"):
        Registry().register(stub("deep", parameters=deep))
    chain = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(800)} | {"d800": {}}
    with pytest.raises(BadSpec, match="loop"):
        Registry().register(stub("chain", parameters={"$defs": chain, "$ref": "#/$defs/d0"}))


def test_a_recursive_schema_that_consumes_something_is_fine() -> None:
    tree = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}
    Registry().register(stub("tree", parameters=tree))


# --- who hears of it, and what people see -----------------------------------------------------------------------


def test_listeners_hear_of_each_visible_change_and_of_nothing_else() -> None:
    registry, heard = Registry(), list[Change]()
    stop = registry.listen(heard.append)
    registry.register(stub("search", "mcp:a"))
    registry.register(stub("search", "mcp:a"))
    registry.register(stub("search", "mcp:b"))
    registry.register(stub("search", "mcp:c"), priority=-1)
    registry.unregister_provider("mcp:nobody")
    registry.unregister_provider("mcp:b")
    registry.touch()
    stop()
    registry.unregister_provider("mcp:a")
    assert heard == [
        Change(1, added=("search",), providers=("mcp:a",)),
        Change(2, shadowed=("search",), providers=("mcp:a", "mcp:b")),
        Change(3, providers=("mcp:a", "mcp:b")),
        Change(4),
    ]


def test_a_listener_that_raises_keeps_nobody_else_from_hearing() -> None:
    registry, heard = Registry(), list[int]()

    def broken(_change: Change) -> None:
        raise RuntimeError("not today")

    registry.listen(broken)
    registry.listen(lambda change: heard.append(change.version))
    registry.register(stub("a"))
    assert heard == [1]


def test_a_listener_sees_the_registry_as_it_is_after_the_change() -> None:
    registry, seen = Registry(), list[list[str]]()
    registry.listen(lambda _: seen.append(list(registry.snapshot().tools)))
    registry.register(stub("b"))
    registry.register(stub("a"))
    registry.unregister("b", "builtin")
    assert seen == [["b"], ["a", "b"], ["a"]]


def test_a_provider_never_takes_anothers_place_in_silence_and_leaves_no_hole() -> None:
    registry, heard = Registry(), list[Change]()
    registry.register(stub("read", "builtin"))
    registry.listen(heard.append)
    registry.register(stub("read", "zot:x"))
    assert heard[-1].shadowed == ("read",)
    assert registry.rows() == (
        Row("read", "zot:x", 2, (), False, ""),
        Row("read", "builtin", 1, (), False, "zot:x"),
    )
    registry.unregister_provider("zot:x")
    assert visible(registry) == {"read": "builtin"}
    assert registry.rows() == (Row("read", "builtin", 1, (), False, ""),)


def test_rows_show_flags_and_who_reserved_a_name() -> None:
    registry = Registry()
    registry.register(stub("ls", mutates=False, affects_workspace=False, pure=True), reserved=True)
    assert registry.rows() == (Row("ls", "builtin", 1, ("read-only", "pure"), True, ""),)
    assert (registry.holder("ls"), registry.holder("cat")) == ("builtin", "")


def test_a_tool_that_has_gone_is_told_from_one_that_is_only_covered() -> None:
    registry = Registry()
    registry.register(stub("search", "mcp:a"))
    spec = registry.snapshot().specs[0]
    registry.register(stub("search", "mcp:b"))
    assert registry.holds(spec)
    registry.unregister_provider("mcp:a")
    assert not registry.holds(spec)


def test_a_snapshot_is_the_same_object_until_something_visible_changes() -> None:
    registry = Registry()
    registry.register(stub("a"))
    first = registry.snapshot()
    assert registry.snapshot() is first
    registry.register(stub("b"))
    assert registry.snapshot() is not first
    assert registry.snapshot().specs[0] is first.specs[0]


def test_the_latest_object_of_an_equal_spec_is_the_one_that_is_called() -> None:
    registry = Registry()
    registry.register(stub("a"))
    registry.snapshot()
    again = stub("a")
    registry.register(again)
    assert registry.snapshot().get("a") is again


def test_a_snapshot_of_many_tools_after_one_registration_asks_about_that_one_alone() -> None:
    asked: list[str] = []
    registry = Registry(asked.append)
    for number in range(500):
        registry.register(stub(f"tool_{number}", "mcp:x"))
    registry.snapshot()
    assert len(asked) == 500
    registry.register(stub("tool_77", "mcp:x", description="new"))
    registry.snapshot()
    assert asked[500:] == ["tool_77"]


NAMES, PROVIDERS = st.sampled_from(["a", "b", "c", "aa"]), st.sampled_from(["builtin", "mcp:x", "zot:y"])
STEPS = st.lists(
    st.tuples(
        st.just("register"), NAMES, PROVIDERS, st.integers(-1, 1), st.booleans(), st.sampled_from(["one", "two"])
    )
    | st.tuples(st.just("unregister"), NAMES, PROVIDERS)
    | st.tuples(st.just("leave"), PROVIDERS)
    | st.tuples(st.just("snapshot")),
    max_size=25,
)


@given(STEPS)
def test_whatever_comes_and_goes_the_visible_set_is_what_the_layers_say(steps: list[tuple[object, ...]]) -> None:
    registry, changes = Registry(), list[Change]()
    registry.listen(changes.append)
    for step in steps:
        before = registry.snapshot()
        match step:
            case ("register", str(name), str(provider), int(priority), bool(reserved), str(text)):
                tool = stub(name, provider, description=text)
                if registry.holder(name) in ("", provider):
                    registry.register(tool, priority=priority, reserved=reserved)
                else:
                    with pytest.raises(NameConflict):
                        registry.register(tool, priority=priority, reserved=reserved)
            case ("unregister", str(name), str(provider)):
                registry.unregister(name, provider)
            case ("leave", str(provider)):
                registry.unregister_provider(provider)
            case _:
                pass
        after = registry.snapshot()
        assert list(after.tools) == [spec.name for spec in after.specs] == sorted(after.tools)
        assert {row.name: row.provider for row in registry.rows() if not row.shadowed_by} == visible(registry)
        assert (after.version > before.version) == (after.specs != before.specs)
        assert _sum(before.tools, changes[-1]) == set(after.tools) if after.version > before.version else True
    assert [change.version for change in changes] == list(range(1, registry.version + 1))


def _sum(names: Mapping[str, object], change: Change) -> set[str]:
    return (set(names) | set(change.added)) - set(change.removed)
