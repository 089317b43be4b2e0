"""Which extensions are loaded, in which order, and which of two counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookgate.extensions.discovery import Entry, FoundExtensions, Places, arranged, find, look
from hookgate.extensions.manifest import Manifest
from tests.extensions.made import extension, places


def entry(scope: str, path: str, name: str = "", **members: object) -> Entry:
    directory = Path(path)
    return Entry(scope, directory, Manifest(name or directory.name, "./run", **members))  # type: ignore[arg-type]


def loaded(found: FoundExtensions) -> list[tuple[int, str, str]]:
    return [(it.index, it.name, str(it.directory)) for it in found.candidates]


def names(found: FoundExtensions) -> list[str]:
    return [it.name for it in found.candidates]


# --- pure ---------------------------------------------------------------------------------------------------


def test_the_load_order_is_the_order_of_the_entries() -> None:
    found = arranged([entry("ext", "/e/z"), entry("project", "/p/a"), entry("global", "/g/b")])
    assert loaded(found) == [(0, "z", "/e/z"), (1, "a", "/p/a"), (2, "b", "/g/b")]
    assert found.candidates[1].command == ("/p/a/run",)


def test_of_one_manifest_name_the_first_counts_and_the_other_is_told() -> None:
    found = arranged([entry("ext", "/e/one", "same"), entry("global", "/g/two", "same"), entry("global", "/g/x")])
    assert loaded(found) == [(0, "same", "/e/one"), (1, "x", "/g/x")]
    (lost,) = found.shadowed
    assert lost.text == "extension same: /g/two is not loaded, /e/one comes first"


def test_a_folder_that_is_named_and_found_counts_once() -> None:
    found = arranged([entry("ext", "/g/a"), entry("global", "/g/a")])
    assert loaded(found) == [(0, "a", "/g/a")]
    assert found.shadowed == ()


def test_a_projects_folder_hides_the_users_of_the_same_name() -> None:
    found = arranged([entry("project", "/p/same", "mine"), entry("global", "/g/same", "theirs")])
    assert names(found) == ["mine"]
    assert [(str(it.entry.directory), str(it.by)) for it in found.shadowed] == [("/g/same", "/p/same")]


@pytest.mark.parametrize("scopes", [("global", "global"), ("ext", "global"), ("project", "project")])
def test_between_other_places_the_folders_name_means_nothing(scopes: tuple[str, str]) -> None:
    found = arranged([entry(scopes[0], "/a/same", "one"), entry(scopes[1], "/b/same", "two")])
    assert names(found) == ["one", "two"]


def test_a_broken_project_extension_hides_too_since_it_has_a_manifest() -> None:
    broken = Entry("project", Path("/p/same"), broken="parse manifest: no")
    found = arranged([broken, entry("global", "/g/same")])
    assert (names(found), len(found.shadowed)) == ([], 1)
    assert [it.text for it in found.problems] == ["extension load: /p/same: parse manifest: no"]


def test_a_disabled_extension_is_listed_and_gives_its_name_to_the_next() -> None:
    found = arranged([entry("project", "/p/off", "same", enabled=False), entry("global", "/g/on", "same")])
    assert loaded(found) == [(0, "same", "/g/on")]
    assert [it.name for it in found.disabled] == ["same"]


def test_a_disabled_project_extension_still_hides_the_folder_of_its_name() -> None:
    found = arranged([entry("project", "/p/same", enabled=False), entry("global", "/g/same")])
    assert names(found) == []


# --- on disk ------------------------------------------------------------------------------------------------


def everywhere(folder: Path) -> Places:
    """One extension at each place, named so that only the order of places explains theirs."""
    where = places(folder)
    assert where.project
    extension(where.project / ".hookgate/extensions/z1")
    extension(where.project / ".zot/extensions/y2")
    extension(where.own / "x3")
    extension(where.home / "extensions/w4")
    return where


def test_the_places_come_in_their_order_and_named_folders_first_as_given(tmp_path: Path) -> None:
    where = everywhere(tmp_path)
    extra = [extension(tmp_path / "b"), extension(tmp_path / "a")]
    found = find(extra, where)
    assert names(found) == ["b", "a", "z1", "y2", "x3", "w4"]
    assert [it.scope for it in found.candidates] == ["ext", "ext", "project", "project", "global", "global"]


def test_within_a_place_folders_come_by_name(tmp_path: Path) -> None:
    where = places(tmp_path)
    for name in ("b", "a10", "B", "a9"):
        extension(where.own / name)
    assert names(find([], where)) == ["B", "a10", "a9", "b"]


def test_without_discovery_only_named_folders_are_loaded(tmp_path: Path) -> None:
    everywhere(tmp_path)
    assert names(find([extension(tmp_path / "a")], None)) == ["a"]


def test_without_a_project_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    where = everywhere(tmp_path)
    assert names(find([], Places(None, where.own, where.home))) == ["x3", "w4"]


def test_named_beats_project_beats_global(tmp_path: Path) -> None:
    where = places(tmp_path)
    assert where.project
    directories = [
        extension(tmp_path / "mine", "same"),
        extension(where.project / ".zot/extensions/p", "same"),
        extension(where.home / "extensions/g", "same"),
    ]
    assert [it.directory for it in find(directories[:1], where).candidates] == directories[:1]
    assert [it.directory for it in find([], where).candidates] == directories[1:2]


def test_the_broken_are_told_with_their_folder_and_the_others_load(tmp_path: Path) -> None:
    where = places(tmp_path)
    extension(where.own / "good")
    extension(where.own / "lazy", exec="")
    extension(where.own / "off", enabled=False)
    (where.own / "torn").mkdir()
    (where.own / "torn" / "extension.json").write_text("{")
    found = find([tmp_path / "nowhere"], where)
    assert names(found) == ["good"]
    assert [it.name for it in found.disabled] == ["off"]
    texts = [it.text for it in found.problems]
    assert texts[0].startswith(f"extension load: {tmp_path}/nowhere: read manifest: ")
    assert texts[1] == f"extension load: {where.own}/lazy: manifest: exec is required"
    assert texts[2].startswith(f"extension load: {where.own}/torn: parse manifest: ")


def test_a_project_folder_without_a_manifest_hides_nothing(tmp_path: Path) -> None:
    where = places(tmp_path)
    assert where.project
    (where.project / ".zot/extensions/same").mkdir(parents=True)
    extension(where.own / "same")
    found = find([], where)
    assert (names(found), found.problems) == (["same"], ())


def test_linked_folders_count_under_the_links_name_and_dangling_links_do_not(tmp_path: Path) -> None:
    where = places(tmp_path)
    where.own.mkdir()
    (where.own / "linked").symlink_to(extension(tmp_path / "elsewhere"))
    (where.own / "dangling").symlink_to(tmp_path / "gone")
    (where.own / "loop").symlink_to(where.own / "loop")
    (found,) = find([], where).candidates
    assert (found.name, found.directory) == ("elsewhere", where.own / "linked")


def test_plain_files_and_hidden_folders_are_no_extensions(tmp_path: Path) -> None:
    where = places(tmp_path)
    extension(where.own / ".half.1234", "half")
    (where.own / "README").write_text("hello")
    assert find([], where) == FoundExtensions()


def test_a_place_that_cannot_be_listed_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    where = places(tmp_path)
    where.own.write_text("a file where a folder should be")
    extension(where.home / "extensions/a")
    entries, problems = look(where)
    assert [it.name for it in entries] == ["a"]
    assert [it.text for it in problems] == [f"extension load: {where.own}: cannot be listed: Not a directory"]


def test_relative_folders_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extension(tmp_path / "here", "dot")
    monkeypatch.chdir(tmp_path / "here")
    (found,) = find([Path()], None).candidates
    assert (found.directory, found.command) == (tmp_path / "here", (f"{tmp_path}/here/run",))
