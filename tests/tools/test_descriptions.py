"""Descriptions that stand instead of tools' own: revisions, who hears of them, and what a model call sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.tools.descriptions import DescriptionStore, MemoryDescriptions
from hookgate.tools.registry import Registry


@dataclass(frozen=True)
class Stub:
    spec: ToolSpec

    async def execute(self, call: ToolCall) -> ToolResult:
        return ToolResult("")


def stub(name: str) -> Stub:
    return Stub(ToolSpec(name, f"{name} itself", {"type": "object"}))


async def test_every_real_change_raises_the_revision_and_is_told_once() -> None:
    store: DescriptionStore = MemoryDescriptions(revision=41)
    told: list[int] = []
    stop = store.subscribe(told.append)
    assert await store.set("read", "Reads.") == 42
    assert await store.set("read", "Reads.") == 42
    assert await store.delete("write") == 42
    assert await store.load({"read": "Reads.", "bash": "Runs."}) == 43
    assert await store.load({"bash": "Runs.", "read": "Reads."}) == 43
    assert await store.load({}) == 44
    assert store.get("read") is None
    stop()
    stop()
    await store.set("read", "Again.")
    assert told == [42, 43, 44]
    assert store.revision == 45


@pytest.mark.parametrize("text", ["", " \n"])
async def test_a_blank_text_is_refused_and_changes_nothing(text: str) -> None:
    store = MemoryDescriptions({"read": "Reads."})
    with pytest.raises(ValueError, match="blank"):
        await store.set("read", text)
    with pytest.raises(ValueError, match="blank"):
        await store.load({"bash": "Runs.", "read": text})
    assert (store.get("read"), store.get("bash"), store.revision) == ("Reads.", None, 0)


async def test_one_subscriber_that_raises_keeps_nobody_else_from_hearing() -> None:
    store = MemoryDescriptions()
    told: list[str] = []

    def broken(_revision: int) -> None:
        raise RuntimeError("not today")

    store.subscribe(lambda _: told.append("first"))
    store.subscribe(broken)
    store.subscribe(lambda _: told.append("last"))
    assert await store.set("read", "Reads.") == 1
    assert told == ["first", "last"]


async def test_what_cannot_be_kept_is_not_changed() -> None:
    kept: list[tuple[Mapping[str, str | None], str]] = []

    async def persist(changes: Mapping[str, str | None], by: str) -> None:
        await trio.lowlevel.checkpoint()
        if "full" in changes:
            raise OSError("no room")
        kept.append((changes, by))

    store = MemoryDescriptions({"old": "Old."}, persist=persist)
    told: list[int] = []
    store.subscribe(told.append)
    with pytest.raises(OSError, match="no room"):
        await store.set("full", "Text.")
    assert (store.get("full"), store.revision, told) == (None, 0, [])
    await store.load({"new": "New."}, by="ann")
    assert kept == [({"old": None, "new": "New."}, "ann")]
    assert (store.get("old"), store.get("new"), told) == (None, "New.", [1])


async def test_changes_at_once_are_kept_in_the_order_in_which_memory_sees_them() -> None:
    kept: list[str | None] = []

    async def persist(changes: Mapping[str, str | None], _by: str) -> None:
        for _ in range(3 if changes["read"] == "a" else 1):
            await trio.lowlevel.checkpoint()
        kept.append(changes["read"])

    store = MemoryDescriptions(persist=persist)
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            for text in "abc":
                nursery.start_soon(store.set, "read", text)
    assert kept[-1] == store.get("read")
    assert store.revision == 3


async def test_a_change_that_is_cancelled_before_it_is_kept_did_not_happen() -> None:
    async def persist(_changes: Mapping[str, str | None], _by: str) -> None:
        await trio.sleep_forever()

    store = MemoryDescriptions(persist=persist)
    with trio.move_on_after(0.01):
        await store.set("read", "Reads.")
    assert (store.get("read"), store.revision) == (None, 0)


async def test_the_next_snapshot_has_the_new_text_and_a_running_one_keeps_its_own() -> None:
    store = MemoryDescriptions({"late": "Waits."})
    registry = Registry(store.get)
    store.subscribe(lambda _: registry.touch())
    for name in ("bash", "read"):
        registry.register(stub(name))
    before = registry.snapshot()
    await store.set("read", "Better words.")
    after = registry.snapshot()
    assert [it.description for it in before.specs] == ["bash itself", "read itself"]
    assert [it.description for it in after.specs] == ["bash itself", "Better words."]
    assert after.version == before.version + 1
    assert after.fingerprint != before.fingerprint
    assert after.get("read") is before.get("read")
    registry.register(stub("late"))
    assert registry.snapshot().spec("late") == ToolSpec("late", "Waits.", {"type": "object"})
    await store.delete("read")
    registry.unregister("late", "builtin")
    assert registry.snapshot().fingerprint == before.fingerprint


NAMES = st.sampled_from("abc")
TEXTS = st.sampled_from(["x", "y"])
STEPS = st.lists(
    st.tuples(st.just("set"), NAMES, TEXTS)
    | st.tuples(st.just("delete"), NAMES)
    | st.tuples(st.just("load"), st.dictionaries(NAMES, TEXTS)),
    max_size=12,
)


@settings(deadline=None)
@given(STEPS)
def test_the_revision_rises_by_one_exactly_when_something_changed(steps: list[tuple[object, ...]]) -> None:
    async def run() -> None:
        store, told = MemoryDescriptions(), list[int]()
        store.subscribe(told.append)
        expected: dict[str, str] = {}
        for step in steps:
            before, revision = dict(expected), store.revision
            match step:
                case ("set", str(name), str(text)):
                    expected[name] = text
                    await store.set(name, text)
                case ("delete", str(name)):
                    expected.pop(name, None)
                    await store.delete(name)
                case (_, texts):
                    expected = dict(texts)  # type: ignore[call-overload]
                    await store.load(expected)
            assert store.revision == revision + (expected != before)
            assert {name: store.get(name) for name in "abc" if store.get(name)} == expected
        assert told == list(range(1, store.revision + 1))

    trio.run(run)
