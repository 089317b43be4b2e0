"""Layers, reserved names, versions and snapshots."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.tools.errors import BadSpec, NameConflict
from hookgate.tools.registry import Registry


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


def test_the_fingerprint_depends_on_the_tools_and_not_on_the_order_they_came_in() -> None:
    one, two = Registry(), Registry()
    for name in ("a", "b"):
        one.register(stub(name))
    for name in ("b", "a"):
        two.register(stub(name))
    assert one.snapshot().fingerprint == two.snapshot().fingerprint
    two.register(stub("a", description="other"))
    assert one.snapshot().fingerprint != two.snapshot().fingerprint


def test_close_names_are_at_most_three() -> None:
    registry = Registry()
    for name in ("read_file", "read_files", "read_filed", "read_filet", "bash"):
        registry.register(stub(name))
    close = registry.snapshot().close_names("read_fil")
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
