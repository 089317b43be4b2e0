"""What a person has agreed to run: the digest of a folder, and the file that keeps it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hookgate.extensions import trust
from hookgate.extensions.discovery import Entry, arranged, look
from hookgate.extensions.trust import Standing, Trust, Unreadable, digest
from tests.extensions.made import extension, places


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = extension(tmp_path / "weather")
    (folder / "lib").mkdir()
    (folder / "lib" / "run.py").write_text("one")
    (folder / "link").symlink_to("lib/run.py")
    return folder


CHANGES: dict[str, Callable[[Path], object]] = {
    "contents": lambda folder: (folder / "lib" / "run.py").write_text("two"),
    "a mode": lambda folder: (folder / "lib" / "run.py").chmod(0o755),
    "a name": lambda folder: (folder / "lib" / "run.py").rename(folder / "lib" / "ruin.py"),
    "another file": lambda folder: (folder / "lib" / "json.py").touch(),
    "an empty folder": lambda folder: (folder / "lib" / "json").mkdir(),
    "a link": lambda folder: ((folder / "link").unlink(), (folder / "link").symlink_to("lib")),
    "a file for a link": lambda folder: ((folder / "link").unlink(), (folder / "link").write_text("lib/run.py")),
    "bytecode": lambda folder: ((folder / "__pycache__").mkdir(), (folder / "__pycache__" / "a.pyc").write_text("")),
    "a pipe": lambda folder: os.mkfifo(folder / "pipe"),
    "a border moved": lambda folder: (folder / "lib" / "run.py").rename(folder / "librun.py"),
}


@pytest.mark.parametrize("change", [*CHANGES.values()], ids=[*CHANGES])
def test_whatever_changes_the_digest_is_another(folder: Path, change: Callable[[Path], object]) -> None:
    before = digest(folder)
    assert digest(folder) == before
    change(folder)
    assert digest(folder) != before


def test_what_is_agreed_to_is_kept_for_these_contents_in_this_folder(folder: Path, tmp_path: Path) -> None:
    agreed, later = Trust(tmp_path / "state" / "trusted"), Trust(tmp_path / "state" / "trusted")
    assert agreed.standing(folder).kind == "new"
    agreed.agree(folder, agreed.standing(folder).sha256)
    assert later.standing(folder).kind == "trusted"
    (kept,) = later.folder.iterdir()
    assert (kept.stat().st_mode & 0o777, later.folder.stat().st_mode & 0o777) == (0o600, 0o700)
    (folder / "lib" / "run.py").write_text("two")
    assert later.standing(folder).kind == "changed"
    (folder / "lib" / "run.py").write_text("one")
    folder.rename(tmp_path / "moved")
    assert later.standing(tmp_path / "moved").kind == "new"
    (tmp_path / "linked").symlink_to("moved")
    agreed.agree(tmp_path / "linked", digest(tmp_path / "moved"))
    assert later.standing(tmp_path / "moved").kind == "trusted"
    assert (later.forget(tmp_path / "moved"), later.forget(tmp_path / "moved")) == (True, False)
    assert later.standing(tmp_path / "moved").kind == "new"


def test_a_folder_whose_name_is_not_utf_8_is_trusted_too(tmp_path: Path) -> None:
    folder = extension(tmp_path / os.fsdecode(b"bad\xff"), "bad")
    agreed = Trust(tmp_path / "trusted")
    agreed.agree(folder, digest(folder))
    assert Trust(agreed.folder).standing(folder).kind == "trusted"
    assert Trust(agreed.folder).standing(extension(tmp_path / "bad\\xff", "bad")).kind == "new"


def test_a_pipe_among_what_is_kept_is_not_waited_for(folder: Path, tmp_path: Path) -> None:
    agreed = Trust(tmp_path / "trusted")
    agreed.agree(folder, digest(folder))
    (file,) = agreed.folder.iterdir()
    file.unlink()
    os.mkfifo(file)
    assert Trust(agreed.folder).standing(folder).kind == "new"


def test_folders_may_be_so_deep_and_no_deeper(folder: Path) -> None:
    (folder / "/".join("x" * trust.MAX_DEPTH)).mkdir(parents=True)
    assert digest(folder)
    (folder / "/".join("x" * (trust.MAX_DEPTH + 1))).mkdir()
    with pytest.raises(Unreadable, match="more than 100 levels deep"):
        digest(folder)


@pytest.mark.parametrize("kept", [b"", b"[]", b'{"sha256": 1}', b'{"directory": "/elsewhere", "sha256": "%s"}'])
def test_a_torn_or_foreign_file_trusts_nothing(folder: Path, tmp_path: Path, kept: bytes) -> None:
    agreed = Trust(tmp_path / "trusted")
    agreed.agree(folder, digest(folder))
    (file,) = agreed.folder.iterdir()
    file.write_bytes(kept.replace(b"%s", digest(folder).encode()))
    assert Trust(agreed.folder).standing(folder).kind == "new"


def test_what_cannot_be_kept_counts_for_this_run(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "trusted").write_text("no folder")
    agreed = Trust(tmp_path / "trusted")
    with pytest.raises(OSError, match="trusted"):
        agreed.agree(folder, digest(folder))
    assert agreed.standing(folder).kind == "trusted"


def test_a_folder_that_is_too_large_or_gone_is_not_trusted(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "MAX_FILES", 3)
    with pytest.raises(Unreadable, match="more than 3 files"):
        digest(folder)
    monkeypatch.setattr(trust, "MAX_FILES", 4)
    with (folder / "lib" / "run.py").open("r+b") as large:
        large.truncate(trust.MAX_BYTES + 1)
    assert "more than 256 MiB" in Trust(tmp_path / "trusted").standing(folder).reason
    assert "No such file" in Trust(tmp_path / "trusted").standing(tmp_path / "nowhere").reason


def test_a_stranger_hides_nothing_and_a_trusted_one_does(tmp_path: Path) -> None:
    where = places(tmp_path)
    theirs = extension(where.project / ".hookgate/extensions/guard", "theirs") if where.project else tmp_path
    off = extension(theirs.with_name("off"), "off", enabled=False)
    mine = [extension(where.own / name, f"mine-{name}") for name in ("guard", "off")]
    agreed = Trust(tmp_path / "trusted")
    entries: list[Entry] = look(where)[0]
    found = arranged(entries, judge=agreed.standing)
    assert [it.directory for it in found.candidates] == mine
    assert [it.text for it in found.strangers] == [
        f"extension theirs ({theirs}) is not trusted yet: run 'hookgate ext trust {theirs}' to load it"
    ]
    for folder in (theirs, off):
        agreed.agree(folder, digest(folder))
    found = arranged(entries, judge=agreed.standing)
    assert [it.directory for it in found.candidates] == [theirs]
    assert [it.entry.directory for it in found.shadowed] == mine


def test_only_a_folder_on_whose_trust_something_depends_is_read_whole(tmp_path: Path) -> None:
    where = places(tmp_path)
    theirs = (where.project or tmp_path) / ".zot/extensions"
    extension(theirs / "off", enabled=False)
    extension(theirs / "torn", exec="")
    hiding = extension(theirs / "hiding", enabled=False)
    extension(where.own / "hiding")
    runs = extension(theirs / "runs")
    read: list[Path] = []

    def judge(directory: Path) -> Standing:
        read.append(directory)
        return Standing("trusted", "1")

    found = arranged(look(where)[0], judge=judge)
    assert sorted(read) == [hiding, runs]
    assert [(it.directory, it.standing.sha256) for it in found.candidates] == [(runs, "1")]
