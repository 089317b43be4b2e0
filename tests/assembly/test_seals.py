"""What changed while a command of a tool ran is neither started nor believed; what a person changes is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hookgate.assembly.keeping import digests
from hookgate.assembly.keeping.digests import Digests
from hookgate.assembly.keeping.seals import Seals

GONE = 9_999_999
"""No process has this number: the kernel's limit is below."""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "hooks").mkdir(parents=True)
    (folder / "hooks" / "guard.py").write_text("good")
    (folder / "hookgate.toml").write_text("[agent]")
    return folder


def sealed(work: Path) -> tuple[str, ...]:
    return tuple(str(work / name) for name in ("hookgate.toml", "hooks", "AGENTS.md"))


def seals(work: Path) -> Seals:
    made = Seals(lambda: sealed(work), work.parent / "seals")
    made.restore()
    return made


def broken(it: Seals, work: Path) -> list[str]:
    return [str(Path(path).relative_to(work)) for path in it.broken(sealed(work))]


async def test_what_a_command_changes_adds_or_takes_away_is_broken_while_it_runs_and_after(work: Path) -> None:
    it = seals(work)
    async with it.running():
        assert broken(it, work) == []
        assert broken(seals(work), work) == []
        (work / "hooks" / "guard.py").write_text("evil")
        (work / "hooks" / "json.py").write_text("evil")
        (work / "AGENTS.md").write_text("evil")
        (work / "hookgate.toml").unlink()
        assert broken(it, work) == ["AGENTS.md", "hookgate.toml", "hooks/guard.py", "hooks/json.py"]
    assert broken(it, work) == ["AGENTS.md", "hookgate.toml", "hooks/guard.py", "hooks/json.py"]
    assert it.broken([str(work / "hooks" / "guard.py")]) == (str(work / "hooks" / "guard.py"),)


async def test_what_a_person_changes_between_commands_is_good(work: Path) -> None:
    it = seals(work)
    async with it.running():
        pass
    (work / "hooks" / "guard.py").write_text("better")
    (work / "AGENTS.md").write_text("Be brief.")
    assert broken(it, work) == []
    async with it.running():
        assert broken(it, work) == []
    assert not list((work.parent / "seals").glob("*.json"))


async def test_two_commands_at_once_and_one_right_after_another_hide_no_change(work: Path) -> None:
    it = seals(work)
    async with it.running():
        async with it.running():
            (work / "hooks" / "guard.py").write_text("evil")
        async with it.running():
            pass
    async with it.running():
        pass
    assert broken(it, work) == ["hooks/guard.py"]
    (work / "hooks" / "guard.py").write_text("evil, and a person's line")
    async with it.running():
        pass
    assert broken(it, work) == ["hooks/guard.py"]
    (work / "hooks" / "guard.py").write_text("good")
    assert broken(it, work) == []


async def test_a_change_that_keeps_size_and_time_is_seen(work: Path) -> None:
    file, it = work / "hooks" / "guard.py", seals(work)
    before = file.stat()
    async with it.running():
        file.write_text("evil")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert broken(it, work) == ["hooks/guard.py"]


async def test_an_editor_that_replaces_the_file_and_a_command_that_does_are_told_apart_by_when(work: Path) -> None:
    it, aside = seals(work), work / "aside"
    aside.write_text("by an editor")
    aside.replace(work / "hookgate.toml")
    async with it.running():
        assert broken(it, work) == []
        aside.write_text("by a command")
        aside.replace(work / "hookgate.toml")
    assert broken(it, work) == ["hookgate.toml"]


async def test_a_file_that_a_reload_names_while_a_command_runs_is_good_where_it_is_older(work: Path) -> None:
    (work / "later.py").write_text("old")
    os.utime(work / "later.py")
    names = [str(work / "hooks")]
    it = Seals(lambda: names, work.parent / "seals")
    late = str(work / "made.py")
    async with it.running():
        (work / "made.py").write_text("evil")
        names.append(late)
        assert it.broken([late]) == (late,)
    assert it.broken([late]) == (late,)


async def test_a_person_vouches_for_what_is_there_and_no_other_change(work: Path) -> None:
    it = seals(work)
    async with it.running():
        (work / "hooks" / "guard.py").write_text("mine")
        (work / "AGENTS.md").write_text("mine")
        other = seals(work)
        assert broken(other, work) == ["AGENTS.md", "hooks/guard.py"]
        other.vouch(other.digests(other.broken(sealed(work))))
        other.close()
        assert broken(it, work) == []
        (work / "hooks" / "guard.py").write_text("evil")
        assert broken(it, work) == ["hooks/guard.py"]
    assert broken(it, work) == ["hooks/guard.py"]
    other = seals(work)
    other.vouch(other.digests([str(work / "hooks" / "guard.py")]))
    assert broken(it, work) == []
    (work / "hooks" / "guard.py").write_text("a person's")
    assert broken(it, work) == []


async def test_the_next_start_knows_what_changed_also_after_a_kill(work: Path) -> None:
    killed = Seals(lambda: sealed(work), work.parent / "seals")
    async with killed.running():
        (left,) = (work.parent / "seals").glob("*.json")
        kept = left.read_text()
        (work / "AGENTS.md").write_text("evil")
        (work / "hooks" / "guard.py").write_text("evil")
    killed.close()
    left.unlink()
    # What a process that was killed meanwhile would have left.
    (left.parent / f"{GONE}-0.json").write_text(kept)
    later = seals(work)
    assert broken(later, work) == ["AGENTS.md", "hooks/guard.py"]
    later.close()
    (kept_now,) = left.parent.glob("*.json")
    assert set(json.loads(kept_now.read_text())["digests"]) == set(later.broken(sealed(work)))


async def test_what_a_folder_elsewhere_has_left_stays_for_those_who_use_it(work: Path, tmp_path: Path) -> None:
    folder = tmp_path / "seals"
    folder.mkdir()
    (tmp_path / "other").mkdir()
    foreign = {"digests": {str(tmp_path / "other" / "guard.py"): "x"}, "roots": []}
    (folder / f"{GONE}-1.json").write_text(json.dumps(foreign))
    (folder / f"{GONE}-2.json").write_text("no JSON")
    it = seals(work)
    assert broken(it, work) == []
    it.close()
    assert json.loads((folder / f"{GONE}-1.json").read_text()) == foreign


def test_large_folders_are_looked_at_by_what_the_file_system_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests, "MANY", 10)
    for number in range(20):
        (tmp_path / f"{number}").write_text("x")
    before = Digests().below([str(tmp_path)])
    assert list(before) == [str(tmp_path)]
    assert Digests().below([str(tmp_path)]) == before
    (tmp_path / "7").write_text("y")
    assert Digests().below([str(tmp_path)]) != before


def test_what_cannot_be_read_is_not_the_same_as_nothing(tmp_path: Path) -> None:
    (tmp_path / "nowhere").symlink_to("gone")
    os.mkfifo(tmp_path / "pipe")
    found = Digests().below(str(tmp_path / name) for name in ("nowhere", "pipe", "missing"))
    assert sorted(Path(path).name for path in found) == ["nowhere", "pipe"]


def test_a_link_that_is_named_beside_its_folder_has_one_digest_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    link = tmp_path / "bin" / "tool"
    link.symlink_to(tmp_path / "tool")
    once, again = ([str(link), str(link.parent)], [str(link.parent), str(link)])
    assert Digests().below(once) == Digests().below(again)
