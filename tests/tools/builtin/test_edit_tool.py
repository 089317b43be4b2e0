"""edit on real files, through the dispatcher: every byte that no edit touches stays."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from hookgate.protocol.values import ToolResult
from tests.tools.failing import reason

Run = Callable[..., Awaitable[ToolResult]]


def edits(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"oldText": old, "newText": new} for old, new in pairs]


async def test_edit_shows_a_diff_with_three_lines_of_context(run: Run, root: Path) -> None:
    (root / "a").write_text("".join(f"{n}\n" for n in range(1, 31)))
    result = await run("edit", path="a", edits=edits(("10\n", "ten\nTEN\n"), ("25\n", "")))
    before, after = [" 7", " 8", " 9"], [" 11", " 12", " 13"]
    first = [*before, "-10", "+ten", "+TEN", *after]
    second = [" 22", " 23", " 24", "-25", " 26", " 27", " 28"]
    assert result.for_llm.split("\n") == [*first, "...", *second]
    assert (root / "a").read_text() == "".join(
        f"{n}\n" for n in [*range(1, 10), "ten", "TEN", *range(11, 25), *range(26, 31)]
    )


async def test_hunks_that_touch_share_their_context(run: Run, root: Path) -> None:
    (root / "a").write_text("a\nb\nc\nd\ne\nf\n")
    result = await run("edit", path="a", edits=edits(("e", "E"), ("b", "B")))
    assert result.for_llm == " a\n-b\n+B\n c\n d\n-e\n+E\n f"


async def test_two_edits_of_one_line_are_one_change(run: Run, root: Path) -> None:
    (root / "a").write_text("x = f(1, 2)")
    result = await run("edit", path="a", edits=edits(("1", "one"), ("2", "two")))
    assert result.for_llm == "-x = f(1, 2)\n+x = f(one, two)"


async def test_all_edits_are_found_in_the_original_not_in_each_others_result(run: Run, root: Path) -> None:
    (root / "a").write_text("one two")
    await run("edit", path="a", edits=edits(("one", "two"), ("two", "one")))
    assert (root / "a").read_text() == "two one"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
        (b"a\r\nb\r\n", "a\r\nb", "x\r\ny", b"x\r\ny\r\n"),
        (b"\xef\xbb\xbfa\r\nb\r\n", "a", "x", b"\xef\xbb\xbfx\r\nb\r\n"),
        (b"a\r\nb\nc\r\nd\r\n", "c\n", "x\ny\n", b"a\r\nb\nx\r\ny\r\nd\r\n"),
        (b"a\nb\nc\r\nd", "\nd", "\nx", b"a\nb\nc\nx"),
        (b"caf\xe9 one", "one", "two", b"caf\xe9 two"),
        (b"a\rb\n", "a\rb", "c", b"c\n"),
    ],
)
async def test_what_no_edit_touches_keeps_its_bytes(
    run: Run, root: Path, before: bytes, old: str, new: str, after: bytes
) -> None:
    (root / "a").write_bytes(before)
    assert not (await run("edit", path="a", edits=edits((old, new)))).is_error
    assert (root / "a").read_bytes() == after


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([], "at least one edit is required"),
        (edits(("qux", "b"), ("", "x")), "edit 2: oldText must not be empty"),
        (edits(("a", "a")), "edit 1: oldText equals newText"),
        (edits(("a\r\n", "a\n")), "edit 1: oldText equals newText"),
        (edits(("zebra", "x")), "edit 1: oldText not found in f.txt"),
        (edits(("foo", "x")), "edit 1: oldText matches 3 times (must be unique) in f.txt"),
        (edits(("aa", "x")), "edit 1: oldText matches 2 times (must be unique) in f.txt"),
        (edits(("bar baz", "x"), ("baz qux", "y")), "edits overlap; merge them into one edit"),
    ],
)
async def test_a_wrong_edit_changes_nothing_and_is_named(run: Run, root: Path, given: list[Any], text: str) -> None:
    content = "foo foo foo\naaa\nbar baz qux\n"
    (root / "f.txt").write_text(content)
    assert reason(await run("edit", path="f.txt", edits=given)) == text
    assert (root / "f.txt").read_text() == content


async def test_an_edit_keeps_the_mode_and_leaves_nothing_beside(run: Run, root: Path) -> None:
    (root / "a").write_text("x")
    (root / "a").chmod(0o600)
    await run("edit", path="a", edits=edits(("x", "y")))
    assert (root / "a").stat().st_mode & 0o777 == 0o600
    assert os.listdir(root) == ["a"]


async def test_an_unknown_key_in_an_edit_is_refused(run: Run, root: Path) -> None:
    (root / "a").write_text("x")
    text = reason(await run("edit", path="a", edits=[{"old_text": "x", "newText": "y"}]))
    assert "edits.0" in text
    assert text.startswith("invalid args: ")


async def test_an_edit_of_a_missing_file_is_not_found(run: Run) -> None:
    result = await run("edit", path="none", edits=edits(("a", "b")))
    assert result.error is not None
    assert result.error.kind == "not_found"
