"""`enabled` in a manifest's text: set, and nothing else touched."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.extensions.discovery import Entry
from hookgate.extensions.folders import InstallRefused
from hookgate.extensions.installed import named, switch
from hookgate.extensions.manifest import read_manifest
from hookgate.extensions.switch import switched
from tests.extensions.made import extension


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"name": "x", "enabled": true}', '{"name": "x", "enabled": false}'),
        ('{ "enabled" : null , "name":"x" }\n', '{ "enabled" : false , "name":"x" }\n'),
        ('{\n\t"b": {"enabled": true},\n\t"a": [1,2]\n}\n', None),
        ('{"name":"x"}', '{"name":"x","enabled":false}'),
        ('{"name": "x", "exec": "y"}', '{"name": "x", "exec": "y", "enabled": false}'),
        ('{\r\n  "name": "x"\r\n}', '{\r\n  "name": "x",\r\n  "enabled": false\r\n}'),
        ('{"enabled": true, "a": "}\\", \\"enabled\\": true", "enabled": true}', None),
        ('{"\\u0065nabled": true}', '{"\\u0065nabled": false}'),
    ],
)
def test_only_the_member_changes(before: str, after: str | None) -> None:
    got = switched(before, enabled=False)
    expected = {**json.loads(before), "enabled": False}
    assert json.loads(got) == expected
    assert list(json.loads(got)) == list(expected)
    if after is not None:
        assert got == after


def test_a_new_member_is_written_as_the_last_one_is() -> None:
    got = switched('{\n\t"b": {"enabled": true},\n\t"a": [1,2]\n}\n', enabled=False)
    assert got == '{\n\t"b": {"enabled": true},\n\t"a": [1,2],\n\t"enabled": false\n}\n'


VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v, max_size=3))


@given(st.dictionaries(st.text(), VALUES, min_size=1), st.booleans(), st.sampled_from([None, 2, "\t"]))
def test_any_object_keeps_its_members_and_their_order(
    members: dict[str, object], enabled: bool, indent: int | str | None
) -> None:
    got = json.loads(switched(json.dumps(members, indent=indent), enabled=enabled))
    assert list(got.items()) == list({**members, "enabled": enabled}.items())


def test_the_file_keeps_its_mode_and_comes_back_byte_for_byte(tmp_path: Path) -> None:
    file = extension(tmp_path / "x", enabled=True) / "extension.json"
    file.chmod(0o640)
    before = file.read_bytes()
    entry = Entry("global", tmp_path / "x", read_manifest(tmp_path / "x"))
    switch(entry, enabled=False)
    assert read_manifest(tmp_path / "x").enabled is False
    assert file.stat().st_mode & 0o777 == 0o640
    switch(entry, enabled=True)
    assert file.read_bytes() == before
    assert [it.name for it in (tmp_path / "x").iterdir()] == ["extension.json"]


def test_what_is_set_already_is_not_written_again(tmp_path: Path) -> None:
    file = extension(tmp_path / "x") / "extension.json"
    before = file.stat().st_mtime_ns, file.stat().st_ino
    switch(Entry("global", tmp_path / "x"), enabled=True)
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == before


def test_a_linked_manifest_stays_a_link(tmp_path: Path) -> None:
    real = extension(tmp_path / "real") / "extension.json"
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "extension.json").symlink_to(real)
    switch(Entry("global", tmp_path / "x"), enabled=False)
    assert os.readlink(tmp_path / "x" / "extension.json") == str(real)
    assert read_manifest(tmp_path / "real").enabled is False


def test_a_broken_manifest_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "extension.json"
    file.write_text('{"name": ')
    with pytest.raises(InstallRefused, match="parse manifest"):
        switch(Entry("global", tmp_path), enabled=False)
    assert file.read_text() == '{"name": '


def test_an_extension_is_found_by_folder_or_manifest_name_or_path(tmp_path: Path) -> None:
    one = Entry("project", tmp_path / "p" / "folder", read_manifest(extension(tmp_path / "p" / "folder", "name")))
    two = Entry("global", tmp_path / "g" / "torn", broken="parse manifest: no")
    for name in ("folder", "name", f"{tmp_path}/p/folder", f"{tmp_path}/g/../p/folder/"):
        assert named(name, [one, two]) is one
    assert named("torn", [one, two]) is two


@pytest.mark.parametrize("name", ["nobody", "", "../g/folder", "/"])
def test_an_unknown_name_says_so(tmp_path: Path, name: str) -> None:
    entry = Entry("global", extension(tmp_path / "folder"), read_manifest(tmp_path / "folder"))
    with pytest.raises(InstallRefused) as refused:
        named(name, [entry])
    assert str(refused.value) == f'extension "{name}" not found'


def test_an_ambiguous_name_lists_the_paths_and_a_path_chooses(tmp_path: Path) -> None:
    entries = [
        Entry("project", extension(tmp_path / "p" / "same"), read_manifest(tmp_path / "p" / "same")),
        Entry("global", extension(tmp_path / "g" / "other", "same"), read_manifest(tmp_path / "g" / "other")),
    ]
    with pytest.raises(InstallRefused) as refused:
        named("same", entries)
    assert str(refused.value).splitlines()[1:] == [f"  {tmp_path}/p/same", f"  {tmp_path}/g/other"]
    assert named(f"{tmp_path}/p/same", entries) is entries[0]
