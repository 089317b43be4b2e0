"""Which tools a request ships, and what configuration puts under their arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.protocol.values import ToolCall, ToolPreference, ToolResult, ToolSpec
from hookgate.tools.arguments import ArgumentRules
from hookgate.tools.errors import BadSpec
from hookgate.tools.registry import Registry, Snapshot
from hookgate.tools.select import Preference, Selection, SelectionLimits, Selector

SCHEMA = {"type": "object", "properties": {"output": {}, "limit": {}, "path": {}}}


@dataclass(frozen=True)
class Stub:
    spec: ToolSpec

    async def execute(self, call: ToolCall) -> ToolResult:
        return ToolResult("")


def spec(name: str, provider: str = "builtin", **preference: Any) -> ToolSpec:
    return ToolSpec(name, "", SCHEMA, provider=provider, preference=ToolPreference(**preference))


def registry(*specs: ToolSpec) -> Registry:
    made = Registry()
    for it in specs:
        made.register(Stub(it))
    return made


def shipped(selection: Selection, snapshot: Snapshot, channel: str = "telegram") -> list[str]:
    selected = selection.of(snapshot, channel)
    assert [it.name for it in selected.specs] == list(selected.tools)
    return list(selected.tools)


@pytest.mark.parametrize(
    ("patterns", "covered"),
    [
        ((), ["bash", "gh__issues", "read"]),
        (("read",), ["read"]),
        (("name:read",), ["read"]),
        (("*",), ["bash", "gh__issues", "read"]),
        (("provider:mcp:github",), ["gh__issues"]),
        (("provider:mcp:*",), ["gh__issues"]),
        (("provider:builtin", "gh*"), ["bash", "gh__issues", "read"]),
        (("!provider:mcp:*",), ["bash", "read"]),
        (("*", "!name:b*"), ["gh__issues", "read"]),
        (("builtin",), []),
        (("mcp:github",), []),
        (("READ",), []),
    ],
)
def test_selectors(patterns: tuple[str, ...], covered: list[str]) -> None:
    specs = (spec("bash"), spec("gh__issues", "mcp:github"), spec("read"))
    assert [it.name for it in specs if Selector(patterns).covers(it)] == covered


def test_without_limits_and_opinions_the_snapshot_goes_as_it_is() -> None:
    snapshot = registry(spec("a"), spec("b")).snapshot()
    assert Selection().of(snapshot, "web") is snapshot


def test_a_disabled_tool_is_not_shipped_not_even_if_pinned() -> None:
    snapshot = registry(spec("a"), spec("b", enabled=False), spec("c")).snapshot()
    off = Preference(("a",), channels=("telegram",), enabled=False)
    selection = Selection([off], SelectionLimits(pinned=("*",)))
    assert shipped(selection, snapshot) == ["c"]
    assert shipped(selection, snapshot, "web") == ["a", "c"]


def test_config_beats_the_spec_and_the_exact_name_beats_a_glob_field_by_field() -> None:
    one = spec("read", enabled=False, weight=0.1, overrides={"limit": 1, "path": "spec"})
    selection = Selection(
        [
            Preference(("read",), weight=0.9),
            Preference(("re*",), enabled=True, weight=0.2, overrides={"limit": 2, "output": "json"}),
            Preference(("provider:builtin",), overrides={"output": "labeled"}),
        ]
    )
    assert selection.preference(one, "web") == ToolPreference(
        True, 0.9, {"limit": 2, "path": "spec", "output": "labeled"}
    )


def test_of_preferences_alike_the_one_for_the_channel_counts_then_the_last() -> None:
    selection = Selection(
        [
            Preference(("read",), channels=("tele*", "!telepathy"), weight=0.1),
            Preference(("read",), weight=0.2),
            Preference(("read",), weight=0.3),
        ]
    )
    weights = [selection.preference(spec("read"), it).weight for it in ("telegram", "telepathy", "web")]
    assert weights == [0.1, 0.3, 0.3]


def test_the_heaviest_fill_the_limit_and_the_pinned_always_go_along() -> None:
    specs = [spec(name, weight=weight) for name, weight in (("a", 0.1), ("b", None), ("c", 0.9), ("d", 0.5))]
    snapshot = registry(*specs).snapshot()
    assert shipped(Selection(limits=SelectionLimits(max_tools=2)), snapshot) == ["b", "c"]
    assert shipped(Selection(limits=SelectionLimits(max_tools=2, pinned=("a", "d"))), snapshot) == ["a", "d"]
    assert shipped(Selection(limits=SelectionLimits(max_tools=1, pinned=("a", "d"))), snapshot) == ["a", "d"]
    assert shipped(Selection(limits=SelectionLimits(max_tools=3, pinned=("a",))), snapshot) == ["a", "b", "c"]


def test_a_token_budget_is_filled_by_weight_and_one_huge_tool_keeps_no_small_one_out() -> None:
    huge = ToolSpec("huge", "x" * 2000, SCHEMA, preference=ToolPreference(weight=1.0))
    snapshot = registry(huge, spec("a"), spec("b"), spec("c")).snapshot()
    size = len('["a","",{"type":"object","properties":{"output":{},"limit":{},"path":{}}}]') // 4
    assert shipped(Selection(limits=SelectionLimits(max_tokens=2 * size)), snapshot) == ["a", "b"]
    assert shipped(Selection(limits=SelectionLimits(max_tokens=1000)), snapshot) == ["a", "b", "c", "huge"]


def test_it_is_worked_out_once_a_version_and_channel() -> None:
    tools = registry(*(spec(name) for name in "abcdef"))
    selection = Selection(limits=SelectionLimits(max_tools=2))
    first = selection.of(tools.snapshot(), "web")
    assert selection.of(tools.snapshot(), "web") is first
    tools.register(Stub(spec("a0", weight=1.0)))
    assert shipped(selection, tools.snapshot(), "web") == ["a", "a0"]
    assert selection.of(tools.snapshot(), "web").version == tools.version


def test_overrides_are_defaults_that_the_model_may_overrule() -> None:
    selection = Selection([Preference(("read",), overrides={"output": "json"})], aliases={"read": {"file": "path"}})
    rules = selection.rules(spec("read", overrides={"limit": 5}), "web")
    assert rules == ArgumentRules({"file": "path"}, {"limit": 5, "output": "json"})
    given_ = ToolCall("c", "read", {"file": "p", "limit": 9, "output": None})
    assert rules.applied(given_).arguments == {"path": "p", "limit": 9, "output": "json"}
    assert rules.applied(given_).decode.steps == ("alias",)


def test_nothing_said_leaves_the_call_as_it_is() -> None:
    call = ToolCall("c", "read", {"path": "p"})
    assert Selection().rules(spec("read"), "web").applied(call) is call


@pytest.mark.parametrize(
    ("selection", "mistake"),
    [
        (Selection([Preference(("read",), overrides={"ouput": 1})]), "'ouput' is no argument of the tool read"),
        (Selection([Preference(("*",), ("web",), overrides={"lmit": 1})]), "'lmit' is no argument of the tool bash"),
        (Selection(aliases={"read": {"file": "pth"}}), "'pth' is no argument of the tool read"),
        (Selection(aliases={"read": {"limit": "path"}}), "'limit' is itself an argument of read"),
    ],
)
def test_a_preference_about_no_argument_is_refused_at_load(selection: Selection, mistake: str) -> None:
    with pytest.raises(ValueError, match=mistake):
        selection.check(registry(spec("bash"), spec("read")).snapshot())


def test_what_names_real_arguments_or_a_tool_that_is_not_there_yet_passes() -> None:
    preferences = [Preference(("read",), overrides={"limit": 1}), Preference(("later",), overrides={"x": 1})]
    selection = Selection(preferences, aliases={"later": {"a": "b"}, "read": {"file": "path"}})
    selection.check(registry(spec("read")).snapshot())


def test_a_tool_that_comes_later_gets_only_the_overrides_that_it_knows() -> None:
    selection = Selection([Preference(("*",), overrides={"limit": 1, "depth": 2})])
    assert selection.rules(spec("late"), "web").defaults == {"limit": 1}
    free = ToolSpec("free", "", {"type": "object"})
    assert selection.rules(free, "web").defaults == {"limit": 1, "depth": 2}


def test_a_spec_that_overrides_what_it_does_not_take_is_refused() -> None:
    with pytest.raises(BadSpec, match="overrides 'ouput'"):
        registry(spec("read", overrides={"ouput": 1}))


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(st.none() | st.floats(0, 1), st.none() | st.booleans())),
    st.integers(0, 5),
    st.integers(0, 120),
    st.lists(st.sampled_from("abcdefgh"), max_size=3),
)
def test_what_is_shipped_is_sorted_within_the_limits_and_has_every_pinned_tool(
    tools: dict[str, tuple[float | None, bool | None]], max_tools: int, max_tokens: int, pinned: list[str]
) -> None:
    snapshot = registry(*(spec(name, weight=it[0], enabled=it[1]) for name, it in tools.items())).snapshot()
    names = shipped(Selection(limits=SelectionLimits(max_tools, max_tokens, tuple(pinned))), snapshot)
    on = {name for name, it in tools.items() if it[1] is not False}
    assert names == sorted(names)
    assert set(names) <= on
    assert set(pinned) & on <= set(names)
    beside = [name for name in names if name not in pinned]
    if max_tools and beside:
        assert len(names) <= max_tools
    left = on - set(names)
    if not max_tokens and beside and left:
        weights = {name: 0.5 if tools[name][0] is None else tools[name][0] for name in on}
        assert min(weights[name] for name in beside) >= max(weights[name] for name in left)  # type: ignore[type-var]
