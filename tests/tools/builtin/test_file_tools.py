"""read, write and ls on real files, through the dispatcher."""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from hookgate.protocol.values import Fault, ToolResult
from tests.tools.failing import reason

Run = Callable[..., Awaitable[ToolResult]]

PNG = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==")


# --- read ---------------------------------------------------------------------------------------------------


async def test_read_gives_the_lines_as_they_are(run: Run, root: Path) -> None:
    (root / "a.txt").write_text("one\n  two\nthree")
    assert await run("read", path="a.txt") == ToolResult("one\n  two\nthree\n")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"offset": 2}, "2\n3\n4\n"),
        ({"limit": 2}, "1\n2\n"),
        ({"offset": 3, "limit": 1}, "3\n"),
        ({"offset": 4}, "4\n"),
    ],
)
async def test_read_takes_a_window(run: Run, root: Path, arguments: dict[str, int], text: str) -> None:
    (root / "a.txt").write_text("1\n2\n3\n4\n")
    assert (await run("read", path="a.txt", **arguments)).for_llm == text


async def test_read_past_the_end_says_how_long_the_file_is(run: Run, root: Path) -> None:
    (root / "a.txt").write_text("1\n2\n3")
    assert reason(await run("read", path="a.txt", offset=9)) == "offset 9 is past the end of a.txt, which has 3 lines"


async def test_read_stops_at_2000_lines_and_says_so(run: Run, root: Path) -> None:
    (root / "a.txt").write_text("x\n" * 2001)
    text = (await run("read", path="a.txt")).for_llm
    assert text == "x\n" * 2000 + "\n... [truncated at 2000 lines]"
    assert (await run("read", path="a.txt", offset=2)).for_llm == "x\n" * 2000


async def test_read_stops_at_whole_lines_within_51200_bytes(run: Run, root: Path) -> None:
    (root / "a.txt").write_text(("y" * 99 + "\n") * 1000)
    text = (await run("read", path="a.txt")).for_llm
    assert text == ("y" * 99 + "\n") * 512 + "\n... [truncated at 51200 bytes]"


async def test_read_cuts_one_endless_line_between_characters(run: Run, root: Path) -> None:
    (root / "a.txt").write_text("x" + "ä" * 100_000, encoding="utf-8")
    text = (await run("read", path="a.txt")).for_llm
    assert text == "x" + "ä" * 25_599 + "\n\n... [truncated at 51200 bytes]"


async def test_read_pages_through_a_file_far_larger_than_its_limits(run: Run, root: Path) -> None:
    with (root / "big").open("w") as file:
        for number in range(1, 300_001):
            file.write(f"line {number}\n")
    assert (await run("read", path="big", offset=250_000, limit=1)).for_llm == "line 250000\n"


async def test_read_drops_a_byte_order_mark_and_survives_what_is_no_utf8(run: Run, root: Path) -> None:
    (root / "bom").write_bytes(b"\xef\xbb\xbfhello\xff\n")
    assert (await run("read", path="bom")).for_llm == "hello\ufffd\n"


async def test_an_empty_file_is_not_an_empty_answer(run: Run, root: Path) -> None:
    (root / "empty").touch()
    assert (await run("read", path="empty")).for_llm == "(no output)"


@pytest.mark.parametrize("name", ["p.png", "p.PNG", "misnamed.jpg"])
async def test_a_picture_comes_as_media_of_the_type_that_it_has(run: Run, root: Path, name: str) -> None:
    (root / name).write_bytes(PNG)
    result = await run("read", path=name)
    assert result.for_llm == f"{name}: image/png, {len(PNG)} bytes"
    head, data = result.media[0].split(",")
    assert head == "data:image/png;base64"
    assert b64decode(data) == PNG


async def test_a_text_that_is_only_named_like_a_picture_is_text(run: Run, root: Path) -> None:
    (root / "fake.png").write_text("not a picture\n")
    assert await run("read", path="fake.png") == ToolResult("not a picture\n")


async def test_a_picture_that_no_model_would_take_is_refused(run: Run, root: Path) -> None:
    (root / "huge.png").write_bytes(PNG + bytes(6 * 1024 * 1024))
    result = await run("read", path="huge.png")
    assert result.error is not None
    assert result.error.kind == "budget"
    assert result.media == ()


async def test_read_refuses_what_it_cannot_show(run: Run, root: Path) -> None:
    (root / "bin").write_bytes(b"a" * 8000 + b"\0")
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")
    assert reason(await run("read", path="bin")) == "bin looks binary; refusing to read as text"
    assert reason(await run("read", path="folder")) == "folder is a directory"
    assert reason(await run("read", path=".")) == ". is a directory"
    assert reason(await run("read", path="pipe")) == "pipe is not a regular file"
    assert reason(await run("read", path="")) == "path is required"
    assert reason(await run("read")) == "path is required"
    missing = await run("read", path="none")
    assert missing.error == Fault("not_found", "read", "none: No such file or directory")


# --- write --------------------------------------------------------------------------------------------------


async def test_write_makes_folders_and_answers_with_the_content(run: Run, root: Path) -> None:
    assert (await run("write", path="a/b/c.txt", content="hi\n")).for_llm == "hi\n"
    assert (root / "a/b/c.txt").read_text() == "hi\n"


async def test_write_overwrites_and_keeps_the_mode(run: Run, root: Path) -> None:
    script = root / "run.sh"
    script.write_text("old and longer")
    script.chmod(0o750)
    await run("write", path=str(script), content="new")
    assert script.read_text() == "new"
    assert script.stat().st_mode & 0o777 == 0o750
    assert os.listdir(root) == ["run.sh"]


async def test_write_through_a_link_inside_changes_its_target(run: Run, root: Path) -> None:
    (root / "target").write_text("old")
    (root / "link").symlink_to("target")
    await run("write", path="link", content="new")
    assert (root / "link").is_symlink()
    assert (root / "target").read_text() == "new"


async def test_write_refuses_folders_and_paths_outside(run: Run, root: Path, tmp_path: Path) -> None:
    (root / "folder").mkdir()
    (root / "file").touch()
    for path in ("folder", "folder/", "."):
        assert reason(await run("write", path=path, content="x")) == f"{path} is a directory"
    assert "not a directory" in reason(await run("write", path="file/x", content="x"))
    escaped = await run("write", path="../escaped", content="x")
    assert escaped.error == Fault("permission", "write", "../escaped is outside the workspace", "rule:workspace")
    assert "Do not repeat this call" in escaped.for_llm
    assert not (tmp_path / "escaped").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="NOT TESTED: root may write any file")
async def test_write_respects_a_file_that_may_not_be_written(run: Run, root: Path) -> None:
    (root / "locked").write_text("old")
    (root / "locked").chmod(0o400)
    assert (await run("write", path="locked", content="new")).error == Fault(
        "permission", "write", "locked: Permission denied", "os"
    )
    assert (root / "locked").read_text() == "old"


async def test_write_of_nothing_empties_the_file(run: Run, root: Path) -> None:
    (root / "a").write_text("x")
    assert (await run("write", path="a", content="")).for_llm == "(no output)"
    assert (root / "a").read_bytes() == b""


# --- ls -----------------------------------------------------------------------------------------------------


async def test_ls_sorts_names_marks_folders_and_hides_dots(run: Run, root: Path) -> None:
    for name in ("b.txt", "a.txt", ".hidden", "two\nlines"):
        (root / name).touch()
    (root / "folder").mkdir()
    (root / "link").symlink_to("folder")
    assert (await run("ls")).for_llm == "a.txt\nb.txt\nfolder/\nlink/\ntwo\\nlines"
    assert (await run("ls", show_hidden=True)).for_llm.startswith(".hidden\na.txt")
    assert (await run("ls", path="folder")).for_llm == "(empty)"


async def test_ls_refuses_files_and_folders_outside(run: Run, root: Path) -> None:
    (root / "file").touch()
    (root / "out").symlink_to("/")
    assert reason(await run("ls", path="file")) == "file is not a directory"
    assert reason(await run("ls", path="out")) == "out is outside the workspace"
    assert (await run("ls", path="none")).error == Fault("not_found", "ls", "none: No such file or directory")
