"""Descriptions in a file: a revision that only rises, and subscribers that hear of every change once."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hookgate.protocol.catalog import StoreBusy
from hookgate.store import StoredDescriptions, open_store


async def test_the_revision_rises_with_each_change_and_survives(file: Path) -> None:
    async with open_store(file) as store:
        descriptions = StoredDescriptions(store)
        assert await descriptions.set("a", "one", "ann") == 1
        assert await descriptions.set("a", "one", "bob") == 1
        assert await descriptions.set("a", "two") == 2
        assert await descriptions.delete("b") == 2
        assert await descriptions.delete("a") == 3
    async with open_store(file) as store:
        descriptions = StoredDescriptions(store)
        assert (descriptions.revision, descriptions.get("a")) == (3, None)


async def test_loading_replaces_all_as_one_change(file: Path) -> None:
    async with open_store(file) as store:
        descriptions = StoredDescriptions(store)
        await descriptions.load({"a": "one", "b": "two"})
        assert await descriptions.load({"b": "two", "c": "three"}, "ann") == 2
        assert {name: descriptions.get(name) for name in "abc"} == {"a": None, "b": "two", "c": "three"}
        assert [(it.name, it.revision, it.updated_by) for it in store.descriptions.values()] == [
            ("b", 1, "operator"),
            ("c", 2, "ann"),
        ]
        assert await descriptions.load({"b": "two", "c": "three"}) == 2


async def test_subscribers_hear_of_changes_in_order_after_them_and_one_that_raises_stops_nobody(file: Path) -> None:
    async with open_store(file) as store:
        descriptions, heard = StoredDescriptions(store), list[tuple[str, int, str | None]]()
        descriptions.subscribe(lambda revision: heard.append(("first", revision, descriptions.get("a"))))
        end = descriptions.subscribe(lambda revision: 1 // 0)
        descriptions.subscribe(lambda revision: heard.append(("last", revision, descriptions.get("a"))))
        await descriptions.set("a", "one")
        await descriptions.set("a", "one")
        end()
        await descriptions.delete("a")
        assert heard == [("first", 1, "one"), ("last", 1, "one"), ("first", 2, None), ("last", 2, None)]


async def test_what_another_process_changed_is_heard_after_a_refresh(file: Path) -> None:
    async with open_store(file) as here, open_store(file) as there:
        descriptions, heard = StoredDescriptions(here), list[int]()
        descriptions.subscribe(heard.append)
        await StoredDescriptions(there).load({"a": "one"})
        await StoredDescriptions(there).set("a", "two")
        assert (await descriptions.refresh(), descriptions.get("a"), heard) == (2, "two", [2])
        assert (await descriptions.refresh(), heard) == (2, [2])


@pytest.mark.parametrize("text", ["", " \n"])
async def test_a_blank_text_is_refused(file: Path, text: str) -> None:
    async with open_store(file) as store:
        descriptions = StoredDescriptions(store)
        with pytest.raises(ValueError, match="blank"):
            await descriptions.set("a", text)
        with pytest.raises(ValueError, match="blank"):
            await descriptions.load({"a": text})
        assert descriptions.revision == 0


async def test_a_change_that_fails_is_not_heard(file: Path) -> None:
    async with open_store(file) as store:
        descriptions, heard = StoredDescriptions(store), list[int]()
        descriptions.subscribe(heard.append)
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusy):
                await descriptions.set("a", "one")
        assert (heard, descriptions.get("a"), descriptions.revision) == ([], None, 0)


async def test_lone_surrogates_and_nul_do_not_break_the_store(file: Path) -> None:
    async with open_store(file) as store:
        descriptions = StoredDescriptions(store)
        await descriptions.set("a", "x\ud800y\0z")
        await descriptions.refresh()
        assert descriptions.get("a") == "x?y\0z"
